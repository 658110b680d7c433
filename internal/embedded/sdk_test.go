package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/queuelock/queuelock/internal/embedded"
)

type attributes = map[string]types.AttributeValue

func num(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func object(a attributes) types.AttributeValue { return &types.AttributeValueMemberM{Value: a} }

func client(endpoint string, transport aws.HTTPClient) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       "eu-central-1",
		BaseEndpoint: aws.String(endpoint),
		HTTPClient:   transport,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "none", SecretAccessKey: "none"}, nil
		}),
	})
}

func createTable(t *testing.T, db *dynamodb.Client) {
	t.Helper()
	_, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:   aws.String("locks"),
		BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}, {AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// record is the serving record of one queue, and the protocol's operations on
// it.
type record struct {
	t  *testing.T
	db *dynamodb.Client
}

var recordKey = attributes{"pk": str("entity"), "sk": str("lock/" + fmt.Sprintf("%038d", 0))}

// update returns the item after the update, or the item that refused it.
func (r record) update(expression, condition string, names map[string]string, values attributes) (attributes, bool) {
	r.t.Helper()
	out, err := r.db.UpdateItem(r.t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String("locks"), Key: recordKey,
		UpdateExpression: &expression, ConditionExpression: &condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return failed.Item, false
	}
	if err != nil {
		r.t.Fatal(err)
	}
	if units := *out.ConsumedCapacity.CapacityUnits; units != 1 {
		r.t.Errorf("%s costs %v units", expression, units)
	}
	return out.Attributes, true
}

func (r record) take(id string) (attributes, bool) {
	return r.update("SET servingAfter = if_not_exists(servingAfter, ticketNumber), granted = if_not_exists(granted, :zero), "+
		"holders = if_not_exists(holders, :holder), ticketNumber = ticketNumber + :one", "attribute_exists(ticketNumber)", nil,
		attributes{":zero": num(0), ":one": num(1), ":holder": object(attributes{id: object(attributes{"beat": num(0)})})})
}

func (r record) claim(ticket int, id string) (attributes, bool) {
	return r.update("SET holders.#id = :holder, granted = :t", "size(holders) = :zero AND granted < :t AND servingAfter < :before", map[string]string{"#id": id},
		attributes{":zero": num(0), ":t": num(ticket), ":before": num(ticket - 1), ":holder": object(attributes{"ticket": num(ticket), "beat": num(0)})})
}

func (r record) heartbeat(ticket int, id string) (attributes, bool) {
	return r.update("SET holders.#id.beat = holders.#id.beat + :one, holders.#id.#until = :until", "attribute_exists(holders.#id) AND granted <= :t",
		map[string]string{"#id": id, "#until": "until"}, attributes{":one": num(1), ":until": num(1777896000), ":t": num(ticket)})
}

func (r record) release(ticket int, id string) (attributes, bool) {
	return r.update("SET granted = ticketNumber REMOVE holders, servingAfter",
		"attribute_exists(holders.#id) AND size(holders) = :one AND (ticketNumber = granted OR ticketNumber = :t)",
		map[string]string{"#id": id}, attributes{":one": num(1), ":t": num(ticket)})
}

func (r record) handOff(id string) (attributes, bool) {
	return r.update("REMOVE holders.#id", "attribute_exists(holders.#id)", map[string]string{"#id": id}, nil)
}

func (r record) reset(ticket int) (attributes, bool) {
	return r.update("SET granted = ticketNumber REMOVE holders, servingAfter", "size(holders) = :zero AND (ticketNumber = granted OR ticketNumber = :t)", nil,
		attributes{":zero": num(0), ":t": num(ticket)})
}

func (r record) is(what string, got attributes, done, wantDone bool, want attributes) {
	r.t.Helper()
	full := attributes{"pk": recordKey["pk"], "sk": recordKey["sk"]}
	for name, v := range want {
		full[name] = v
	}
	if diff := cmp.Diff(full, got, cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberM{})); diff != "" || done != wantDone {
		r.t.Errorf("%s: done %v, want %v (-want +got):\n%s", what, done, wantDone, diff)
	}
}

// TestProtocolExpressions follows one queue through the writes of
// docs/protocol.md, "Operations", with the real client over a socket.
func TestProtocolExpressions(t *testing.T) {
	server := httptest.NewServer(embedded.New(embedded.Config{}))
	defer server.Close()
	db := client(server.URL, server.Client())
	createTable(t, db)
	r := record{t, db}

	if got, done := r.take("a"); done || got != nil {
		t.Fatalf("TAKE without a record: %v, %v", got, done)
	}
	seed := attributes{"ticketNumber": num(1), "servingAfter": num(0), "granted": num(0), "holders": object(attributes{"a": object(attributes{"beat": num(0)})})}
	item := attributes{"pk": recordKey["pk"], "sk": recordKey["sk"]}
	for name, v := range seed {
		item[name] = v
	}
	if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("locks"), Item: item, ConditionExpression: aws.String("attribute_not_exists(ticketNumber)")}); err != nil {
		t.Fatal(err)
	}

	got, done := r.heartbeat(1, "a")
	beaten := object(attributes{"a": object(attributes{"beat": num(1), "until": num(1777896000)})})
	r.is("HEARTBEAT", got, done, true, attributes{"ticketNumber": num(1), "servingAfter": num(0), "granted": num(0), "holders": beaten})

	got, done = r.release(1, "a")
	idle := attributes{"ticketNumber": num(1), "granted": num(1)}
	r.is("RELEASE", got, done, true, idle)
	got, done = r.heartbeat(1, "a")
	r.is("HEARTBEAT after it", got, done, false, idle)

	got, done = r.take("b")
	served := attributes{"ticketNumber": num(2), "servingAfter": num(1), "granted": num(1), "holders": object(attributes{"b": object(attributes{"beat": num(0)})})}
	r.is("TAKE of an idle lock", got, done, true, served)
	got, done = r.take("c")
	served["ticketNumber"] = num(3)
	r.is("TAKE of a busy lock", got, done, true, served)
	got, done = r.release(2, "b")
	r.is("RELEASE with a ticket out", got, done, false, served)
	got, done = r.claim(3, "c")
	r.is("CLAIM of a busy lock", got, done, false, served)

	got, done = r.handOff("b")
	r.is("hand-off", got, done, true, attributes{"ticketNumber": num(3), "servingAfter": num(1), "granted": num(1), "holders": object(attributes{})})
	got, done = r.claim(3, "c")
	claimed := attributes{"ticketNumber": num(3), "servingAfter": num(1), "granted": num(3), "holders": object(attributes{"c": object(attributes{"ticket": num(3), "beat": num(0)})})}
	r.is("CLAIM", got, done, true, claimed)
	got, done = r.reset(3)
	r.is("RESET while served", got, done, false, claimed)
	_, _ = r.handOff("c")
	got, done = r.reset(3)
	r.is("RESET", got, done, true, attributes{"ticketNumber": num(3), "granted": num(3)})
}

// direct carries requests to a handler in the same goroutine.
type direct struct{ http.Handler }

func (d direct) Do(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), nil
}

// TestBubble checks that the engine runs inside a synctest bubble with the real client,
// and its answers carry the simulated time.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := client("http://embedded", direct{embedded.New(embedded.Config{ExpireItems: true})})
		createTable(t, db)
		if _, err := db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
			TableName: aws.String("locks"), TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expiresAt"), Enabled: aws.Bool(true)},
		}); err != nil {
			t.Fatal(err)
		}
		key := attributes{"pk": str("a"), "sk": str("b")}
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("locks"), Item: attributes{
			"pk": str("a"), "sk": str("b"), "expiresAt": num(int(time.Now().Add(time.Hour).Unix())),
		}}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []bool{true, false} {
			out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("locks"), Key: key, ConsistentRead: aws.Bool(true)})
			if err != nil || (out.Item != nil) != want {
				t.Errorf("at %v: %v, %v; want an item: %v", time.Now(), out.Item, err, want)
			}
			time.Sleep(time.Hour + time.Second)
		}
	})
}

// TestErrors checks that the SDK client returns its typed errors for the answers of the
// engine.
func TestErrors(t *testing.T) {
	db := client("http://embedded", direct{embedded.New(embedded.Config{})})
	createTable(t, db)
	key := attributes{"pk": str("a"), "sk": str("b")}
	put := func(token string, v int) error {
		_, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{ClientRequestToken: &token, TransactItems: []types.TransactWriteItem{{
			Put: &types.Put{TableName: aws.String("locks"), Item: attributes{"pk": str("a"), "sk": str("b"), "v": num(v)}, ConditionExpression: aws.String("attribute_not_exists(pk)"),
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld},
		}}})
		return err
	}
	if err := put("first", 1); err != nil {
		t.Fatal(err)
	}
	var cancelled *types.TransactionCanceledException
	if err := put("second", 1); !errors.As(err, &cancelled) || len(cancelled.CancellationReasons) != 1 ||
		*cancelled.CancellationReasons[0].Code != "ConditionalCheckFailed" || len(cancelled.CancellationReasons[0].Item) != 3 || cancelled.ErrorMessage() == "" {
		t.Errorf("%v: %+v", err, cancelled)
	}
	var mismatch *types.IdempotentParameterMismatchException
	if err := put("first", 2); !errors.As(err, &mismatch) || mismatch.ErrorMessage() == "" {
		t.Error(err)
	}
	var missing *types.ResourceNotFoundException
	if _, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("none"), Key: key}); !errors.As(err, &missing) {
		t.Error(err)
	}
	var inUse *types.ResourceInUseException
	if _, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{TableName: aws.String("locks"), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}}}); !errors.As(err, &inUse) {
		t.Error(err)
	}
	var apiErr interface{ ErrorCode() string }
	if _, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("locks"), Key: attributes{"pk": str("a")}}); !errors.As(err, &apiErr) || apiErr.ErrorCode() != "ValidationException" {
		t.Error(err)
	}
}

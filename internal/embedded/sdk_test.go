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

	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

type attributes = map[string]types.AttributeValue

func num(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

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

// TestProtocolExpressions follows one queue through the writes of docs/protocol.md, as the library sends them, with the
// real client over a socket.
func TestProtocolExpressions(t *testing.T) {
	server := httptest.NewServer(embedded.New(embedded.Config{}))
	defer server.Close()
	db := client(server.URL, server.Client())
	createTable(t, db)
	layout := table.Layout{Table: "locks", PK: "pk", SK: "sk", TTL: "expiresAt"}
	q := table.NewStore(db, layout, 5*time.Second).Queue("entity", "lock", nil)
	ctx := t.Context()
	entry := func(id string) queue.Entry {
		return queue.Entry{ID: id, Owner: "o", Lease: queue.Lease{TTL: time.Minute, Until: time.Now().Add(time.Minute)}}
	}
	first, err := serving.Take(ctx, q, entry("a"), false)
	for range 2 { // the record is seeded
		if errors.Is(err, serving.ErrRefused) {
			first, err = serving.Take(ctx, q, entry("a"), false)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	base := first.TicketNumber.Previous()
	ticketOf := func(i int) ticket.Number {
		n := base
		for range i {
			n, _ = n.Next()
		}
		return n
	}
	sent := func(rec queue.Record, _ queue.Reply, err error) (queue.Record, error) { return rec, err }
	ending := func(id string, i int) queue.Ending { return queue.Ending{ID: id, Ticket: ticketOf(i), Call: 1} }
	for _, step := range []struct {
		what    string
		do      func() (queue.Record, error)
		refused bool
		present bool
		last    int // ticket issued
		floor   int
		holder  string
	}{
		{"HEARTBEAT", func() (queue.Record, error) {
			return sent(serving.Send(ctx, q, queue.Renewal{Until: time.Now().Add(2 * time.Minute)}.Heartbeat("a", ticketOf(1))))
		}, false, true, 1, 1, "a"},
		{"late HEARTBEAT", func() (queue.Record, error) {
			rec, err := sent(serving.Send(ctx, q, queue.Renewal{Until: time.Now()}.Heartbeat("a", ticketOf(1))))
			if errors.Is(err, serving.ErrMade) {
				err = serving.ErrRefused
			}
			return rec, err
		}, true, true, 1, 1, "a"},
		{"fast RELEASE", func() (queue.Record, error) {
			if rec, err := sent(serving.Send(ctx, q, ending("a", 1).Release(queue.FormFast, time.Time{}))); err != nil {
				return rec, err
			}
			return serving.Get(ctx, q)
		}, false, false, 1, 1, ""},
		{"HEARTBEAT after it", func() (queue.Record, error) {
			return sent(serving.Send(ctx, q, queue.Renewal{Until: time.Now().Add(time.Hour)}.Heartbeat("a", ticketOf(1))))
		}, true, false, 1, 1, ""},
		{"TAKE of an idle lock", func() (queue.Record, error) { return serving.Take(ctx, q, entry("b"), false) }, false, true, 2, 2, "b"},
		{"TAKE of a busy lock", func() (queue.Record, error) { return serving.Take(ctx, q, entry("c"), false) }, false, true, 3, 2, "b"},
		{"TAKE without waiting", func() (queue.Record, error) { return serving.Take(ctx, q, entry("d"), true) }, true, true, 3, 2, "b"},
		{"fast RELEASE with a ticket out", func() (queue.Record, error) {
			return sent(serving.Send(ctx, q, ending("b", 2).Release(queue.FormFast, time.Time{})))
		}, true, true, 3, 2, "b"},
		{"CLAIM of a busy lock", func() (queue.Record, error) { return serving.Claim(ctx, q, entry("c"), ticketOf(3)) }, true, true, 3, 2, "b"},
		{"hand-off", func() (queue.Record, error) {
			return sent(serving.Send(ctx, q, ending("b", 2).Release(queue.FormHandOff, time.Time{})))
		}, false, true, 3, 2, ""},
		{"RESET with a ticket out", func() (queue.Record, error) { return serving.Reset(ctx, q, ticketOf(2)) }, true, true, 3, 2, ""},
		{"CLAIM of a served ticket", func() (queue.Record, error) { return serving.Claim(ctx, q, entry("e"), ticketOf(2)) }, true, true, 3, 2, ""},
		{"CLAIM", func() (queue.Record, error) { return serving.Claim(ctx, q, entry("c"), ticketOf(3)) }, false, true, 3, 3, "c"},
		{"TAKE behind it", func() (queue.Record, error) { return serving.Take(ctx, q, entry("f"), false) }, false, true, 4, 3, "c"},
		{"PASS", func() (queue.Record, error) {
			e := ending("c", 3)
			e.Next = queue.Next{Entry: entry("f"), Ticket: ticketOf(4)}
			return sent(serving.Send(ctx, q, e.Release(queue.FormPass, time.Time{})))
		}, false, true, 4, 4, "f"},
		{"RESET while served", func() (queue.Record, error) { return serving.Reset(ctx, q, ticketOf(4)) }, true, true, 4, 4, "f"},
		{"EVICT at another beat", func() (queue.Record, error) {
			rec, err := serving.Get(ctx, q)
			if err != nil {
				return rec, err
			}
			rec.Holders[0].Lease.Beat = 7
			return serving.Evict(ctx, q, rec.Holders...)
		}, true, true, 4, 4, "f"},
		{"EVICT", func() (queue.Record, error) {
			rec, err := serving.Get(ctx, q)
			if err != nil {
				return rec, err
			}
			return serving.Evict(ctx, q, rec.Holders...)
		}, false, true, 4, 4, ""},
		{"RESET", func() (queue.Record, error) { return serving.Reset(ctx, q, ticketOf(4)) }, false, false, 4, 4, ""},
	} {
		rec, err := step.do()
		if refused := errors.Is(err, serving.ErrRefused); refused != step.refused || err != nil && !refused {
			t.Fatalf("%s: %v", step.what, err)
		}
		holder := ""
		for _, h := range rec.Holders {
			holder += h.ID
		}
		if rec.Present != step.present || rec.TicketNumber != ticketOf(step.last) || rec.Floor() != ticketOf(step.floor) || holder != step.holder {
			t.Errorf("%s: %+v, want the holder %q", step.what, rec, step.holder)
		}
	}
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

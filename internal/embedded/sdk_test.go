package embedded_test

import (
	"context"
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

package acquire_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestWrongTable checks that the error for a wrong table names what was found and what is needed.
func TestWrongTable(t *testing.T) {
	const need = `, need partition key "pk" (S) and sort key "sk" (S)`
	for name, test := range map[string]struct {
		made queuelocktest.Option
		says string
	}{
		"missing":    {queuelocktest.WithoutTable(), `found no such table in this account, region and endpoint` + need + `: use CreateTable`},
		"other keys": {queuelocktest.WithKeys("id", "range"), `found partition key "id" (S) and sort key "range" (S)` + need},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			client, db := locktest.Open(t, table, "a", queuelock.Config{})
			_, waits := client.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
			_, attempt := client.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
			_, inspected := client.Viewer().Inspect(t.Context(), locktest.Order)
			all := []error{waits, attempt, inspected}
			if name != "missing" {
				all = append(all, queuelock.CreateTable(t.Context(), db, table.Name(), queuelock.Config{}))
			}
			for _, err := range all {
				wrong, ok := errors.AsType[*queue.TableError](err)
				if !ok || utf8.RuneCountInString(wrong.Error()) > 160 {
					t.Fatalf("%v is no TableError, or is too long", err)
				}
				locktest.Says(t, wrong, `table "`+table.Name()+`": `+test.says)
			}
			// A client that may not describe tables receives DynamoDB's own words.
			db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("DescribeTable"))
			_, err := client.Viewer().Inspect(t.Context(), locktest.Order)
			if _, ok := errors.AsType[*queue.TableError](err); err == nil || ok != (name == "missing") {
				t.Errorf("without the right to describe the table: %v", err)
			}
		}, test.made)
	}
}

// TestCreateTable checks that CreateTable makes the table that Acquire needs, and is idempotent.
func TestCreateTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := queuelock.Config{Attributes: queuelock.Attributes{PartitionKey: "entity", SortKey: "place", TTL: "dropAt"}}
		table := queuelocktest.NewTable(t, queuelocktest.WithoutTable(), queuelocktest.WithLatency(10*time.Millisecond))
		c, db := locktest.Open(t, table, "a", cfg)
		results := make(chan error, 4)
		for range cap(results) {
			go func() { results <- queuelock.CreateTable(t.Context(), db, table.Name(), cfg) }()
		}
		for range cap(results) {
			locktest.Check(t, <-results)
		}
		lock := locktest.Must(c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait))
		locktest.Release(t, lock)
		described, err := db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(table.Name())})
		if err != nil || described.Table.BillingModeSummary == nil || described.Table.BillingModeSummary.BillingMode != types.BillingModePayPerRequest {
			t.Errorf("the table is not on demand: %+v, %v", described, err)
		}
		ttl, err := db.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(table.Name())})
		if err != nil || ttl.TimeToLiveDescription.TimeToLiveStatus != types.TimeToLiveStatusEnabled || aws.ToString(ttl.TimeToLiveDescription.AttributeName) != "dropAt" {
			t.Errorf("TTL: %+v, %v", ttl.TimeToLiveDescription, err)
		}
		cfg.Attributes.TTL = "other"
		locktest.Says(t, queuelock.CreateTable(t.Context(), db, table.Name(), cfg), `"dropAt"`, `"other"`)
	})
}

// TestMissingSettings checks that the errors for missing credentials and a missing region say what to do.
func TestMissingSettings(t *testing.T) {
	for name, options := range map[string]dynamodb.Options{
		"Region": {Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), HTTPClient: noNetwork{}},
		"credentials": {Region: "eu-west-1", HTTPClient: noNetwork{}, Credentials: aws.CredentialsProviderFunc(
			func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{}, errors.New("no credentials are configured")
			})},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := queuelock.New(dynamodb.New(options), "queuelock", queuelock.Config{})
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			_, err = c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
			locktest.Says(t, err, name, `"order-7"`)
			if errors.Is(err, queuelock.ErrNotAcquired) || time.Since(begun) > 5*time.Second {
				t.Errorf("%v after %v: want it at once, as an error of the service", err, time.Since(begun))
			}
			locktest.Check(t, c.Close(t.Context()))
		})
	}
}

// noNetwork fails a test that gets as far as the network.
type noNetwork struct{}

func (noNetwork) Do(*http.Request) (*http.Response, error) {
	return nil, errors.New("the request got as far as the network")
}

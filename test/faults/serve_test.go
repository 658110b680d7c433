package faults_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestServe(t *testing.T) {
	var endpoint string
	// over returns an SDK client with the settings of the documentation.
	over := func(t *testing.T, client *queuelocktest.Client) *dynamodb.Client {
		endpoint = client.Serve()
		for name, value := range map[string]string{
			"AWS_ENDPOINT_URL_DYNAMODB": endpoint, "AWS_REGION": "local", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		} {
			t.Setenv(name, value)
		}
		return dynamodb.NewFromConfig(locktest.Must(config.LoadDefaultConfig(t.Context())))
	}
	t.Run("CarriesLocksFaultsAndCounts", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		client := table.Client("program")
		locks := locktest.Must(queuelock.New(over(t, client), table.Name(), queuelock.Config{}))
		defer locks.Close(context.Background())
		lost := client.Inject(queuelocktest.LoseResponse().Times(2))
		refused := client.Inject(queuelocktest.Refuse(queuelocktest.Throttling).Times(1))
		for range 2 {
			locktest.Check(t, locks.Do(t.Context(), locktest.Order, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error {
				if !strings.Contains(table.Log(), "program") || len(table.Items()) != 1 {
					t.Errorf("%d items, and the log:\n%s", len(table.Items()), table.Log())
				}
				return nil
			}))
		}
		if sent := client.Counts().Total().Sent; lost.Fired() != 2 || refused.Fired() != 1 || sent < 4+3 {
			t.Errorf("%d answers lost, %d requests refused, %d sent", lost.Fired(), refused.Fired(), sent)
		}
	})
	t.Run("LostRequestHasNoAnswer", func(t *testing.T) {
		client := queuelocktest.NewTable(t).Client("program")
		client.Partition()
		answer, err := http.Post(client.Serve(), "application/x-amz-json-1.0", strings.NewReader("{}"))
		if err == nil {
			t.Errorf("status %d: %v", answer.StatusCode, answer.Body.Close())
		}
	})
	t.Run("EndsWithTest", func(t *testing.T) {
		t.Run("SwallowedRequest", func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			client := table.Client("program")
			db := over(t, client)
			client.Inject(queuelocktest.SwallowRequest())
			if _, err := db.ListTables(limited(t, 50*time.Millisecond), nil); err == nil {
				t.Error("a swallowed request was answered")
			}
		})
		address := strings.TrimPrefix(endpoint, "http://")
		if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			t.Errorf("%s is served after the test: %v", address, conn.Close())
		}
	})
}

package faults_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// The lock's behaviour on every engine, in real time and over the engine's own
// protocol: what the tests in bubbles show of the embedded engine must be true
// of the others as well.

// TestEngineIdleCycle checks that a cycle without waiters is two requests, but for the first of a new client.
func TestEngineIdleCycle(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		first := locktest.Cost(table, func() { locktest.Release(t, locktest.Acquire(t, c, waitpolicy.Forever)) })
		if first.Sent != 3 {
			t.Errorf("first cycle, of a new client at a new key: %d requests, want 3", first.Sent)
		}
		for range 3 {
			var lock *queuelock.Lock
			if spent := locktest.Cost(table, func() { lock = locktest.Acquire(t, c, waitpolicy.Forever) }); spent.Sent != 1 {
				t.Errorf("idle acquire: %d requests, want 1", spent.Sent)
			}
			if spent := locktest.Cost(table, func() { locktest.Release(t, lock) }); spent.Sent != 1 {
				t.Errorf("its release: %d requests, want 1", spent.Sent)
			}
		}
		if n := len(table.Items()); n != 1 {
			t.Errorf("%d items, want the record", n)
		}
	})
}

// TestEngineManyClients checks that many clients take turns in order.
func TestEngineManyClients(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		const clients, rounds = 6, 5
		var mu sync.Mutex
		holders, last, turns := 0, ticket.Number{}, 0
		var wg sync.WaitGroup
		for i := range clients {
			c, _ := locktest.Open(t, table, fmt.Sprint("client-", i), queuelock.Config{})
			wg.Go(func() {
				for range rounds {
					err := c.Do(t.Context(), locktest.Order, waitpolicy.For(time.Minute), func(ctx context.Context, lock *queuelock.Lock) error {
						mu.Lock()
						holders++
						if holders != 1 || !last.Less(lock.Ticket()) {
							t.Errorf("%d holders, ticket %s after %s", holders, lock.Ticket(), last)
						}
						last = lock.Ticket()
						turns++
						mu.Unlock()
						timer := time.NewTimer(2 * time.Millisecond) // a turn's work
						defer timer.Stop()
						select {
						case <-timer.C:
						case <-ctx.Done():
							t.Errorf("lost: %v", context.Cause(ctx))
						}
						mu.Lock()
						holders--
						mu.Unlock()
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if turns != clients*rounds {
			t.Errorf("%d turns, want %d", turns, clients*rounds)
		}
		c, _ := locktest.Open(t, table, "at the end", queuelock.Config{})
		if rows, holders := locktest.RowsAndHolders(t, c); rows != 0 || holders != 0 {
			t.Errorf("%d rows and %d holders are left", rows, holders)
		}
	})
}

// TestEngineWrongTables checks that the error for a wrong table names what is wrong.
func TestEngineWrongTables(t *testing.T) {
	t.Parallel()
	engines.Each(t, func(t *testing.T, e engines.Engine) {
		db := e.Client(t)
		name := "queuelock-" + strings.ToLower(rand.Text()[:12])
		c, err := queuelock.New(db, name, queuelock.Config{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		locktest.Says(t, err, name, "no such table", `partition key "pk"`)
		locktest.Must(db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
			TableName: &name, BillingMode: types.BillingModePayPerRequest,
			KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		}))
		defer func() {
			if _, err := db.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
				t.Error(err)
			}
		}()
		locktest.OK(t, dynamodb.NewTableExistsWaiter(db).Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}, time.Minute))
		_, err = c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		locktest.Says(t, err, name, `partition key "id" (S) and no sort key`, `sort key "sk"`)
		locktest.Says(t, queuelock.CreateTable(t.Context(), db, name, queuelock.Config{}), name, `partition key "id" (S) and no sort key`)
		locktest.Check(t, c.Close(t.Context()))
	})
}

// TestEngineQueues checks that a scan finds a table's queues.
func TestEngineQueues(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		for _, entity := range []string{"scan/a", "scan/b", "other"} {
			locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: entity}, waitpolicy.Forever))
		}
		found, units := map[string]int{}, 0.0
		for state, err := range c.Viewer().Queues(t.Context(), queuelock.ScanConfig{Prefix: "scan/", OnPage: func(u float64) { units += u }}) {
			if err != nil {
				t.Fatal(err)
			}
			found[state.Entity] += len(state.Serving)
		}
		if len(found) != 2 || found["scan/a"] != 1 || found["scan/b"] != 1 {
			t.Errorf("found %v", found)
		}
		t.Log(units, "units")
	})
}

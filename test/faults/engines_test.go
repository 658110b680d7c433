package faults_test

import (
	"context"
	"crypto/rand"
	"errors"
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
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// The lock's behaviour on every engine, in real time and over the engine's own
// protocol: what the tests in bubbles show of the embedded engine must be true
// of the others as well.

// TestEngineIdleCycle checks that a cycle without waiters is two requests, but for the first of a new client at a new key.
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
		cycle := func(c *queuelock.Client, key queuelock.Key) func() {
			return func() {
				lock := locktest.Must(c.Acquire(t.Context(), key, waitpolicy.Forever))
				locktest.Release(t, lock)
			}
		}
		if spent := locktest.Cost(table, cycle(c, queuelock.Key{Entity: "another"})); spent.Sent != 2 {
			t.Errorf("the first cycle of a key: %d requests, want 2", spent.Sent)
		}
		other, _ := locktest.Open(t, table, "b", queuelock.Config{})
		if spent := locktest.Cost(table, cycle(other, locktest.Order)); spent.Sent != 3 {
			t.Errorf("the first cycle of a process: %d requests, want 3", spent.Sent)
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

// TestEngineTickets checks that tickets are exact to the last digit.
func TestEngineTickets(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		other, _ := locktest.Open(t, table, "b", queuelock.Config{})
		start := strings.Repeat("12345678", 5)[:37]
		item := locktest.RecordKey()
		item["ticketNumber"] = &types.AttributeValueMemberN{Value: start}
		item["granted"] = &types.AttributeValueMemberN{Value: start}
		locktest.Must(db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: item}))
		before := locktest.Must(ticket.Parse(start))
		held := locktest.Acquire(t, c, waitpolicy.Forever)
		waiting := locktest.QueueUp(t.Context(), other, waitpolicy.Forever)
		if held.Ticket().After(before) != 1 {
			t.Errorf("ticket %s after %s", held.Ticket(), before)
		}
		locktest.Release(t, held)
		got := <-waiting
		if got.Err != nil || got.Lock.Ticket().After(before) != 2 {
			t.Fatalf("%+v after %s", got, before)
		}
		locktest.Release(t, got.Lock)
	})
}

// TestEngineReasons checks that reasons are independent of each other, and malformed
// items are refused.
func TestEngineReasons(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		var held []*queuelock.Lock
		for _, reason := range []string{"", "loc", "lock2", "ship", "lock."} {
			lock, err := c.Acquire(t.Context(), queuelock.Key{Entity: locktest.Order.Entity, Reason: reason}, waitpolicy.NoWait)
			if err != nil {
				t.Fatalf("reason %q: %v", reason, err)
			}
			held = append(held, lock)
		}
		for _, lock := range held {
			locktest.Release(t, lock)
		}
		item := locktest.RecordKey()
		item["ticketNumber"] = &types.AttributeValueMemberS{Value: "seven"}
		locktest.Must(db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: item}))
		for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(5 * time.Second)} {
			_, err := c.Acquire(t.Context(), locktest.Order, wait)
			if _, ok := errors.AsType[*queue.MalformedError](err); !ok {
				t.Errorf("%v: %v", wait, err)
			}
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

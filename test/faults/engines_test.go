package faults_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
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
		hasItems(t, table, 1)
	})
}

func TestEngineManyClients(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		const clients, rounds = 6, 5
		var mu sync.Mutex
		var served []ticket.Number // guarded by mu
		var holders atomic.Int64
		var wg sync.WaitGroup
		for i := range clients {
			c, _ := locktest.Open(t, table, fmt.Sprint("client-", i), queuelock.Config{})
			wg.Go(func() {
				for range rounds {
					locktest.Check(t, c.Do(t.Context(), locktest.Order, waitpolicy.For(time.Minute), func(_ context.Context, lock *queuelock.Lock) error {
						if holders.Add(1) != 1 {
							t.Error("several holders")
						}
						mu.Lock()
						served = append(served, lock.Ticket())
						mu.Unlock()
						time.Sleep(2 * time.Millisecond) // a turn's work
						holders.Add(-1)
						return lock.Err()
					}))
				}
			})
		}
		wg.Wait()
		if len(served) != clients*rounds || !slices.IsSortedFunc(served, ticket.Number.Compare) || len(slices.Compact(served)) != len(served) {
			t.Errorf("served were %v, want %d in order", served, clients*rounds)
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
		c := locktest.Must(queuelock.New(db, name, queuelock.Config{}))
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		locktest.Says(t, err, name, "no such table", `partition key "pk"`)
		locktest.Must(db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
			TableName: &name, BillingMode: types.BillingModePayPerRequest,
			KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		}))
		defer func() {
			locktest.Must(db.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}))
		}()
		locktest.OK(t, dynamodb.NewTableExistsWaiter(db).Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}, time.Minute))
		_, err = c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		locktest.Says(t, err, name, `partition key "id" (S) and no sort key`, `sort key "sk"`)
		locktest.Says(t, queuelock.CreateTable(t.Context(), db, name, queuelock.Config{}), name, `partition key "id" (S) and no sort key`)
		locktest.Check(t, c.Close(t.Context()))
	})
}

func TestEngineQueues(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		for _, entity := range []string{"scan/a", "scan/b", "other"} {
			locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: entity}, waitpolicy.Forever))
		}
		found := map[string]int{}
		for state, err := range c.Viewer().Queues(t.Context(), queuelock.ScanConfig{Prefix: "scan/"}) {
			locktest.OK(t, err)
			found[state.Entity] += len(state.Serving)
		}
		if len(found) != 2 || found["scan/a"] != 1 || found["scan/b"] != 1 {
			t.Errorf("found %v", found)
		}
	})
}

// TestEngineSweep checks that leftovers are swept, and other rows are left alone. Each
// engine needs as few requests as the embedded one. What another program keeps in the
// record remains, and what cannot be read is named.
func TestEngineSweep(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		const dead = 45
		holders := av.Item{}
		for i := range dead {
			holders[fmt.Sprint("h.", i)] = av.Object(av.Item{"beat": av.Num(int64(math.MaxInt64) - int64(i)), "ttl": av.Num(1), "until": av.Num(-1), "owner": av.Str(strings.Repeat("o", 1000)), "ticket": av.Num(1), "more": av.Object(av.Item{})})
		}
		note := av.Object(av.Item{"list": &types.AttributeValueMemberL{Value: []types.AttributeValue{av.Num(1), av.Str("a")}}, "none": &types.AttributeValueMemberNULL{Value: true}})
		items := []av.Item{av.With(locktest.RecordKey(), av.Item{"ticketNumber": av.Num(dead + 1), "granted": av.Num(1), "servingAfter": av.Num(0), "holders": av.Object(holders), "note": note})}
		for i := range dead {
			items = append(items, av.With(locktest.LeftRow(2+i), av.Item{"until": av.Num(int64(math.MinInt64)), "ttl": av.Num(1), "beat": av.Num(int64(math.MinInt64) + int64(i))}))
		}
		locktest.Write(t, table, items...)
		c, db := locktest.Open(t, table, "a", locktest.Fast)
		begun := time.Now()
		lock := locktest.Acquire(t, c, waitpolicy.For(20*time.Second))
		counts := db.Counts()
		beats := int(time.Since(begun) / (200 * time.Millisecond)) // of the row, on a slow machine
		if n := counts["DeleteItem"].Sent; n < dead || n > dead+1 {
			t.Errorf("%d deletes of %d rows", n, dead)
		}
		if n := counts["UpdateItem"].Sent; n < 4 || n > 8+beats {
			t.Errorf("%d updates, want a TAKE, two evictions and a CLAIM, and heartbeats:\n%s", n, counts)
		}
		locktest.Release(t, lock)
		locktest.Check(t, c.Close(t.Context()))
		found := table.Items()
		if len(found) != 1 || !reflect.DeepEqual(found[0]["note"], note) {
			t.Errorf("left %v", found)
		}
		locktest.Write(t, table, av.With(locktest.RecordKey(), av.Item{"ticketNumber": av.Num(1), "granted": av.Num(1), "servingAfter": av.Num(0), "holders": av.Object(av.Item{"h": av.Object(av.Item{"beat": av.Num(0), "ttl": &types.AttributeValueMemberBOOL{Value: true}})})}))
		fresh, _ := locktest.Open(t, table, "b", locktest.Fast)
		_, err := fresh.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		locktest.Says(t, err, "holders.h.ttl is a boolean", "order-7 lock")
	})
}

// TestEngineItems checks that an item is locked, read and written in two requests.
func TestEngineItems(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{ItemPrefix: "l.k_"})
		b, dbB := locktest.Open(t, table, "b", queuelock.Config{ItemPrefix: "l.k_"})
		key := av.Item{"id": av.Num(7), "sort": av.Bin(1, 2)}
		u := locktest.NewItemTable(t, table, key)
		if _, err := a.LockItem(t.Context(), u.Key(key), waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNoItem) || len(u.Get(key)) != 0 {
			t.Errorf("a missing item gave %v; it holds %v", err, u.Get(key))
		}
		_, whole := locktest.OrderItem()
		whole = av.With(av.Without(whole, "id"), key)
		u.Put(whole)
		whole = u.Get(key)
		if n := locktest.Sent(table, func() { locktest.Release(t, locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait)) }); n != 2 {
			t.Errorf("the first cycle took %d requests", n)
		}
		n := locktest.Sent(table, func() {
			lock := locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait)
			locktest.EqualItems(t, "the item", lock.Item(), whole)
			whole = av.With(whole, av.Item{"amount": av.Num(101)})
			locktest.EqualItems(t, "what UpdateAndRelease returned", locktest.Updated(t, lock, locktest.AddOne(), expression.Name("amount").Equal(expression.Value(100))), whole)
		})
		if n != 2 {
			t.Errorf("read, modify, write took %d requests", n)
		}
		lock := locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait)
		busy(t, released(b.LockItem(t.Context(), u.Key(key), waitpolicy.NoWait)))
		queued, waits := locktest.OnceItWaits()
		waiting := locktest.QueueUpForItem(t.Context(), b, u.Key(key), waitpolicy.For(30*time.Second), waits)
		<-queued
		_, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne(), expression.Name("amount").Equal(expression.Value(0)))
		if refused, ok := errors.AsType[*queuelock.ConditionError](err); !ok {
			t.Errorf("got %v", err)
		} else {
			locktest.EqualItems(t, "the current item", refused.Current, whole)
		}
		// Its own attributes, by a path that cannot be seen through before.
		if _, err := lock.UpdateAndRelease(t.Context(), expression.Set(expression.Name("amount"), expression.Plus(expression.Name("missing"), expression.Value(1)))); err == nil || lock.Err() != nil {
			t.Errorf("got %v, and the lock's end is %v", err, lock.Err())
		}
		locktest.Updated(t, lock, locktest.AddOne())
		got := locktest.Lock(t, <-waiting)
		dbB.Inject(locktest.UpdatesOfItems(queuelocktest.LoseResponse().Times(2)))
		whole = av.With(whole, av.Item{"amount": av.Num(103)})
		locktest.EqualItems(t, "what UpdateAndRelease returned", locktest.Updated(t, got, locktest.AddOne()), whole)
		made := locktest.LockItem(t, a, u.Key(av.With(key, av.Item{"id": av.Num("-0.5")})), waitpolicy.NoWait, queuelock.CreateItem())
		locktest.EqualItems(t, "a created item", made.Item(), av.With(key, av.Item{"id": av.Num("-0.5")}))
		u.Delete(av.With(key, av.Item{"id": av.Num("-0.5")}))
		if _, err := made.UpdateAndRelease(t.Context(), expression.Set(expression.Name("a"), expression.Value(1))); err == nil || !errors.Is(made.Err(), queuelock.ErrLost) {
			t.Errorf("of a deleted item: %v, and the lock's end is %v", err, made.Err())
		}
		if left := u.Get(av.With(key, av.Item{"id": av.Num("-0.5")})); len(left) != 0 {
			t.Errorf("the deleted item is back: %v", left)
		}
	})
}

func TestEngineReadersAndPermits(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, locktest.Fast, "a", "b")
		writer := locktest.Acquire(t, a, waitpolicy.NoWait)
		waiting := locktest.LockBy(t, b, queuelock.Shared())
		locktest.OK(t, writer.Downgrade(t.Context()))
		reader := (<-waiting).Lock
		if reader == nil || !reader.Shared() || reader.Ticket().Compare(writer.Ticket()) <= 0 {
			t.Fatal("no reader has joined")
		}
		busy(t, released(b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)))
		locktest.Check(t, reader.Transact(t.Context(), locktest.Deposit(table, nil)))
		locktest.Release(t, writer)
		locktest.Release(t, reader)
		locktest.Is(t, reader.Transact(t.Context(), locktest.Deposit(table, nil)), queuelock.ErrReleased)
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.For(time.Minute)))

		permits := queuelock.Key{Entity: locktest.Order.Entity, Reason: "permits"}
		var locks []*queuelock.Lock
		for _, c := range []*queuelock.Client{a, b} {
			locks = append(locks, locktest.Must(c.Acquire(t.Context(), permits, waitpolicy.For(time.Minute), queuelock.Permits(2))))
		}
		busy(t, released(a.Acquire(t.Context(), permits, waitpolicy.NoWait, queuelock.Permits(2))))
		_, err := a.Acquire(t.Context(), permits, waitpolicy.NoWait, queuelock.Permits(3))
		if _, mismatch := errors.AsType[*queue.MismatchError](err); !mismatch {
			t.Errorf("another number: %v", err)
		}
		for _, lock := range locks {
			locktest.Check(t, lock.Extend(t.Context()))
			locktest.Release(t, lock)
		}
	})
}

// writeAndRelease writes under the lock, and releases it if that was done.
func writeAndRelease(t *testing.T, lock *queuelock.Lock, item types.TransactWriteItem) error {
	if err := lock.Transact(t.Context(), item); err != nil {
		return err
	}
	return lock.Release(t.Context())
}

func TestEngineTransactRelease(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		a, dbA := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait))
		lock := locktest.Acquire(t, a, waitpolicy.NoWait)
		n := locktest.Sent(table, func() {
			locktest.OK(t, writeAndRelease(t, lock, locktest.Deposit(table, nil)))
		})
		if n != 2 || locktest.Balance(table) != "1" {
			t.Errorf("%d requests; the account holds %s", n, locktest.Balance(table))
		}
		// With a waiter behind it, and an answer that is lost.
		lock = locktest.Acquire(t, a, waitpolicy.NoWait)
		queued, waits := locktest.OnceItWaits()
		waiting := locktest.LockBy(t, b, waits)
		<-queued
		dbA.Inject(queuelocktest.LoseResponse().Of("TransactWriteItems").Times(2))
		if err := writeAndRelease(t, lock, locktest.Deposit(table, nil)); err != nil || locktest.Balance(table) != "2" {
			t.Errorf("with a waiter behind it: %v; the account holds %s", err, locktest.Balance(table))
		}
		got := locktest.Lock(t, <-waiting)
		// Its own condition.
		err := writeAndRelease(t, got, locktest.Deposit(table, aws.String("amount = :one")))
		if _, ok := errors.AsType[*types.TransactionCanceledException](err); !ok || got.Err() != nil || locktest.Balance(table) != "2" {
			t.Errorf("got %v, the lock's end is %v, the account holds %s", err, got.Err(), locktest.Balance(table))
		}
		if err := writeAndRelease(t, got, locktest.Deposit(table, nil)); err != nil || locktest.Balance(table) != "3" {
			t.Errorf("then %v; the account holds %s", err, locktest.Balance(table))
		}
		// Of a lock that was taken away.
		lock = locktest.Acquire(t, a, waitpolicy.For(10*time.Second))
		locktest.Evict(t, table, locktest.Order.Entity)
		if err := writeAndRelease(t, lock, locktest.Deposit(table, nil)); !errors.Is(err, queuelock.ErrLost) || locktest.Balance(table) != "3" {
			t.Errorf("of a lost lock: %v; the account holds %s", err, locktest.Balance(table))
		}
	})
}

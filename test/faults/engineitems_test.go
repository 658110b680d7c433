package faults_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

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
		if _, err := b.LockItem(t.Context(), u.Key(key), waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("a locked item: %v", err)
		}
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

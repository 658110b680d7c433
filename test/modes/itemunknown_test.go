package modes_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestUnknownUpdate checks that an update of unknown outcome is reported as such.
func TestUnknownUpdate(t *testing.T) {
	prepare := func(t *testing.T, cfg queuelock.Config) (*queuelocktest.Table, locktest.ItemTable, *queuelocktest.Client, *queuelock.ItemLock, av.Item) {
		table := queuelocktest.NewTable(t)
		u, key, _ := locktest.NewOrder(t, table)
		c, db := locktest.Open(t, table, "c", cfg)
		return table, u, db, locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait), key
	}
	locktest.InBubble(t, "partitioned permanently, after it was made", func(t *testing.T) {
		_, u, db, lock, key := prepare(t, queuelock.Config{TTL: 10 * time.Second})
		db.Inject(locktest.UpdatesOfItems(queuelocktest.LoseResponse().Times(1)))
		db.Inject(queuelocktest.LoseRequest())
		_, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne())
		unknown, ok := errors.AsType[*queuelock.UnknownOutcomeError](err)
		if !ok || errors.Is(err, queuelock.ErrLost) || !errors.Is(unknown.End, queuelock.ErrLost) {
			t.Errorf("got %v", err)
		}
		if got := u.Get(key)["amount"]; !reflect.DeepEqual(got, av.Num(101)) {
			t.Errorf("the amount is %v", got)
		}
	})
	locktest.InBubble(t, "SecondCallReportsLateUpdate", func(t *testing.T) {
		table, u, db, lock, key := prepare(t, queuelock.Config{})
		late := db.Inject(locktest.UpdatesOfItems(queuelocktest.HoldRequest().Times(1).LandingAnyway()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := lock.UpdateAndRelease(ctx, locktest.AddOne())
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); !unknown || !errors.Is(err, context.DeadlineExceeded) || lock.Err() != nil {
			t.Fatalf("got %v, and the lock's end is %v", err, lock.Err())
		}
		late.Release()
		locktest.OK(t, table.Settle(t.Context()))
		if _, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne()); !errors.Is(err, queuelock.ErrReleased) {
			t.Errorf("the second call gave %v", err)
		}
		if got := u.Get(key)["amount"]; !reflect.DeepEqual(got, av.Num(101)) {
			t.Errorf("the amount is %v", got)
		}
	})
	locktest.InBubble(t, "RefusedWhileOneIsUnderWay", func(t *testing.T) {
		_, _, db, lock, _ := prepare(t, queuelock.Config{})
		db.Inject(locktest.UpdatesOfItems(queuelocktest.LandLate(5 * time.Second).Times(1)))
		_, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne(), expression.Name("amount").Equal(expression.Value(0)))
		_, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err)
		_, refused := errors.AsType[*queuelock.ConditionError](err)
		if !unknown || refused {
			t.Errorf("got %v", err)
		}
		locktest.Release(t, lock)
	})
	locktest.InTable(t, "Close", func(t *testing.T, table *queuelocktest.Table) {
		u, key, _ := locktest.NewOrder(t, table)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
		stuck := db.Inject(locktest.UpdatesOfItems(queuelocktest.SwallowResponse()))
		done := locktest.Background(func() (av.Item, error) { return lock.UpdateAndRelease(t.Context(), locktest.AddOne()) })
		<-stuck.Reached()
		begun := time.Now()
		if err := c.Close(t.Context()); err != nil || time.Since(begun) > time.Second {
			t.Errorf("Close took %v: %v", time.Since(begun), err)
		}
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError]((<-done).Err); !unknown {
			t.Error("the call that Close cut short was to have an unknown outcome")
		}
	})
}

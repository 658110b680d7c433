package modes_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestDeletedItem checks that a holder and its waiters notice that their item is deleted.
func TestDeletedItem(t *testing.T) {
	locktest.InTable(t, "HolderLosesItAndWaitersFail", func(t *testing.T, table *queuelocktest.Table) {
		u, key, _ := locktest.NewOrder(t, table)
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		lock := locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait)
		waiting := locktest.QueueUpForItem(t.Context(), b, u.Key(key), waitpolicy.Forever)
		synctest.Wait()
		u.Delete(key)
		if got := <-waiting; !errors.Is(got.Err, queuelock.ErrNoItem) {
			t.Errorf("a waiter got %v", got.Err)
		}
		<-lock.Context().Done()
		if lost, ok := errors.AsType[*queuelock.LostError](lock.Err()); !ok || lost.Cause != heartbeat.Evicted {
			t.Errorf("the holder got %v", lock.Err())
		}
		if _, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne()); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("UpdateAndRelease gave %v", err)
		}
		locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
		time.Sleep(time.Minute)
		if len(u.Get(key)) != 0 || len(table.Items()) != 0 {
			t.Errorf("it was made again, or rows are left: %v, %v", u.Get(key), table.Items())
		}
	})
	locktest.InTable(t, "by its holder, under the lock", func(t *testing.T, table *queuelocktest.Table) {
		u, key, _ := locktest.NewOrder(t, table)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
		u.Delete(key)
		locktest.Release(t, lock)
		if len(u.Get(key)) != 0 {
			t.Error("the release made it again")
		}
	})
	locktest.InTable(t, "and UpdateAndRelease comes first", func(t *testing.T, table *queuelocktest.Table) {
		u, key, _ := locktest.NewOrder(t, table)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.LockItem(t, c, u.Key(key), waitpolicy.NoWait)
		u.Delete(key)
		_, err := lock.UpdateAndRelease(t.Context(), expression.Set(expression.Name("amount"), expression.Value(1)))
		// Made by an attempt that the client's transport repeated, and deleted
		// then, it would look the same.
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); !unknown || !errors.Is(lock.Err(), queuelock.ErrLost) {
			t.Errorf("got %v, and the lock's end is %v", err, lock.Err())
		}
		if len(u.Get(key)) != 0 {
			t.Error("the update made it again")
		}
	})
}

package hold_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// The holder's host is suspended, and others evict it, write and release while its request is lost. It wakes within its
// own deadline, and its request is repeated and refused.
func TestOutcomeAfterSuspend(t *testing.T) {
	locktest.InTable(t, "UpdateAndReleaseIsLost", func(t *testing.T, table *queuelocktest.Table) {
		u, key, _ := locktest.NewOrder(t, table)
		a, dbA := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		lock := locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait)
		first := dbA.Inject(locktest.UpdatesOfItems(queuelocktest.LoseRequest().Times(1)))
		second := dbA.Inject(locktest.UpdatesOfItems(queuelocktest.HoldRequest().Times(1).LandingAnyway()))
		done := make(chan error, 1)
		go func() {
			_, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne())
			done <- err
		}()
		<-second.Reached()
		u.Put(ended(u.Get(key), "lock_"))
		other := locktest.LockItem(t, b, u.Key(key), waitpolicy.Forever)
		locktest.Updated(t, other, locktest.AddOne())
		second.Release()
		if err := <-done; !errors.Is(err, queuelock.ErrLost) || first.Fired() != 1 {
			t.Errorf("got %v, although nothing was written", err)
		}
		if got := u.Get(key)["amount"]; !reflect.DeepEqual(got, av.Num(101)) {
			t.Errorf("the amount is %v after one update", got)
		}
	})
	locktest.InTable(t, "ReleaseIsLost", func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		lock := locktest.Acquire(t, a, waitpolicy.NoWait)
		endLeasesOf(t, table)
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.Forever))
		locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
	})
	locktest.InTable(t, "UnknownOnceBothMarksAreReplaced", func(t *testing.T, table *queuelocktest.Table) {
		a, b, c := locktest.Three(t, table, queuelock.Config{}, "a", "b", "c")
		lock := locktest.Acquire(t, a, waitpolicy.NoWait)
		endLeasesOf(t, table)
		locktest.Acquire(t, b, waitpolicy.Forever)
		endLeasesOf(t, table)
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.Forever))
		if err := lock.Release(t.Context()); !isUnknown(err) || errors.Is(err, queuelock.ErrLost) {
			t.Errorf("got %v", err)
		}
	})
}

// endLeasesOf lets the leases in the order's record end, for others alone.
func endLeasesOf(t *testing.T, table *queuelocktest.Table) {
	t.Helper()
	record, _ := locktest.Record(t, table)
	locktest.Write(t, table, ended(record, ""))
}

// ended returns an item whose leases have ended.
func ended(item av.Item, prefix string) av.Item {
	if holders, ok := item[prefix+"holders"].(*types.AttributeValueMemberM); ok {
		for _, entry := range holders.Value {
			entry.(*types.AttributeValueMemberM).Value["until"] = av.Num(1)
		}
	}
	return item
}

// A client that retries on its own hears the refusal of its own success.
func TestOutcomeOfRepeatingClient(t *testing.T) {
	again := false
	open := func(table *queuelocktest.Table) *queuelock.Client {
		again = false
		db := locktest.Repeating{Client: table.Client("c"), Again: func(*dynamodb.UpdateItemInput) bool { return again }}
		return locktest.Must(queuelock.New(db, table.Name(), queuelock.Config{}))
	}
	locktest.InTable(t, "ReleaseIsNil", func(t *testing.T, table *queuelocktest.Table) {
		lock := locktest.Acquire(t, open(table), waitpolicy.NoWait)
		again = true
		locktest.Release(t, lock)
	})
	locktest.InTable(t, "UpdateAndReleaseIsMade", func(t *testing.T, table *queuelocktest.Table) {
		u, key, _ := locktest.NewOrder(t, table)
		lock := locktest.LockItem(t, open(table), u.Key(key), waitpolicy.NoWait)
		again = true
		locktest.Updated(t, lock, locktest.AddOne())
		if got := u.Get(key)["amount"]; !reflect.DeepEqual(got, av.Num(101)) {
			t.Errorf("the amount is %v after one update", got)
		}
	})
}

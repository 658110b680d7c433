package modes_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestDowngrade checks that a downgrade lets readers join, and lets no writer in between.
func TestDowngrade(t *testing.T) {
	locktest.WithWatched(t, func(t *testing.T, table *queuelocktest.Table) {
		w, dbW := locktest.Open(t, table, "w", queuelock.Config{})
		lock := locktest.Acquire(t, w, waitpolicy.NoWait)
		var readers []<-chan locktest.Outcome
		for i := range 2 {
			c, _ := locktest.Open(t, table, fmt.Sprint("r", i), queuelock.Config{})
			readers = append(readers, locktest.Waiting(t, c, queuelock.Shared()))
		}
		c, _ := locktest.Open(t, table, "w2", queuelock.Config{})
		writer := locktest.Waiting(t, c)
		last, _ := locktest.Open(t, table, "r9", queuelock.Config{})
		behind := locktest.LockBy(t, last, queuelock.Shared())
		time.Sleep(5 * time.Second)
		exclusive := lock.Condition()
		locktest.Sends(t, dbW, 1, "the first time", func() { locktest.OK(t, lock.Downgrade(t.Context())) })
		locktest.Sends(t, dbW, 0, "the second time", func() {
			if err := lock.Downgrade(t.Context()); err != nil || !lock.Shared() {
				t.Errorf("the second time: %v, shared %v", err, lock.Shared())
			}
		})
		time.Sleep(5 * time.Second)
		for i, done := range readers {
			if got := locktest.Granted(t, fmt.Sprint("reader ", i), done); !got.Shared() {
				t.Error("a reader does not share")
			}
		}
		locktest.StillWaits(t, "a writer", writer)
		locktest.StillWaits(t, "a reader behind a writer", behind)
		// The downgraded lock can still write, but what it sent before cannot come now.
		locktest.Check(t, lock.Transact(t.Context(), locktest.Deposit(table, nil)))
		if err := locktest.WithCondition(t, table, exclusive); err == nil {
			t.Error("a write of before the downgrade was made beside readers")
		}
		time.Sleep(2 * time.Minute) // heartbeats go on
		locktest.Check(t, lock.Err())
		locktest.Release(t, lock)
		time.Sleep(5 * time.Second)
		locktest.StillWaits(t, "a writer beside two readers", writer)
	})
}

// TestDowngradeRefusals checks that a downgrade of a lock that is not held is refused.
func TestDowngradeRefusals(t *testing.T) {
	locktest.WithWatched(t, func(t *testing.T, table *queuelocktest.Table) {
		a, dbA, b := locktest.Pair(t, table, locktest.TenSeconds, "a", "b")
		released := locktest.Acquire(t, a, waitpolicy.NoWait)
		locktest.Release(t, released)
		locktest.Is(t, released.Downgrade(t.Context()), queuelock.ErrReleased)
		lost := locktest.Acquire(t, a, waitpolicy.NoWait)
		dbA.Partition()
		next := locktest.Acquire(t, b, waitpolicy.For(time.Minute))
		dbA.Heal()
		locktest.Is(t, lost.Downgrade(t.Context()), queuelock.ErrLost)
		if next.Shared() {
			t.Error("the next holder shares")
		}
		locktest.Release(t, next)
		key := queuelock.Key{Entity: "order-7", Reason: "permit"}
		permit := locktest.Must(a.Acquire(t.Context(), key, waitpolicy.NoWait, queuelock.Permits(2)))
		if err := permit.Downgrade(t.Context()); err == nil || errors.Is(err, queuelock.ErrLost) || permit.Err() != nil {
			t.Errorf("of a permit: %v, and then %v", err, permit.Err())
		}
		locktest.Release(t, permit)
	})
}

package modes_test

import (
	"errors"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

const lockDelay = 7 * time.Second

// TestLockDelayAfterLoss checks that a lost lock keeps its queue closed for its delay.
func TestLockDelayAfterLoss(t *testing.T) {
	for how, options := range locktest.Judged {
		locktest.InTable(t, how, func(t *testing.T, table *queuelocktest.Table) {
			c, db, other := locktest.Pair(t, table, locktest.TenSeconds, "a", "b")
			locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
			lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.LockDelay(lockDelay))
			waiting := locktest.LockBy(t, other)
			time.Sleep(63 * time.Second) // it is renewed, and not at this very instant; the delay stays
			if h := locktest.Must(other.Viewer().Inspect(t.Context(), locktest.Order)).Serving[0]; h.Delay != lockDelay || h.TTL != locktest.TTL || h.Remaining < locktest.TTL/2+lockDelay-2*time.Second || h.Remaining > locktest.TTL+lockDelay+time.Second {
				t.Errorf("Inspect says %+v", h)
			}
			if left := lock.Remaining(); left > locktest.TTL {
				t.Errorf("its own deadline is in %v, and the lease is of %v", left, locktest.TTL)
			}
			renewed := time.Now().Add(lock.Remaining() - 9*time.Second) // the deadline is a lease less a second after it
			db.Partition()
			<-lock.Context().Done()
			if took := time.Since(renewed); took > locktest.TTL || took < locktest.TTL-2*time.Second {
				t.Errorf("the loss was known %v after the last renewal", took)
			}
			time.Sleep(2 * time.Second)
			db.Heal()
			// What the former holder does about its loss does not open the queue.
			locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
			if locked, err := other.IsLocked(t.Context(), locktest.Order); err != nil || !locked {
				t.Errorf("in its delay it is locked: %t, %v", locked, err)
			}
			_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
			locktest.Is(t, err, queuelock.ErrNotAcquired)
			got := <-waiting
			if took := got.At.Sub(renewed); got.Err != nil || took < locktest.TTL+lockDelay-10*time.Millisecond || took > locktest.TTL+lockDelay+locktest.TakenOverWithin {
				t.Fatalf("taken over %v after the last renewal (%v), want %v", took, got.Err, locktest.TTL+lockDelay)
			}
			locktest.Release(t, got.Lock)
		}, options...)
	}
}

// TestLockDelayAfterLateRelease checks that a Release that did not get through in time leaves the delay.
func TestLockDelayAfterLateRelease(t *testing.T) {
	for how, options := range locktest.Judged {
		locktest.InTable(t, how, func(t *testing.T, table *queuelocktest.Table) {
			c, db, other := locktest.Pair(t, table, locktest.TenSeconds, "a", "b")
			locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
			granted := time.Now()
			lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.LockDelay(lockDelay))
			waiting := locktest.LockBy(t, other)
			db.Partition()
			if err := lock.Release(t.Context()); err == nil || errors.Is(err, queuelock.ErrLost) {
				t.Errorf("released without a network: %v", err)
			}
			time.Sleep(time.Until(granted.Add(locktest.TTL + time.Second)))
			db.Heal()
			locktest.Says(t, lock.Release(t.Context()), "lost", "lease of 10s", "delay of 7s")
			locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
			got := <-waiting
			if took := got.At.Sub(granted); got.Err != nil || took < locktest.TTL+lockDelay-10*time.Millisecond || took > locktest.TTL+lockDelay+locktest.TakenOverWithin {
				t.Errorf("taken over %v after the grant (%v), want %v", took, got.Err, locktest.TTL+lockDelay)
			}
		}, options...)
	}
}

// TestLockDelayBounds checks that the bounds of a lock delay are possible, that a released lock has none, and that it
// costs nothing.
func TestLockDelayBounds(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		for _, d := range []time.Duration{0, time.Millisecond, 24 * time.Hour} {
			locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.LockDelay(d)))
		}
		locktest.Sends(t, table, 2, "a cycle", func() {
			locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.LockDelay(time.Hour)))
		})
	})
}

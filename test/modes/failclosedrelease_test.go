package modes_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestReleaseUntilAnswered checks that the release of a fail-closed lock is tried until it is answered.
func TestReleaseUntilAnswered(t *testing.T) {
	const releasing = "turn ="
	for name, test := range map[string]struct {
		fault queuelocktest.Fault
		err   bool
	}{
		"responses lost":       {queuelocktest.LoseResponse().Times(4), false},
		"response never comes": {queuelocktest.SwallowResponse().Times(2), false},
		"for minutes":          {queuelocktest.LoseRequest(), true},
		"unheard for minutes":  {queuelocktest.LoseResponse(), true},
	} {
		locktest.InWatched(t, name, func(t *testing.T, table *queuelocktest.Table) {
			c, db, other := locktest.Pair(t, table, locktest.TenSeconds, "a", "other")
			lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
			injected := db.Inject(test.fault.Mentioning(releasing))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			begun := time.Now()
			err := lock.Release(ctx)
			if test.err {
				unreleased, ok := errors.AsType[*queuelock.UnreleasedError](err)
				if took := time.Since(begun); !ok || unreleased.Ticket != lock.Ticket() || took < 5*time.Minute || took > 5*time.Minute+2*time.Second {
					t.Fatalf("after %v: %v", took, err)
				}
				locktest.Says(t, err, "order-7", "release it again", "evict it")
				locktest.Is(t, lock.Err(), queuelock.ErrReleased)
				injected.Remove()
				err = c.Close(t.Context()) // which tries it again
			}
			locktest.Check(t, err)
			locktest.Release(t, lock)
			takenWithin(t, other, time.Second)
		})
	}
	locktest.InTable(t, "the context has ended", func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
		db.Partition()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begun := time.Now()
		if _, ok := errors.AsType[*queuelock.UnreleasedError](lock.Release(ctx)); !ok || time.Since(begun) > 2*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), lock.Err())
		}
		db.Heal()
		locktest.Release(t, lock)
	})
}

// TestLostLockNotRemoved checks that a fail-closed lock that was lost, and could not be removed, is reported: a late TAKE
// may bring its id back. Release may be called again.
func TestLostLockNotRemoved(t *testing.T) {
	locktest.InTable(t, "by its Release", func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "c", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
		locktest.Evict(t, table, locktest.Order.Entity)
		<-lock.Context().Done()
		db.Partition()
		for range 2 {
			err := lock.Release(t.Context())
			if _, stands := errors.AsType[*queuelock.UnreleasedError](err); !stands || !errors.Is(err, queuelock.ErrLost) {
				t.Errorf("%v", err)
			}
		}
		db.Heal()
		for range 2 {
			err := lock.Release(t.Context())
			if _, stands := errors.AsType[*queuelock.UnreleasedError](err); stands || !errors.Is(err, queuelock.ErrLost) {
				t.Errorf("%v", err)
			}
		}
	})
	locktest.InTable(t, "ByWaitingAcquireAll", func(t *testing.T, table *queuelocktest.Table) {
		c, db, a := locktest.Pair(t, table, locktest.SharedScope, "c", "a")
		held := locktest.AcquireAll(t, a, waitpolicy.NoWait, "b")
		done := locktest.Background(func() (*queuelock.Locks, error) {
			return c.AcquireAll(t.Context(), locktest.KeysOf("a", "b"), waitpolicy.For(5*time.Minute), queuelock.FailClosed())
		})
		time.Sleep(time.Second)
		locktest.Evict(t, table, "a")
		db.Inject(queuelocktest.LoseRequest().Of("UpdateItem").On("a", "").Mentioning("REMOVE").Times(db.Options().Retryer.MaxAttempts()))
		err := (<-done).Err
		if unreleased, ok := errors.AsType[*queuelock.UnreleasedError](err); !ok || unreleased.Key.Entity != "a" {
			t.Errorf("%v", err)
		}
		locktest.ReleaseAll(t, held)
	})
}

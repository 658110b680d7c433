package modes_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestEvictRefusals checks that Evict returns an error that says why it did nothing.
func TestEvictRefusals(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db, operator := locktest.Pair(t, table, locktest.TenSeconds, "a", "operator")
		refused := func(h queue.Holder, renewed bool, words ...string) {
			t.Helper()
			spent := locktest.Cost(table, func() {
				err := operator.Operator().Evict(t.Context(), locktest.Order, h)
				e, ok := errors.AsType[*sweeper.EvictError](err)
				if !ok || e.Holder.ID != h.ID {
					t.Fatalf("%v, want a refusal", err)
				}
				if now, is := e.Renewed(); is != renewed || is && now.ID != h.ID {
					t.Errorf("%v: renewed %t, %+v", err, is, now)
				}
				locktest.Says(t, err, append(words, "order-7", "ticket "+h.Ticket.String())...)
				if n := strings.Count(err.Error(), "queuelock: "); n != 1 {
					t.Errorf("%q has the package's name %d times", err, n)
				}
			})
			if spent.Sent != 1 || spent.WriteUnits != 0 {
				t.Errorf("it cost %+v, want a read", spent)
			}
		}
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		gone := shown(t, operator)
		leased := gone
		leased.Lease = queue.Lease{FailClosed: true} // it is spared, as it has a lease
		refused(leased, true, "this holder has renewed its lease since it was read: a, beat 0, which ends in ")
		locktest.Release(t, lock)
		refused(gone, false, "this holder is gone", "the lock has no holder")

		lock = locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
		refused(gone, false, "this holder is gone", "holders: a (ticket 2)")
		stuck := shown(t, operator)
		spent := locktest.Cost(table, func() {
			locktest.Check(t, operator.Operator().Evict(t.Context(), locktest.Order, stuck))
		})
		if spent.Sent > 3 || spent.ReadUnits != 1 {
			t.Errorf("it cost %+v, want a read and a write, and one to quieten the queue", spent)
		}
		<-lock.Context().Done() // meanwhile the queue is quiet
		refused(stuck, false, "this holder is gone")
		locktest.Sends(t, table, 2, "a cycle", func() { locktest.Release(t, locktest.Acquire(t, operator, waitpolicy.NoWait)) })

		// Before it is confirmed it has a lease.
		held := db.Inject(queuelocktest.HoldRequest().Mentioning(locktest.Confirmation))
		acquiring := locktest.LockBy(t, c, queuelock.FailClosed())
		<-held.Reached()
		unconfirmed := shown(t, operator)
		if unconfirmed.Endless() || unconfirmed.TTL != grace {
			t.Fatalf("%+v", unconfirmed)
		}
		held.Release()
		lock = locktest.Lock(t, <-acquiring)
		refused(unconfirmed, true)

		_, err := operator.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
		locktest.Says(t, err, "without a lease")
		locktest.Check(t, operator.Close(t.Context()))
		stuck = shown(t, c)
		locktest.Is(t, operator.Operator().Evict(t.Context(), locktest.Order, stuck), queuelock.ErrClosed)
		for _, key := range []queuelock.AnyKey{nil, queuelock.Key{}, queuelock.ItemKey{}} {
			if err := c.Operator().Evict(t.Context(), key, stuck); err == nil {
				t.Errorf("%v is a key", key)
			}
		}
		if _, gone := errors.AsType[*sweeper.EvictError](c.Operator().Evict(t.Context(), queuelock.Key{Entity: "never used"}, stuck)); !gone {
			t.Error("a queue that was never used has a holder")
		}
		locktest.Release(t, lock)
	})
}

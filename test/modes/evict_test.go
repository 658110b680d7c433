package modes_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/heartbeat"
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
		locktest.Sends(t, table, 2, "a cycle", func() {
			locktest.Release(t, locktest.Acquire(t, operator, waitpolicy.NoWait))
		})

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

// shown is the one holder as Inspect shows it.
func shown(t *testing.T, c *queuelock.Client) queue.Holder {
	t.Helper()
	serving := locktest.Must(c.Viewer().Inspect(t.Context(), locktest.Order)).Serving
	if len(serving) != 1 {
		t.Fatalf("%+v", serving)
	}
	return serving[0]
}

// renewed reports whether an eviction was refused because the holder has renewed its lease, and not because it is gone.
func renewed(t *testing.T, err error) bool {
	t.Helper()
	refused, ok := errors.AsType[*sweeper.EvictError](err)
	if !ok {
		t.Fatalf("%v, want a refusal", err)
	}
	_, renewed := refused.Renewed()
	return renewed
}

// TestEvictOutage checks that the time for which failures are repeated is that of each request.
func TestEvictOutage(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		operator, db, c := locktest.Pair(t, table, locktest.TenSeconds, "operator", "stuck")
		locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
		stuck, begun := shown(t, operator), time.Now()
		reads := db.Inject(queuelocktest.LoseRequest().Of("GetItem"))
		time.AfterFunc(20*time.Second, func() {
			writes := db.Inject(queuelocktest.LoseRequest().Of("UpdateItem"))
			reads.Remove()
			time.AfterFunc(20*time.Second, writes.Remove)
		})
		locktest.OK(t, operator.Operator().Evict(t.Context(), locktest.Order, stuck))
		if took := time.Since(begun); took < 40*time.Second {
			t.Errorf("it took %v, and neither outage was met", took)
		}
	})
}

// TestEvictHolder checks that an operator ends the turn of a holder that renews its lease,
// in each mode, and that the holder's fenced writes are refused at once.
func TestEvictHolder(t *testing.T) {
	for name, options := range map[string][]queuelock.AcquireOption{
		"exclusive":   nil,
		"shared":      {queuelock.Shared()},
		"lock delay":  {queuelock.LockDelay(time.Hour)},
		"fail closed": {queuelock.FailClosed()},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			c, operator := locktest.Two(t, table, locktest.TenSeconds, "hangs", "operator")
			lock := locktest.Acquire(t, c, waitpolicy.Forever, options...)
			waiting := locktest.LockBy(t, operator)
			time.Sleep(time.Minute + time.Second)
			locktest.OK(t, lock.Transact(t.Context(), locktest.Deposit(table, nil)))
			evicted := time.Now()
			locktest.OK(t, operator.Operator().Evict(t.Context(), locktest.Order, shown(t, operator)))
			got := <-waiting
			if took := got.At.Sub(evicted); got.Err != nil || took > 100*time.Millisecond {
				t.Fatalf("the waiter was served after %v: %v", took, got.Err)
			}
			if e := locktest.Must(operator.Viewer().Inspect(t.Context(), locktest.Order)).LastEviction; e.Ticket != lock.Ticket() {
				t.Errorf("the mark of the eviction: %+v", e)
			}
			if lock.Err() != nil {
				t.Error("the holder cannot know of it yet")
			}
			if err := lock.Transact(t.Context(), locktest.Deposit(table, nil)); !errors.Is(err, queuelock.ErrLost) || locktest.Balance(table) != "1" {
				t.Errorf("after the eviction: %v, and the account holds %s", err, locktest.Balance(table))
			}
			if loss, ok := errors.AsType[*queuelock.LostError](lock.Release(t.Context())); !ok || loss.Cause != heartbeat.Evicted {
				t.Errorf("%v, want evicted", lock.Err())
			}
			time.Sleep(time.Minute)
			locktest.Release(t, got.Lock)
		})
	}
	locktest.InTable(t, "the holder learns of it by its next heartbeat", func(t *testing.T, table *queuelocktest.Table) {
		c, operator := locktest.Two(t, table, locktest.TenSeconds, "hangs", "operator")
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		time.Sleep(time.Minute + time.Second)
		locktest.OK(t, operator.Operator().Evict(t.Context(), locktest.Order, shown(t, operator)))
		evicted := time.Now()
		<-lock.Context().Done()
		loss, ok := errors.AsType[*queuelock.LostError](context.Cause(lock.Context()))
		if took := time.Since(evicted); !ok || loss.Cause != heartbeat.Evicted || took > locktest.TTL/2 {
			t.Errorf("%v after %v", context.Cause(lock.Context()), took)
		}
	})
}

// TestEvictHolderSpares checks that a holder that is not as it was shown is spared.
func TestEvictHolderSpares(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db, operator := locktest.Pair(t, table, locktest.TenSeconds, "a", "operator")
		refused := func(h queue.Holder, want bool) {
			t.Helper()
			if got := renewed(t, operator.Operator().Evict(t.Context(), locktest.Order, h)); got != want {
				t.Errorf("renewed: %t, want %t", got, want)
			}
		}
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		before := shown(t, operator)
		time.Sleep(locktest.TTL)
		refused(before, true)
		before = shown(t, operator)

		db.Partition() // a process that continues the lock has the same ticket
		other, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
		resumed, err := other.Resume(t.Context(), lock.Handle(), waitpolicy.NoWait)
		if err != nil || resumed.Ticket() != before.Ticket {
			t.Fatal(err)
		}
		refused(before, false)
		before = shown(t, operator)
		locktest.Release(t, resumed)
		next := locktest.Acquire(t, other, waitpolicy.Forever)
		refused(before, false)
		locktest.Check(t, next.Extend(t.Context()))
		locktest.Release(t, next)
		refused(before, false)
	})
}

// TestLateEvict checks that an Evict that arrives late spares a holder that has renewed its lease.
func TestLateEvict(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		operator, db, c := locktest.Pair(t, table, locktest.TenSeconds, "operator", "hangs")
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		h := shown(t, operator)
		held := db.Inject(queuelocktest.HoldRequest().LandingAnyway().Mentioning("evicted").Of("UpdateItem"))
		evict := locktest.Background(func() (any, error) {
			return nil, operator.Operator().Evict(t.Context(), locktest.Order, h)
		})
		<-held.Reached()
		time.Sleep(locktest.TTL)
		held.Release()
		if !renewed(t, (<-evict).Err) {
			t.Error("it has renewed its lease")
		}
		locktest.Check(t, lock.Extend(t.Context()))
		locktest.Release(t, lock)
	})
}

func TestEvictWithoutAnswers(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		operator, db, c := locktest.Pair(t, table, queuelock.Config{}, "operator", "hangs")
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		db.Inject(queuelocktest.LoseRequest().Mentioning("evicted").Of("UpdateItem"))
		begun := time.Now()
		locktest.Says(t, operator.Operator().Evict(t.Context(), locktest.Order, shown(t, operator)), "may be gone", "ticket 1")
		if took := time.Since(begun); took > 40*time.Second {
			t.Errorf("after %v", took)
		}
		locktest.Release(t, lock)
	})
}

// TestEvictOfItem checks that an operator ends the turn of an item's holder, whose updates are refused then.
func TestEvictOfItem(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, operator := locktest.Two(t, table, locktest.TenSeconds, "hangs", "operator")
		u, key, _ := locktest.NewOrder(t, table)
		item := u.Key(key)
		lock := locktest.LockItem(t, c, item, waitpolicy.Forever)
		next := locktest.QueueUpForItem(t.Context(), operator, item, waitpolicy.Forever)
		time.Sleep(time.Minute + time.Second)
		holder := func() queue.Holder { return locktest.Must(operator.Viewer().Inspect(t.Context(), item)).Serving[0] }
		before := holder()
		time.Sleep(locktest.TTL)
		if !renewed(t, operator.Operator().Evict(t.Context(), item, before)) {
			t.Error("it has renewed its lease")
		}
		locktest.OK(t, operator.Operator().Evict(t.Context(), item, holder()))
		got := locktest.Lock(t, <-next)
		_, err := lock.UpdateAndRelease(t.Context(), locktest.AddOne())
		locktest.Is(t, err, queuelock.ErrLost)
		locktest.Check(t, got.Release(t.Context()))
	})
}

package failclosed_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestEvictRefusals checks that Evict returns an error that says why it did nothing.
func TestEvictRefusals(t *testing.T) {
	locktest.InBubble(t, "all", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		operator, _ := locktest.Open(t, table, "operator", locktest.TenSeconds)
		refused := func(lock *queuelock.Lock, why error, words ...string) {
			t.Helper()
			number := lock.Ticket()
			spent := locktest.Cost(table, func() {
				err := operator.Evict(t.Context(), locktest.Order, number)
				e, ok := errors.AsType[*queuelock.EvictError](err)
				if !ok || !errors.Is(err, why) || e.Ticket != number || e.Key.Entity != locktest.Order.Entity {
					t.Errorf("%v, want %v", err, why)
				}
				locktest.Says(t, err, append(words, "order-7", "ticket "+number.String())...)
				if n := strings.Count(err.Error(), "queuelock: "); n != 1 {
					t.Errorf("%q has the package's name %d times", err, n)
				}
			})
			if spent.Sent != 1 || spent.WriteUnits != 0 {
				t.Errorf("it cost %+v, want a read", spent)
			}
		}
		gone := locktest.Acquire(t, c, waitpolicy.NoWait)
		refused(gone, queuelock.ErrLeased, "this holder has a lease: a, beat 0, which ends in ")
		locktest.Release(t, gone)
		refused(gone, queuelock.ErrNotServed, "no holder has this ticket", "the lock has no holder")

		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
		refused(gone, queuelock.ErrNotServed, "no holder has this ticket", "holders: a (ticket 2)")
		spent := locktest.Cost(table, func() {
			if err := operator.Evict(t.Context(), locktest.Order, lock.Ticket()); err != nil {
				t.Error(err)
			}
		})
		if spent.Sent > 3 || spent.ReadUnits != 1 {
			t.Errorf("it cost %+v, want a read and a write, and one to quieten the queue", spent)
		}
		<-lock.Context().Done() // meanwhile the queue is quiet
		refused(lock, queuelock.ErrNotServed, "no holder has this ticket")
		if spent := locktest.Cost(table, func() { locktest.Release(t, locktest.Acquire(t, operator, waitpolicy.NoWait)) }); spent.Sent != 2 {
			t.Errorf("the queue is off the path of one request: %+v", spent)
		}

		// Before it is confirmed it has a lease.
		held := db.Inject(queuelocktest.HoldRequest().Mentioning(locktest.Confirmation))
		acquiring := make(chan *queuelock.Lock, 1)
		go func() {
			lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.FailClosed())
			if err != nil {
				t.Error(err)
			}
			acquiring <- lock
		}()
		<-held.Reached()
		serving := locktest.Must(operator.Inspect(t.Context(), locktest.Order)).Serving
		if len(serving) != 1 || serving[0].FailClosed || serving[0].TTL != grace {
			t.Fatalf("%+v", serving)
		}
		if err := operator.Evict(t.Context(), locktest.Order, serving[0].Ticket); !errors.Is(err, queuelock.ErrLeased) {
			t.Errorf("%v", err)
		}
		held.Release()
		lock = <-acquiring

		if _, err := operator.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); err == nil {
			t.Error("two holders")
		} else {
			locktest.Says(t, err, "without a lease")
		}
		if err := operator.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := operator.Evict(t.Context(), locktest.Order, lock.Ticket()); !errors.Is(err, queuelock.ErrClosed) {
			t.Errorf("%v", err)
		}
		if err := c.Evict(t.Context(), queuelock.Key{}, lock.Ticket()); err == nil {
			t.Error("no key is a key")
		}
		if err := c.Evict(t.Context(), queuelock.Key{Entity: "never used"}, lock.Ticket()); !errors.Is(err, queuelock.ErrNotServed) {
			t.Errorf("%v", err)
		}
		locktest.Release(t, lock)
	})
}

// evictionFaults are faults that an eviction outlasts.
func evictionFaults() map[string]queuelocktest.Fault {
	return map[string]queuelocktest.Fault{
		"request lost":         queuelocktest.LoseRequest().Times(5),
		"response lost":        queuelocktest.LoseResponse().Times(5),
		"response never comes": queuelocktest.SwallowResponse().Times(3),
		"throttled":            queuelocktest.Refuse(queuelocktest.Throttling).Times(5),
		"twice":                queuelocktest.Duplicate(10 * time.Second),
	}
}

// TestEvictOutlastsFaults checks that Evict outlasts transient faults.
func TestEvictOutlastsFaults(t *testing.T) {
	for name, fault := range evictionFaults() {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
			operator, dbOperator := locktest.Open(t, table, "operator", locktest.TenSeconds)
			lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
			db.Partition()
			waiting := locktest.QueueUp(t.Context(), operator, waitpolicy.Forever) // of the same process
			time.Sleep(time.Minute)
			dbOperator.Inject(fault.Mentioning("failClosed"))
			if err := operator.Evict(t.Context(), locktest.Order, lock.Ticket()); err != nil {
				t.Fatal(err)
			}
			evicted := time.Now()
			got := <-waiting
			if took := got.At.Sub(evicted); got.Err != nil || took > 100*time.Millisecond {
				t.Errorf("the waiter was served %v after (%v), want at once", took, got.Err)
			}
			time.Sleep(time.Minute)
			if err := got.Lock.Err(); err != nil {
				t.Error(err)
			}
		})
	}
	locktest.InBubble(t, "no table", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
		db.Inject(queuelocktest.LoseRequest().Mentioning("failClosed"))
		begun := time.Now()
		err := c.Evict(t.Context(), locktest.Order, lock.Ticket())
		locktest.Says(t, err, "may be gone", "ticket 1")
		if took := time.Since(begun); took > 40*time.Second {
			t.Errorf("after %v", took)
		}
		locktest.Release(t, lock)
	})
}

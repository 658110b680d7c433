package hold_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestInspect(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		watcher, _ := locktest.Open(t, table, "watcher", queuelock.Config{})
		state := locktest.Must(watcher.Viewer().Inspect(t.Context(), locktest.Order))
		if len(state.Serving)+len(state.Waiting) > 0 || !state.Issued.IsZero() {
			t.Errorf("a lock never used: %+v", state)
		}
		holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, holder, waitpolicy.Forever))
		held := locktest.Acquire(t, holder, waitpolicy.Forever)
		for i := range 3 {
			time.Sleep(time.Second)
			c, _ := locktest.Open(t, table, fmt.Sprint("waiter-", i), queuelock.Config{})
			locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
		}
		time.Sleep(time.Second)
		state = locktest.Must(watcher.Viewer().Inspect(t.Context(), locktest.Order))
		if len(state.Serving) != 1 || len(state.Waiting) != 3 || state.Issued.After(held.Ticket()) != 3 {
			t.Fatalf("%+v", state)
		}
		near := func(d, want time.Duration) bool { return (d - want).Abs() < 1500*time.Millisecond }
		if h := state.Serving[0]; h.Owner != "holder" || h.Ticket != held.Ticket() || !near(h.Age, 4*time.Second) || !near(h.Remaining, 56*time.Second) || h.TTL != time.Minute {
			t.Errorf("holder %+v", h)
		}
		for i, w := range state.Waiting {
			if w.Position != i+1 || w.Owner != fmt.Sprint("waiter-", i) || !near(w.Age, time.Duration(3-i)*time.Second) || w.TTL != 15*time.Second || w.Remaining <= 0 || w.Problem != nil {
				t.Errorf("waiter %d: %+v", i, w)
			}
		}
		time.Sleep(time.Minute) // id and beat show who renews a lease
		later := locktest.Must(watcher.Viewer().Inspect(t.Context(), locktest.Order))
		if a, b := state.Serving[0], later.Serving[0]; a.ID == "" || b.ID != a.ID || b.Beat <= a.Beat {
			t.Errorf("holder %+v, a minute later %+v", a, b)
		}
		if a, b := state.Waiting[0], later.Waiting[0]; a.ID == "" || b.ID != a.ID || b.Beat <= a.Beat || a.ID == state.Serving[0].ID {
			t.Errorf("waiter %+v, a minute later %+v", a, b)
		}
	})
}

func TestHoldersInOrder(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		var held []*queuelock.Lock
		for range 8 {
			held = append(held, locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.Permits(8)))
		}
		for i, h := range locktest.Must(c.Viewer().Inspect(t.Context(), locktest.Order)).Serving {
			if h.Ticket != held[i].Ticket() {
				t.Errorf("holder %d has ticket %s, want %s", i, h.Ticket, held[i].Ticket())
			}
		}
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.Permits(8))
		if busy, ok := errors.AsType[*queuelock.NotAcquiredError](err); !ok || busy.Serving.Ticket != held[0].Ticket() {
			t.Errorf("%v, want that ticket %s is being served", err, held[0].Ticket())
		}
		for _, lock := range held {
			locktest.Release(t, lock)
		}
	})
}

func TestNotAcquiredErrorServing(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait))
		held := locktest.Acquire(t, a, waitpolicy.NoWait)
		for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(10 * time.Second)} {
			time.Sleep(10 * time.Second)
			_, err := b.Acquire(t.Context(), locktest.Order, wait)
			busy, ok := errors.AsType[*queuelock.NotAcquiredError](err)
			if !ok || busy.Serving == nil {
				t.Fatal(err)
			}
			h := *busy.Serving
			if h.Ticket != held.Ticket() || h.Owner != "a" || h.TTL != time.Minute || h.Since.IsZero() || h.Age < 9*time.Second || h.Remaining < 29*time.Second || h.Remaining > 62*time.Second {
				t.Errorf("%v: %+v", wait, h)
			}
		}
	})
}

// TestLogger checks that the logger receives evictions, sweeps and losses.
func TestLogger(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		var log locktest.Journal
		cfg := queuelock.Config{TTL: locktest.TTL, Logger: log.Logger()}
		a, db := locktest.Open(t, table, "a", cfg)
		b, _ := locktest.Open(t, table, "b", cfg)
		locktest.Acquire(t, a, waitpolicy.Forever)
		time.Sleep(2 * time.Second) // its first heartbeat says when its lease ends
		db.Partition()
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.Forever))
		locktest.Acquire(t, b, waitpolicy.NoWait)
		locktest.OK(t, evict(t.Context(), b))
		synctest.Wait()
		for _, want := range []string{"lost a lock", "cause=unreachable", "evicted holders", "evicted a holder with a lease", "order-7 lock"} {
			if !log.Says(want) {
				t.Errorf("the log does not say %q", want)
			}
		}
	})
}

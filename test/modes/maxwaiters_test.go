package modes_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// refused checks the error of a queue that is full.
func refused(t *testing.T, err error, limit, position int) *queuelock.NotAcquiredError {
	t.Helper()
	e, ok := errors.AsType[*queuelock.NotAcquiredError](err)
	if !ok || !errors.Is(err, queuelock.ErrQueueFull) || !errors.Is(err, queuelock.ErrNotAcquired) || errors.Is(err, queuelock.ErrSuperseded) {
		t.Fatalf("%v, want ErrQueueFull and ErrNotAcquired", err)
	}
	if e.MaxWaiters != limit || e.Position != position || e.Serving == nil {
		t.Errorf("limit %d at position %d behind %v, want %d at %d and a holder", e.MaxWaiters, e.Position, e.Serving, limit, position)
	}
	locktest.Says(t, err, fmt.Sprintf("at most %d may wait", limit))
	return e
}

// TestMaxWaiters checks who is refused, that nothing of it is left, and what it costs.
func TestMaxWaiters(t *testing.T) {
	two := queuelock.MaxWaiters(2)
	locktest.InTable(t, "RefusesTheThird", func(t *testing.T, table *queuelocktest.Table) {
		a, b, c := locktest.Three(t, table, queuelock.Config{}, "a", "b", "c")
		d, db := locktest.OpenMet(t, table, "d", queuelock.Config{})
		held := locktest.Acquire(t, a, waitpolicy.Forever)
		first := locktest.Waiting(t, b, two)
		second := locktest.Waiting(t, c, two)
		var err error
		spent := locktest.Cost(db, func() { _, err = d.Acquire(t.Context(), locktest.Order, waitpolicy.Forever, two) })
		if e := refused(t, err, 2, 3); e.Serving.Owner != "a" {
			t.Errorf("served %+v, want a", e.Serving)
		}
		if spent.Sent != 2 || spent.WriteUnits != 1 {
			t.Errorf("a refusal costs %+v, want TAKE and one look", spent)
		}
		if rows, holders := locktest.RowsAndHolders(t, a); rows != 2 || holders != 1 {
			t.Errorf("%d rows and %d holders, want 2 and 1", rows, holders)
		}
		locktest.Release(t, held)
		time.Sleep(time.Minute)
		locktest.Release(t, locktest.Granted(t, "the first", first))
		time.Sleep(time.Minute)
		locktest.Release(t, locktest.Granted(t, "the second", second))
		if rows, holders := locktest.RowsAndHolders(t, a); rows+holders != 0 {
			t.Errorf("%d rows and %d holders are left", rows, holders)
		}
	})
	locktest.InTable(t, "NotTheCrashed", func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, locktest.TenSeconds, "a", "b")
		locktest.Acquire(t, a, waitpolicy.Forever)
		dead, db := locktest.Open(t, table, "dead", locktest.TenSeconds)
		locktest.Waiting(t, dead)
		db.Partition()
		_, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.Forever, queuelock.MaxWaiters(1))
		refused(t, err, 1, 2)
		time.Sleep(2 * locktest.TenSeconds.WaiterTTL)
		waiting := locktest.Waiting(t, b, queuelock.MaxWaiters(1))
		locktest.StillWaits(t, "the only one alive", waiting)
	})
}

// TestPoliciesOfModes checks both policies with other kinds of locks: a waiter is refused, and another supersedes the first.
func TestPoliciesOfModes(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  queuelock.Config
		opts []queuelock.AcquireOption
	}{
		"Shared":      {opts: []queuelock.AcquireOption{queuelock.Shared()}},
		"Permits":     {opts: []queuelock.AcquireOption{queuelock.Permits(1)}},
		"ScopeTable":  {cfg: locktest.SharedScope},
		"ScopeEntity": {cfg: queuelock.Config{Scope: ticket.ScopeEntity}},
		"FailClosed":  {opts: []queuelock.AcquireOption{queuelock.FailClosed()}},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			a, b, d := locktest.Three(t, table, c.cfg, "a", "b", "d")
			var first []queuelock.AcquireOption
			if name == "Permits" {
				first = c.opts
			}
			held := locktest.Acquire(t, a, waitpolicy.Forever, first...)
			latest := append(c.opts, queuelock.Supersede())
			old := locktest.Waiting(t, b, latest...)
			_, err := d.Acquire(t.Context(), locktest.Order, waitpolicy.Forever, append(c.opts, queuelock.MaxWaiters(1))...)
			refused(t, err, 1, 2)
			waiting := locktest.LockBy(t, d, latest...)
			superseded(t, "the first", old)
			locktest.Release(t, held)
			time.Sleep(time.Minute)
			locktest.Release(t, locktest.Granted(t, "the latest", waiting))
		})
	}
	locktest.InTable(t, "LockItem", func(t *testing.T, table *queuelocktest.Table) {
		u, key, _ := locktest.NewOrder(t, table)
		a, b, c := locktest.Three(t, table, queuelock.Config{}, "a", "b", "c")
		held := locktest.LockItem(t, a, u.Key(key), waitpolicy.Forever)
		old := locktest.QueueUpForItem(t.Context(), b, u.Key(key), waitpolicy.Forever, queuelock.Supersede())
		time.Sleep(time.Second)
		_, err := c.LockItem(t.Context(), u.Key(key), waitpolicy.Forever, queuelock.MaxWaiters(1))
		refused(t, err, 1, 2)
		waiting := locktest.QueueUpForItem(t.Context(), c, u.Key(key), waitpolicy.Forever, queuelock.Supersede())
		locktest.Is(t, locktest.Within(t, "the first", 30*time.Second, old).Err, queuelock.ErrSuperseded)
		locktest.Release(t, held)
		time.Sleep(time.Minute)
		locktest.Release(t, locktest.Granted(t, "the latest", waiting))
	})
}

// TestMaxWaitersZero checks MaxWaiters(0): NoWait with its own error.
func TestMaxWaitersZero(t *testing.T) {
	zero := queuelock.MaxWaiters(0)
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, locktest.TenSeconds, "a", "b")
		c, db := locktest.OpenMet(t, table, "c", locktest.TenSeconds)
		held := locktest.Acquire(t, a, waitpolicy.Forever, zero)
		for _, wait := range []waitpolicy.Wait{waitpolicy.Forever, waitpolicy.For(time.Minute), waitpolicy.NoWait, waitpolicy.Attempts(2, time.Second)} {
			var err error
			spent := locktest.Cost(db, func() { _, err = c.Acquire(t.Context(), locktest.Order, wait, zero) })
			refused(t, err, 0, 0)
			if tries, _ := wait.Tries(); spent.Sent != max(1, tries) {
				t.Errorf("%v: %+v, want one request for each attempt", wait, spent)
			}
		}
		if _, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.MaxWaiters(1)); !errors.Is(err, queuelock.ErrNotAcquired) || errors.Is(err, queuelock.ErrQueueFull) {
			t.Errorf("NoWait with another limit: %v, want that the lock is busy", err)
		}
		locktest.Release(t, held)
		dead, deadDB := locktest.Open(t, table, "dead", locktest.TenSeconds)
		locktest.Acquire(t, dead, waitpolicy.Forever)
		deadDB.Partition()
		time.Sleep(2 * locktest.TTL)
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.Forever, zero)) // evicts it, as NoWait does
	})
}

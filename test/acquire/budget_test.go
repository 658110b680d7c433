package acquire_test

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestDrain checks that polls per waiter stay bounded while a queue of N waiters in N processes drains, as N grows.
func TestDrain(t *testing.T) {
	perWaiter := func(n int) float64 {
		var polls float64
		locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
			var waiting []<-chan locktest.Outcome
			a, _ := locktest.Open(t, table, "a", queuelock.Config{})
			for range 20 { // leaves a measure of turns on the record
				lock := locktest.Acquire(t, a, waitpolicy.Forever)
				time.Sleep(200 * time.Millisecond)
				locktest.Release(t, lock)
			}
			held := locktest.Acquire(t, a, waitpolicy.Forever)
			for range n {
				c, _ := locktest.Open(t, table, "waiter", queuelock.Config{})
				waiting = append(waiting, locktest.LockBy(t, c))
				time.Sleep(time.Millisecond)
			}
			time.Sleep(100 * time.Millisecond)
			before := table.Counts()
			begun := time.Now()
			locktest.Release(t, held)
			for _, w := range waiting {
				got := locktest.Lock(t, <-w)
				time.Sleep(200 * time.Millisecond)
				locktest.Release(t, got)
			}
			spent := table.Counts().Sub(before)
			polls = float64(spent["Query"].Sent+spent["GetItem"].Sent) / float64(n)
			idle := time.Since(begun)/time.Duration(n) - 200*time.Millisecond
			t.Logf("%d waiters, turns of 200ms: %.1f polls each, %v between turns, %v in all", n, polls, idle, time.Since(begun))
			if idle > 60*time.Millisecond {
				t.Errorf("%d waiters: the lock idles for %v between turns of 200ms", n, idle)
			}
		}, queuelocktest.WithLatency(4*time.Millisecond))
		return polls
	}
	many := locktest.Scaled(80, 30)
	small, large := perWaiter(10), perWaiter(many)
	if large > 4*small || large > 40 {
		t.Errorf("polls for each waiter: %.1f of 10 waiters, %.1f of %d", small, large, many)
	}
}

// TestSharedPoller checks that waiters of one process share one poller.
func TestSharedPoller(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		many, db, holder := locktest.Pair(t, table, queuelock.Config{}, "many", "holder")
		held := locktest.Acquire(t, holder, waitpolicy.Forever)
		var waiting []<-chan locktest.Outcome
		for range 30 {
			waiting = append(waiting, locktest.LockBy(t, many))
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		before := db.Counts()
		time.Sleep(60 * time.Second)
		spent := db.Counts().Sub(before)
		if polls := spent["Query"].Sent + spent["GetItem"].Sent; polls > 100 || polls < 30 {
			t.Errorf("30 waiters of one process made %d polls in a minute, want those of one", polls)
		}
		locktest.Release(t, held)
		last := held.Ticket()
		for _, w := range waiting {
			got := <-w
			if got.Err != nil || !last.Less(got.Lock.Ticket()) {
				t.Fatalf("after ticket %s: %+v", last, got)
			}
			last = got.Lock.Ticket()
			locktest.Release(t, got.Lock)
		}
	}, queuelocktest.WithLatency(4*time.Millisecond))
}

// TestPolicyBudget checks what the options cost: nothing at an idle lock, and else one look, which comes before the row with a
// limit, and is not saved for the latest, and one write to ask the holder.
func TestPolicyBudget(t *testing.T) {
	latest := []queuelock.AcquireOption{queuelock.Supersede()}
	cancels := []queuelock.AcquireOption{queuelock.Supersede(queuelock.CancelHolder)}
	for name, c := range map[string]struct {
		opts, holder []queuelock.AcquireOption
		more         int
	}{
		"none": {nil, nil, 0}, "MaxWaiters": {[]queuelock.AcquireOption{queuelock.MaxWaiters(3)}, nil, 1}, "Supersede": {latest, latest, 1},
		"CancelHolder": {cancels, latest, 2}, "CancelHolder of another group": {cancels, nil, 1},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{})
			b, db := locktest.OpenMet(t, table, "b", queuelock.Config{})
			idle := locktest.CostTo(db, func() { locktest.Release(t, locktest.Acquire(t, b, waitpolicy.Forever, c.opts...)) })
			if idle.Sent != 2 || idle.WriteUnits != 2 || idle.ReadUnits != 0 {
				t.Errorf("an idle cycle costs %+v", idle)
			}
			held := locktest.Acquire(t, a, waitpolicy.Forever, c.holder...)
			joins := locktest.CostTo(db, func() {
				locktest.LockBy(t, b, c.opts...)
				time.Sleep(time.Millisecond / 2)
			})
			if joins.Sent != 2+c.more { // TAKE and ENQUEUE; the ticket is the next, so the first look is saved
				t.Errorf("to queue costs %+v, want %d requests", joins, 2+c.more)
			}
			locktest.Release(t, held)
		})
	}
}

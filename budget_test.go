package queuelock_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// The budgets of docs/protocol.md, "Costs". They are exact: nothing is repeated
// on a network that works.

func TestFirstUseOfAKeyCostsTwoRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := openMet(t, table, "a", queuelock.Config{})
		spent := cost(table, func() { acquire(t, c, waitpolicy.Forever) })
		if spent.Sent != 2 || spent.WriteUnits != 2 || spent.ReadUnits != 0 {
			t.Errorf("first use: %+v, want 2 requests, 2 WCU, 0 RCU", spent)
		}
	})
}

// The first lock of a process is a read more, by which it learns DynamoDB's time.
// A busy one it need not ask twice.
func TestTheFirstLockOfAProcessCostsAReadMore(t *testing.T) {
	for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
		inBubble(t, wait.String(), func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			a, _ := open(t, table, "a", queuelock.Config{})
			release(t, acquire(t, a, wait))
			b, _ := open(t, table, "b", queuelock.Config{})
			var held *queuelock.Lock
			if spent := cost(table, func() { held = acquire(t, b, wait) }); spent.Sent != 2 || spent.WriteUnits != 1 || spent.ReadUnits != 1 {
				t.Errorf("its first lock: %+v, want 2 requests, 1 WCU, 1 RCU", spent)
			}
			release(t, held)
			if spent := cost(table, func() { held = acquire(t, b, wait) }); spent.Sent != 1 || spent.WriteUnits != 1 || spent.ReadUnits != 0 {
				t.Errorf("its second: %+v, want 1 request, 1 WCU, 0 RCU", spent)
			}
			c, _ := open(t, table, "c", queuelock.Config{})
			spent := cost(table, func() {
				if _, err := c.Acquire(t.Context(), order, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
					t.Errorf("NoWait on a busy lock: %v", err)
				}
			})
			if spent.Sent != 1 || spent.WriteUnits != 0 || spent.ReadUnits != 1 {
				t.Errorf("its first NoWait, on a busy lock: %+v, want 1 request, 0 WCU, 1 RCU", spent)
			}
			release(t, held)
		})
	}
	inBubble(t, "an engine without dates", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithoutDate())
		c, _ := open(t, table, "a", queuelock.Config{})
		release(t, acquire(t, c, waitpolicy.NoWait))
		if spent := cost(table, func() { acquire(t, c, waitpolicy.NoWait) }); spent.Sent != 1 {
			t.Errorf("it is asked for one again: %+v", spent)
		}
	})
}

func TestIdleAcquireAndItsReleaseCostOneRequestEach(t *testing.T) {
	for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(time.Minute), waitpolicy.Forever} {
		t.Run(wait.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t)
				c, _ := open(t, table, "a", queuelock.Config{})
				release(t, acquire(t, c, wait))
				for range 3 {
					var lock *queuelock.Lock
					if spent := cost(table, func() { lock = acquire(t, c, wait) }); spent.Sent != 1 || spent.WriteUnits != 1 || spent.ReadUnits != 0 {
						t.Errorf("idle acquire: %+v, want 1 request, 1 WCU, 0 RCU", spent)
					}
					spent := cost(table, func() { release(t, lock); synctest.Wait() })
					if spent.Sent != 1 || spent.WriteUnits != 1 || spent.ReadUnits != 0 {
						t.Errorf("release with nobody queued: %+v, want 1 request, 1 WCU, 0 RCU", spent)
					}
				}
			})
		})
	}
}

func TestNoWaitOnABusyLockCostsOneRequestAndNoTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, _ := open(t, table, "a", queuelock.Config{})
		b, _ := openMet(t, table, "b", queuelock.Config{})
		held := acquire(t, a, waitpolicy.NoWait)
		spent := cost(table, func() {
			if _, err := b.Acquire(t.Context(), order, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
				t.Errorf("NoWait on a busy lock: %v", err)
			}
		})
		if spent.Sent != 1 || spent.WriteUnits != 1 || spent.ReadUnits != 0 {
			t.Errorf("NoWait on a busy lock: %+v, want 1 request, 1 WCU, 0 RCU", spent)
		}
		release(t, held)
		if next := acquire(t, b, waitpolicy.NoWait); next.Ticket().After(held.Ticket()) != 1 {
			t.Errorf("ticket %s follows %s: NoWait burnt one", next.Ticket(), held.Ticket())
		}
	})
}

func TestQueuedCycleCostsAtMostSixRequestsWithoutPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := open(t, table, "a", queuelock.Config{})
		b, db := open(t, table, "b", queuelock.Config{})
		held := acquire(t, a, waitpolicy.Forever)
		waiting := queueUp(t.Context(), b, waitpolicy.Forever)
		time.Sleep(time.Second)
		release(t, held)
		got := <-waiting
		if got.err != nil {
			t.Fatal(got.err)
		}
		release(t, got.lock)
		time.Sleep(time.Second) // what runs in the background
		counts := db.Counts()
		polls := counts["Query"].Sent + counts["GetItem"].Sent
		if spent := counts.Total(); spent.Sent-polls > 6 || spent.WriteUnits > 6 {
			t.Errorf("queued acquire and release: %d requests and %v WCU beside %d polls, want at most 6 and 6\n%s", spent.Sent-polls, spent.WriteUnits, polls, table.Log())
		}
		if spent := counts.Total(); spent.ReadUnits > float64(polls) {
			t.Errorf("%d polls took %v RCU, want 1 each", polls, spent.ReadUnits)
		}
		// And the queue is back on the path of one request.
		if spent := cost(table, func() { acquire(t, a, waitpolicy.Forever) }); spent.Sent != 1 {
			t.Errorf("acquire after the queue emptied: %+v, want 1 request", spent)
		}
	})
}

// In a busy queue the fast form would be refused more often than not, and the
// lock idle for a round trip.
func TestReleaseInABusyQueueStartsWithTheHandOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := open(t, table, "a", queuelock.Config{})
		b, db := open(t, table, "b", queuelock.Config{})
		c, _ := open(t, table, "c", queuelock.Config{})
		held := acquire(t, a, waitpolicy.Forever)
		second := queueUp(t.Context(), b, waitpolicy.Forever)
		time.Sleep(time.Second)
		release(t, held)
		got := <-second
		if got.err != nil {
			t.Fatal(got.err)
		}
		third := queueUp(t.Context(), c, waitpolicy.Forever) // b does not know of it
		time.Sleep(time.Second)
		before := db.Counts()
		release(t, got.lock)
		time.Sleep(time.Second)
		if spent := db.Counts().Sub(before).Total(); spent.Sent != 1 || spent.FailedConditions != 0 {
			t.Errorf("release with somebody queued: %+v, want the hand-off alone", spent)
		}
		if got := <-third; got.err != nil {
			t.Error(got.err)
		}
	})
}

// TestDrainingAQueueTakesPollsInProportionToItsLength: with N waiters in N
// processes, polls per waiter stay bounded as N grows.
func TestDrainingAQueueTakesPollsInProportionToItsLength(t *testing.T) {
	perWaiter := func(n int) float64 {
		var polls float64
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			var waiting []<-chan outcome
			a, _ := open(t, table, "a", queuelock.Config{})
			for range 20 { // leaves a measure of turns on the record
				lock := acquire(t, a, waitpolicy.Forever)
				time.Sleep(200 * time.Millisecond)
				release(t, lock)
			}
			held := acquire(t, a, waitpolicy.Forever)
			for range n {
				c, _ := open(t, table, "waiter", queuelock.Config{})
				waiting = append(waiting, queueUp(t.Context(), c, waitpolicy.Forever))
				time.Sleep(time.Millisecond)
			}
			time.Sleep(100 * time.Millisecond)
			before := table.Counts()
			begun := time.Now()
			release(t, held)
			for _, w := range waiting {
				got := <-w
				if got.err != nil {
					t.Fatal(got.err)
				}
				time.Sleep(200 * time.Millisecond)
				release(t, got.lock)
			}
			spent := table.Counts().Sub(before)
			polls = float64(spent["Query"].Sent+spent["GetItem"].Sent) / float64(n)
			idle := time.Since(begun)/time.Duration(n) - 200*time.Millisecond
			t.Logf("%d waiters, turns of 200ms: %.1f polls each, %v between turns, %v in all", n, polls, idle, time.Since(begun))
			if idle > 60*time.Millisecond {
				t.Errorf("%d waiters: the lock idles for %v between turns of 200ms", n, idle)
			}
		})
		return polls
	}
	small, large := perWaiter(10), perWaiter(80)
	if large > 4*small || large > 40 {
		t.Errorf("polls for each waiter: %.1f of 10 waiters, %.1f of 80", small, large)
	}
}

func TestWaitersOfOneProcessShareOnePoller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
		holder, _ := open(t, table, "holder", queuelock.Config{})
		many, db := open(t, table, "many", queuelock.Config{})
		held := acquire(t, holder, waitpolicy.Forever)
		var waiting []<-chan outcome
		for range 30 {
			waiting = append(waiting, queueUp(t.Context(), many, waitpolicy.Forever))
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		before := db.Counts()
		time.Sleep(60 * time.Second)
		spent := db.Counts().Sub(before)
		if polls := spent["Query"].Sent + spent["GetItem"].Sent; polls > 100 || polls < 30 {
			t.Errorf("30 waiters of one process made %d polls in a minute, want those of one", polls)
		}
		release(t, held)
		last := held.Ticket()
		for _, w := range waiting {
			got := <-w
			if got.err != nil || !last.Less(got.lock.Ticket()) {
				t.Fatalf("after ticket %s: %+v", last, got)
			}
			last = got.lock.Ticket()
			release(t, got.lock)
		}
	})
}

func TestReleaseWakesTheNextOfItsOwnProcessAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const trip = 4 * time.Millisecond
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(trip))
		c, _ := open(t, table, "a", queuelock.Config{})
		held := acquire(t, c, waitpolicy.Forever)
		waiting := queueUp(t.Context(), c, waitpolicy.Forever)
		time.Sleep(45 * time.Second) // by now it looks once a second
		begun := time.Now()
		release(t, held)
		got := <-waiting
		if took := got.at.Sub(begun); got.err != nil || took > 4*trip {
			t.Errorf("the next in line of the same process was served %v after the release (%v), want at most four round trips of %v", took, got.err, trip)
		}
	})
}

package queuelock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestInspectShowsWhoIsServedAndWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		watcher, _ := open(t, table, "watcher", queuelock.Config{})
		state := must(watcher.Inspect(t.Context(), order))
		if len(state.Serving)+len(state.Waiting) > 0 || !state.Issued.IsZero() {
			t.Errorf("a lock never used: %+v", state)
		}
		holder, _ := open(t, table, "holder", queuelock.Config{})
		release(t, acquire(t, holder, waitpolicy.Forever))
		held := acquire(t, holder, waitpolicy.Forever)
		for i := range 3 {
			time.Sleep(time.Second)
			c, _ := open(t, table, fmt.Sprint("waiter-", i), queuelock.Config{})
			queueUp(t.Context(), c, waitpolicy.Forever)
		}
		time.Sleep(time.Second)
		state = must(watcher.Inspect(t.Context(), order))
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
	})
}

// The first request of a process may know no time.
func TestTheAgeOfAFirstLockIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := open(t, table, "a", queuelock.Config{})
		acquire(t, c, waitpolicy.NoWait)
		time.Sleep(time.Minute)
		if h := must(c.Inspect(t.Context(), order)).Serving[0]; (h.Age - time.Minute).Abs() > time.Second {
			t.Errorf("%+v, want an age of a minute", h)
		}
	})
}

func TestThoseWhoAreServedAreToldInTheOrderOfTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := open(t, table, "c", queuelock.Config{})
		var held []*queuelock.Lock
		for range 8 {
			held = append(held, acquire(t, c, waitpolicy.NoWait, queuelock.Permits(8)))
		}
		for i, h := range must(c.Inspect(t.Context(), order)).Serving {
			if h.Ticket != held[i].Ticket() {
				t.Errorf("holder %d has ticket %s, want %s", i, h.Ticket, held[i].Ticket())
			}
		}
		_, err := c.Acquire(t.Context(), order, waitpolicy.NoWait, queuelock.Permits(8))
		if busy, ok := errors.AsType[*queuelock.NotAcquiredError](err); !ok || busy.Serving.Ticket != held[0].Ticket() {
			t.Errorf("%v, want that ticket %s is being served", err, held[0].Ticket())
		}
		for _, lock := range held {
			release(t, lock)
		}
	})
}

func TestWhoIsServedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, _ := open(t, table, "a", queuelock.Config{})
		b, _ := open(t, table, "b", queuelock.Config{})
		release(t, acquire(t, a, waitpolicy.NoWait))
		held := acquire(t, a, waitpolicy.NoWait)
		for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(10 * time.Second)} {
			time.Sleep(10 * time.Second)
			_, err := b.Acquire(t.Context(), order, wait)
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

func TestSweepRemovesTheDeadAndNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		holder, dbHolder := open(t, table, "holder", tenSeconds)
		release(t, acquire(t, holder, waitpolicy.Forever))
		acquire(t, holder, waitpolicy.Forever)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		dead, dbDead := open(t, table, "dead", tenSeconds)
		queueUp(ctx, dead, waitpolicy.Forever)
		time.Sleep(time.Second)
		watcher, _ := open(t, table, "watcher", tenSeconds)
		if swept := must(watcher.Sweep(t.Context(), order)); swept != (queuelock.Swept{}) {
			t.Errorf("swept %+v of the living", swept)
		}
		dbDead.Partition()
		dbHolder.Partition()
		time.Sleep(ttl + 2*time.Second)
		if swept := must(watcher.Sweep(t.Context(), order)); swept != (queuelock.Swept{Rows: 1, Holders: 1}) {
			t.Errorf("swept %+v, want a row and a holder", swept)
		}
		if n := len(table.Items()); n != 1 {
			t.Errorf("%d items are left", n)
		}
	})
}

func TestTheLoggerHearsOfEvictionsSweepsAndLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		var log journal
		logger := log.logger()
		a, db := open(t, table, "a", queuelock.Config{TTL: ttl, Logger: logger})
		b, _ := open(t, table, "b", queuelock.Config{TTL: ttl, Logger: logger})
		acquire(t, a, waitpolicy.Forever)
		time.Sleep(2 * time.Second) // its first heartbeat says when its lease ends
		db.Partition()
		release(t, acquire(t, b, waitpolicy.Forever))
		synctest.Wait()
		for _, want := range []string{"lost a lock", "cause=unreachable", "evicted holders", "order-7 lock"} {
			if !log.says(want) {
				t.Errorf("the log does not say %q", want)
			}
		}
	})
}

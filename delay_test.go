package queuelock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

const lockDelay = 7 * time.Second

// Each with a lease that ends by DynamoDB's clock, and with one that is watched.
var judged = map[string][]queuelocktest.Option{"by the clock": nil, "by observation": {queuelocktest.WithoutDate()}}

func TestALostLockKeepsItsQueueClosedForItsDelay(t *testing.T) {
	for how, options := range judged {
		inBubble(t, how, func(t *testing.T) {
			table := queuelocktest.NewTable(t, options...)
			c, db := open(t, table, "a", tenSeconds)
			other, _ := open(t, table, "b", tenSeconds)
			release(t, acquire(t, c, waitpolicy.NoWait))
			lock := acquire(t, c, waitpolicy.NoWait, queuelock.LockDelay(lockDelay))
			waiting := queueUp(t.Context(), other, waitpolicy.Forever)
			time.Sleep(63 * time.Second) // it is renewed, and not at this very instant; the delay stays
			if h := must(other.Inspect(t.Context(), order)).Serving[0]; h.Delay != lockDelay || h.TTL != ttl || h.Remaining < ttl/2+lockDelay-2*time.Second || h.Remaining > ttl+lockDelay+time.Second {
				t.Errorf("Inspect says %+v", h)
			}
			if left := lock.Remaining(); left > ttl {
				t.Errorf("its own deadline is in %v, and the lease is of %v", left, ttl)
			}
			renewed := time.Now().Add(lock.Remaining() - 9*time.Second) // the deadline is a lease less a second after it
			db.Partition()
			<-lock.Done()
			if took := time.Since(renewed); took > ttl || took < ttl-2*time.Second {
				t.Errorf("the loss was known %v after the last renewal", took)
			}
			time.Sleep(2 * time.Second)
			db.Heal()
			// What the former holder does about its loss does not open the queue.
			if err := lock.Release(t.Context()); !errors.Is(err, queuelock.ErrLost) {
				t.Errorf("%v", err)
			}
			if locked, err := other.IsLocked(t.Context(), order); err != nil || !locked {
				t.Errorf("in its delay it is locked: %t, %v", locked, err)
			}
			if _, err := c.Acquire(t.Context(), order, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
				t.Errorf("in its delay: %v", err)
			}
			got := <-waiting
			if took := got.at.Sub(renewed); got.err != nil || took < ttl+lockDelay-10*time.Millisecond || took > ttl+lockDelay+takenOverWithin {
				t.Fatalf("taken over %v after the last renewal (%v), want %v", took, got.err, ttl+lockDelay)
			}
			release(t, got.lock)
		})
	}
}

func TestAReleasedLockHasNoDelay(t *testing.T) {
	inBubble(t, "at once", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		c, _ := open(t, table, "a", tenSeconds)
		other, _ := open(t, table, "b", tenSeconds)
		release(t, acquire(t, c, waitpolicy.NoWait, queuelock.LockDelay(time.Hour)))
		release(t, acquire(t, other, waitpolicy.NoWait))
		acquire(t, c, waitpolicy.NoWait, queuelock.LockDelay(time.Hour))
		waiting := queueUp(t.Context(), other, waitpolicy.Forever)
		time.Sleep(time.Second)
		closed := time.Now()
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := <-waiting; got.err != nil || got.at.Sub(closed) > time.Second {
			t.Errorf("served %v after Close (%v)", got.at.Sub(closed), got.err)
		}
	})
	inBubble(t, "although its context ended while it was served", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "a", tenSeconds)
		release(t, acquire(t, c, waitpolicy.NoWait))
		held := db.Inject(queuelocktest.HoldResponse().Of("UpdateItem").Times(1))
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan error, 1)
		go func() {
			_, err := c.Acquire(ctx, order, waitpolicy.Forever, queuelock.LockDelay(time.Hour))
			given <- err
		}()
		<-held.Reached()
		cancel()
		held.Release()
		if err := <-given; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		release(t, acquire(t, c, waitpolicy.NoWait))
	})
}

// A lock that is lost while an AcquireAll waits for the others was never
// returned, and so nothing was done under it: its queue is opened, or its own
// AcquireAll would wait for it.
func TestALockThatWasNeverReturnedHasNoDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
		cfg := queuelock.Config{TTL: ttl, Scope: queuelock.ScopeShared}
		a, _ := open(t, table, "a", cfg)
		b, db := open(t, table, "b", cfg)
		held := acquireAll(t, a, waitpolicy.NoWait, "b")
		done := make(chan severalOutcome, 1)
		go func() {
			locks, err := b.AcquireAll(t.Context(), keysOf("a", "b"), waitpolicy.Forever, queuelock.LockDelay(time.Hour))
			done <- severalOutcome{locks, err, time.Now()}
		}()
		time.Sleep(time.Second)
		cut := db.Inject(queuelocktest.LoseRequest().Of("UpdateItem").On("a", "").Mentioning("beat + 1"))
		time.Sleep(15 * time.Second)
		cut.Remove()
		releaseAll(t, held)
		free := time.Now()
		got := <-done
		if got.err != nil {
			t.Fatal(got.err)
		}
		if took := got.at.Sub(free); took > time.Minute {
			t.Errorf("all were free, and it took %v", took)
		}
		releaseAll(t, got.locks)
	})
}

// A Release that came too late is a loss.
func TestAReleaseThatDidNotGetThroughInTimeLeavesTheDelay(t *testing.T) {
	for how, options := range judged {
		inBubble(t, how, func(t *testing.T) {
			table := queuelocktest.NewTable(t, options...)
			c, db := open(t, table, "a", tenSeconds)
			other, _ := open(t, table, "b", tenSeconds)
			release(t, acquire(t, c, waitpolicy.NoWait))
			granted := time.Now()
			lock := acquire(t, c, waitpolicy.NoWait, queuelock.LockDelay(lockDelay))
			waiting := queueUp(t.Context(), other, waitpolicy.Forever)
			db.Partition()
			if err := lock.Release(t.Context()); err == nil || errors.Is(err, queuelock.ErrLost) {
				t.Errorf("released without a network: %v", err)
			}
			time.Sleep(time.Until(granted.Add(ttl + time.Second)))
			db.Heal()
			says(t, lock.Release(t.Context()), "lost", "lease of 10s", "delay of 7s")
			if err := lock.Release(t.Context()); !errors.Is(err, queuelock.ErrLost) {
				t.Errorf("%v", err)
			}
			got := <-waiting
			if took := got.at.Sub(granted); got.err != nil || took < ttl+lockDelay-10*time.Millisecond || took > ttl+lockDelay+takenOverWithin {
				t.Errorf("taken over %v after the grant (%v), want %v", took, got.err, ttl+lockDelay)
			}
		})
	}
}

func TestALockDelayThatMakesNoSenseIsRefused(t *testing.T) {
	inBubble(t, "at once", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "a", queuelock.Config{})
		for d, words := range map[time.Duration][]string{
			-time.Second:            {"LockDelay", "-1s", "24h"},
			24*time.Hour + 1:        {"LockDelay", "24h0m0.000000001s", "24h0m0s"},
			1500 * time.Microsecond: {"LockDelay", "1.5ms", "whole milliseconds"},
		} {
			_, err := c.Acquire(t.Context(), order, waitpolicy.NoWait, queuelock.LockDelay(d))
			says(t, err, words...)
		}
		if n := db.Counts().Total().Sent; n != 0 {
			t.Errorf("%d requests were sent", n)
		}
		for _, d := range []time.Duration{0, time.Millisecond, 24 * time.Hour} {
			release(t, acquire(t, c, waitpolicy.NoWait, queuelock.LockDelay(d)))
		}
		if spent := cost(table, func() { release(t, acquire(t, c, waitpolicy.NoWait, queuelock.LockDelay(time.Hour))) }); spent.Sent != 2 {
			t.Errorf("a cycle cost %+v, want two requests", spent)
		}
	})
}

func TestEngineALockDelayIsKeptOnEveryEngine(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := open(t, table, "a", fast)
		other, _ := open(t, table, "b", fast)
		release(t, acquire(t, c, waitpolicy.NoWait))
		granted := time.Now()
		lock := acquire(t, c, waitpolicy.NoWait, queuelock.LockDelay(time.Second))
		db.Partition()
		waiting := queueUp(t.Context(), other, waitpolicy.Forever)
		<-lock.Done()
		got := <-waiting
		if took := got.at.Sub(granted); got.err != nil || took < fast.TTL+time.Second-50*time.Millisecond {
			t.Errorf("taken over %v after the grant (%v), want %v or more", took, got.err, fast.TTL+time.Second)
		}
		release(t, got.lock)
	})
}

package modes_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

const (
	atLeast = 5 * time.Minute
	soon    = 3 * time.Second // after the time at which a queue opens
)

// taken checks when a waiter was granted a lock that was closed since begun, and releases it.
func taken(t *testing.T, waiting <-chan locktest.Outcome, begun time.Time, late time.Duration) *queuelock.Lock {
	t.Helper()
	got := <-waiting
	locktest.OK(t, got.Err)
	if took := got.At.Sub(begun); took < atLeast || took > atLeast+late {
		t.Errorf("granted %v after the grant before, want %v", took, atLeast)
	}
	locktest.Release(t, got.Lock)
	return got.Lock
}

// heard is a configuration whose client keeps the events of one kind.
func heard[E event.Event](all *[]E) queuelock.Config {
	cfg := locktest.TenSeconds
	cfg.Observer = event.Func(func(e event.Event) {
		if e, ok := e.(E); ok {
			*all = append(*all, e)
		}
	})
	return cfg
}

// TestHoldAtLeast checks that a queue opens at its time, however the turn ends. Without dates others see it by
// observation, from when they saw the queue closed.
func TestHoldAtLeast(t *testing.T) {
	for _, end := range []string{"released", "crashed", "closed"} {
		for how, late := range map[string]time.Duration{"by the clock": soon, "by observation": time.Minute} {
			locktest.InBubble(t, end+", "+how, func(t *testing.T) {
				a, b, db, begun, lock := begin(t, locktest.WatchedAs(t, how))
				time.Sleep(time.Second)
				waiting := locktest.Waiting(t, b)
				switch end {
				case "released":
					locktest.Release(t, lock)
				case "crashed":
					db.Partition()
				case "closed":
					locktest.Check(t, a.Close(t.Context()))
				}
				if next := taken(t, waiting, begun, late); next.Unsettled() != (end == "crashed") {
					t.Errorf("Unsettled of the next is %t", next.Unsettled())
				}
			})
		}
	}
}

// begin acquires a lock that keeps its queue closed.
func begin(t *testing.T, table *queuelocktest.Table, opts ...queuelock.AcquireOption) (
	a, b *queuelock.Client, db *queuelocktest.Client, begun time.Time, lock *queuelock.Lock,
) {
	a, db = locktest.Open(t, table, "a", locktest.TenSeconds)
	b, _ = locktest.Open(t, table, "b", locktest.TenSeconds)
	locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait, opts...))
	begun = time.Now()
	return a, b, db, begun, locktest.Acquire(t, a, waitpolicy.NoWait, append(opts, queuelock.HoldAtLeast(atLeast))...)
}

// TestClosedQueue checks what a closed queue shows, and that its end is no eviction.
func TestClosedQueue(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		var evicted []event.Evicted
		a, b := locktest.Two(t, table, heard(&evicted), "a", "b")
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait))
		begun := time.Now()
		lock := locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.Every(time.Hour))
		near := func(at time.Time) bool { return at.Sub(begun.Add(time.Hour)).Abs() < 2*time.Second }
		state := locktest.Must(b.Viewer().Inspect(t.Context(), locktest.Order))
		if h := state.Serving[0]; h.Closed || !near(h.NotBefore) || h.Owner != "a" {
			t.Errorf("while it is held: %+v", h)
		}
		_, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.Every(time.Hour))
		if e, ok := errors.AsType[*queuelock.NotAcquiredError](err); !ok || !near(e.NotBefore) {
			t.Errorf("while it is held: %v", err)
		}
		locktest.Sends(t, table, 1, "the release", func() { locktest.Release(t, lock) })
		state = locktest.Must(b.Viewer().Inspect(t.Context(), locktest.Order))
		if h := state.Serving[0]; len(state.Serving) != 1 || !h.Closed || !near(h.NotBefore) || h.Owner != "" || h.Ticket != lock.Ticket() ||
			h.Remaining < 58*time.Minute || h.Expired() {
			t.Errorf("closed: %+v", h)
		}
		if wait := state.EstimatedWait(1); wait < 58*time.Minute {
			t.Errorf("the next waits %v", wait)
		}
		if locked := locktest.Must(b.IsLocked(t.Context(), locktest.Order)); !locked {
			t.Error("a closed queue is not locked")
		}
		_, err = b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.Every(time.Hour))
		locktest.Says(t, err, "closed until", "ticket "+lock.Ticket().String())
		if e, ok := errors.AsType[*queuelock.NotAcquiredError](err); !ok || !near(e.NotBefore) || !e.Serving.Closed || !e.Own.IsZero() || e.EstimatedWait < 58*time.Minute {
			t.Errorf("%+v", e)
		}
		time.Sleep(time.Until(begun.Add(time.Hour + 2*time.Second)))
		if swept := locktest.Must(b.Operator().Sweep(t.Context(), locktest.Order)); swept != (sweeper.Swept{}) {
			t.Errorf("swept %+v: its turn has ended before", swept)
		}
		if state := locktest.Must(b.Viewer().Inspect(t.Context(), locktest.Order)); !state.Idle() || !state.LastEviction.Ticket.IsZero() {
			t.Errorf("%+v", state)
		}
		next := locktest.Acquire(t, b, waitpolicy.NoWait, queuelock.Every(time.Hour))
		locktest.Release(t, next)
		time.Sleep(time.Hour + 2*time.Second)
		last := locktest.Acquire(t, a, waitpolicy.NoWait) // it opens the queue itself
		if last.Unsettled() {
			t.Error("the closed entry counts as an eviction")
		}
		locktest.Release(t, last)
		time.Sleep(time.Second)
		if len(evicted) > 0 {
			t.Errorf("events of evictions: %+v", evicted)
		}
	})
}

// TestAtLeastWithOthers checks what else ends, or goes on with, a turn that keeps its queue closed.
func TestAtLeastWithOthers(t *testing.T) {
	locktest.InWatched(t, "OperatorOpens", func(t *testing.T, table *queuelocktest.Table) {
		_, b, _, _, lock := begin(t, table)
		locktest.Release(t, lock)
		locktest.OK(t, b.Operator().Evict(t.Context(), locktest.Order, shown(t, b)))
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.NoWait))
	})
	locktest.InWatched(t, "ResumedLock", func(t *testing.T, table *queuelocktest.Table) {
		a, b, db, begun, lock := begin(t, table)
		db.Partition()
		time.Sleep(time.Second)
		next := locktest.Must(b.Resume(t.Context(), lock.Handle(), waitpolicy.NoWait))
		db.Heal()
		locktest.Release(t, next)
		if _, err := b.Resume(t.Context(), next.Handle(), waitpolicy.NoWait); !errors.Is(err, queuelock.ErrGone) || !strings.Contains(err.Error(), "it was released") {
			t.Errorf("a lock that was released is resumed: %v", err)
		}
		taken(t, locktest.LockBy(t, a), begun, soon)
	})
	locktest.InWatched(t, "ResumedShared", func(t *testing.T, table *queuelocktest.Table) {
		a, da, b := locktest.Pair(t, table, locktest.TenSeconds, "a", "b")
		lock := locktest.Acquire(t, a, waitpolicy.NoWait)
		h := lock.Handle()
		locktest.OK(t, lock.Downgrade(t.Context()))
		da.Partition()
		next := locktest.Must(b.Resume(t.Context(), h, waitpolicy.NoWait, queuelock.HoldAtLeast(atLeast)))
		locktest.Release(t, next)
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.NoWait))
	})
	locktest.InWatched(t, "Permits", func(t *testing.T, table *queuelocktest.Table) {
		_, b, _, begun, lock := begin(t, table, queuelock.Permits(2))
		locktest.Release(t, lock)
		second := locktest.Acquire(t, b, waitpolicy.NoWait, queuelock.Permits(2), queuelock.HoldAtLeast(atLeast))
		locktest.Release(t, second)
		_, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.Permits(2))
		if e, ok := errors.AsType[*queuelock.NotAcquiredError](err); !ok || e.Holders != 2 || e.NotBefore.IsZero() {
			t.Errorf("%+v", err)
		}
		taken(t, locktest.LockBy(t, b, queuelock.Permits(2)), begun, soon)
	})
	locktest.InWatched(t, "EvictedWithOthers", func(t *testing.T, table *queuelocktest.Table) {
		var evicted []event.Evicted
		x, dx, a := locktest.Pair(t, table, locktest.TenSeconds, "x", "a")
		c, _ := locktest.Open(t, table, "c", heard(&evicted))
		locktest.Release(t, locktest.Acquire(t, x, waitpolicy.NoWait, queuelock.Permits(2)))
		crashed := locktest.Acquire(t, x, waitpolicy.NoWait, queuelock.Permits(2))
		dx.Partition()
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.Permits(2), queuelock.HoldAtLeast(time.Second)))
		time.Sleep(time.Minute) // both entries are over, and that of the later ticket is no eviction
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.Permits(2))
		time.Sleep(time.Second)
		if len(evicted) != 1 || evicted[0].Count != 1 || evicted[0].Holder != crashed.Ticket() {
			t.Errorf("events %+v", evicted)
		}
		if mark := locktest.Must(c.Viewer().Inspect(t.Context(), locktest.Order)).LastEviction; mark.Ticket != crashed.Ticket() {
			t.Errorf("the mark is of %+v", mark)
		}
		locktest.Release(t, lock)
	})
	locktest.InWatched(t, "NeverReturned", func(t *testing.T, table *queuelocktest.Table) {
		a, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait))
		held := db.Inject(queuelocktest.HoldResponse().Of("UpdateItem").Times(1))
		ctx, cancel := context.WithCancel(t.Context())
		given := locktest.QueueUp(ctx, a, waitpolicy.Forever, queuelock.HoldAtLeast(atLeast))
		<-held.Reached()
		cancel()
		held.Release()
		locktest.Is(t, (<-given).Err, context.Canceled)
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait))
	})
	locktest.InWatched(t, "AcquireAll", func(t *testing.T, table *queuelocktest.Table) {
		for _, scope := range []ticket.Scope{ticket.ScopeQueue, ticket.ScopeTable} {
			name := scope.String()
			cfg := queuelock.Config{TTL: locktest.TTL, Scope: scope}
			a, _ := locktest.Open(t, table, "a", cfg)
			begun := time.Now()
			all := locktest.Must(a.AcquireAll(t.Context(), locktest.KeysOf(name+"1", name+"2"), waitpolicy.NoWait, queuelock.HoldAtLeast(atLeast)))
			locktest.Release(t, all)
			for _, key := range locktest.KeysOf(name+"1", name+"2") {
				h := locktest.Must(a.Viewer().Inspect(t.Context(), key)).Serving
				if len(h) != 1 || !h[0].Closed || h[0].NotBefore.Before(begun.Add(atLeast)) {
					t.Errorf("%v: %+v", key, h)
				}
			}
		}
	})
	locktest.InWatched(t, "Longest", func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.HoldAtLeast(queue.MaxAtLeast))
		locktest.Says(t, lock.Downgrade(t.Context()), "downgrade", "HoldAtLeast")
		locktest.Check(t, lock.Release(t.Context()))
		if h := shown(t, c); h.Problem != nil || !h.Closed || h.TTL < queue.MaxAtLeast {
			t.Errorf("%+v", h)
		}
	})
}

// TestClosedAtAnUnknownTime checks what an error says of a closed queue whose opening is not known.
func TestClosedAtAnUnknownTime(t *testing.T) {
	refused := func(t *testing.T, c *queuelock.Client, opts []queuelock.AcquireOption, want ...string) {
		t.Helper()
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, opts...)
		locktest.Says(t, err, want...)
		if strings.Contains(err.Error(), "0001") {
			t.Errorf("%q has a time that is none", err)
		}
	}
	locktest.InBubble(t, "WithoutDate", func(t *testing.T) {
		a, b := locktest.Two(t, queuelocktest.NewTable(t, queuelocktest.WithoutDate()), queuelock.Config{}, "a", "b")
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.Every(time.Hour)))
		refused(t, b, nil, ", closed by ticket 1")
	})
	locktest.InBubble(t, "AnotherPermitIsHeld", func(t *testing.T) {
		a, b, c := locktest.Three(t, queuelocktest.NewTable(t), queuelock.Config{}, "a", "b", "c")
		permits := queuelock.Permits(2)
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait, permits, queuelock.Every(time.Hour)))
		locktest.Acquire(t, b, waitpolicy.NoWait, permits)
		refused(t, c, []queuelock.AcquireOption{permits}, "2 of 2 permits in use, closed until 2000-01-01T01:00:0", " by ticket 1 and 1 more")
	})
}

const lockDelay = 7 * time.Second

// TestLockDelayAfterLoss checks that a lost lock keeps its queue closed for its delay.
func TestLockDelayAfterLoss(t *testing.T) {
	for how, options := range locktest.Judged {
		locktest.InTable(t, how, func(t *testing.T, table *queuelocktest.Table) {
			c, db, other := locktest.Pair(t, table, locktest.TenSeconds, "a", "b")
			locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
			lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.LockDelay(lockDelay))
			waiting := locktest.LockBy(t, other)
			time.Sleep(63 * time.Second) // it is renewed, and not at this very instant; the delay stays
			if h := locktest.Must(other.Viewer().Inspect(t.Context(), locktest.Order)).Serving[0]; h.Delay != lockDelay || h.TTL != locktest.TTL || h.Remaining < locktest.TTL/2+lockDelay-2*time.Second || h.Remaining > locktest.TTL+lockDelay+time.Second {
				t.Errorf("Inspect says %+v", h)
			}
			if left := lock.Remaining(); left > locktest.TTL {
				t.Errorf("its own deadline is in %v, and the lease is of %v", left, locktest.TTL)
			}
			renewed := time.Now().Add(lock.Remaining() - 9*time.Second) // the deadline is a lease less a second after it
			db.Partition()
			<-lock.Context().Done()
			if took := time.Since(renewed); took > locktest.TTL || took < locktest.TTL-2*time.Second {
				t.Errorf("the loss was known %v after the last renewal", took)
			}
			time.Sleep(2 * time.Second)
			db.Heal()
			// What the former holder does about its loss does not open the queue.
			locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
			if locked, err := other.IsLocked(t.Context(), locktest.Order); err != nil || !locked {
				t.Errorf("in its delay it is locked: %t, %v", locked, err)
			}
			_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
			locktest.Is(t, err, queuelock.ErrNotAcquired)
			got := <-waiting
			if took := got.At.Sub(renewed); got.Err != nil || took < locktest.TTL+lockDelay-10*time.Millisecond || took > locktest.TTL+lockDelay+locktest.TakenOverWithin {
				t.Fatalf("taken over %v after the last renewal (%v), want %v", took, got.Err, locktest.TTL+lockDelay)
			}
			locktest.Release(t, got.Lock)
		}, options...)
	}
}

// TestLockDelayAfterLateRelease checks that a Release that did not get through in time leaves the delay.
func TestLockDelayAfterLateRelease(t *testing.T) {
	for how, options := range locktest.Judged {
		locktest.InTable(t, how, func(t *testing.T, table *queuelocktest.Table) {
			c, db, other := locktest.Pair(t, table, locktest.TenSeconds, "a", "b")
			locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
			granted := time.Now()
			lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.LockDelay(lockDelay))
			waiting := locktest.LockBy(t, other)
			db.Partition()
			if err := lock.Release(t.Context()); err == nil || errors.Is(err, queuelock.ErrLost) {
				t.Errorf("released without a network: %v", err)
			}
			time.Sleep(time.Until(granted.Add(locktest.TTL + time.Second)))
			db.Heal()
			locktest.Says(t, lock.Release(t.Context()), "lost", "lease of 10s", "delay of 7s")
			locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
			got := <-waiting
			if took := got.At.Sub(granted); got.Err != nil || took < locktest.TTL+lockDelay-10*time.Millisecond || took > locktest.TTL+lockDelay+locktest.TakenOverWithin {
				t.Errorf("taken over %v after the grant (%v), want %v", took, got.Err, locktest.TTL+lockDelay)
			}
		}, options...)
	}
}

// TestLockDelayBounds checks that the bounds of a lock delay are possible, that a released lock has none, and that it
// costs nothing.
func TestLockDelayBounds(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		for _, d := range []time.Duration{0, time.Millisecond, 24 * time.Hour} {
			locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.LockDelay(d)))
		}
		locktest.Sends(t, table, 2, "a cycle", func() {
			locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.LockDelay(time.Hour)))
		})
	})
}

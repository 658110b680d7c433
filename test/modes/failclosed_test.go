package modes_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// confirmed checks that there is one holder, which has no lease.
func confirmed(t *testing.T, table *queuelocktest.Table) { t.Helper(); leaseless(t, table, 1) }

// leaseless checks that there are so many holders, which have no lease.
func leaseless(t *testing.T, table *queuelocktest.Table, want int) {
	t.Helper()
	all := locktest.Entries(table)
	if len(all) != want {
		t.Errorf("%d holders, want %d", len(all), want)
	}
	for _, e := range all {
		if e["failClosed"] == nil || e["ttl"] != nil || e["until"] != nil {
			t.Errorf("%v, want an entry without a lease", e)
		}
	}
}

// takenWithin has another client acquire a lease, and returns how long it took.
func takenWithin(t *testing.T, c *queuelock.Client, most time.Duration) {
	t.Helper()
	begun := time.Now()
	lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(24*time.Hour))
	if took := time.Since(begun); err != nil || took > most {
		t.Fatalf("served after %v, %v, want %v at most", took, err, most)
	}
	locktest.Release(t, lock)
}

func TestNoDeadline(t *testing.T) {
	locktest.InWatched(t, "at all", func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		var lock *queuelock.Lock
		closed := []queuelock.AcquireOption{queuelock.FailClosed(), queuelock.LockDelay(0)}
		if spent := locktest.Cost(table, func() { lock = locktest.Acquire(t, c, waitpolicy.Forever, closed...) }); spent.Sent != 2 || spent.WriteUnits != 2 {
			t.Errorf("an idle lock cost %+v, want two requests", spent)
		}
		confirmed(t, table)
		beats := locktest.Cost(table, func() { time.Sleep(time.Hour) })
		if beats.Sent < 719 || beats.Sent > 801 { // none late, each up to half a second early
			t.Errorf("%d requests in an hour, want a heartbeat each five seconds", beats.Sent)
		}
		db.Partition()
		outage := locktest.Scaled(4*time.Hour, 20*time.Minute)
		time.Sleep(outage)
		if err := lock.Err(); err != nil || lock.Context().Err() != nil || lock.Remaining() != math.MaxInt64 {
			t.Errorf("after %v without a table: %v, %v left", outage, err, lock.Remaining())
		}
		db.Heal()
		locktest.Check(t, lock.Extend(t.Context()))
		h := locktest.Must(c.Viewer().Inspect(t.Context(), locktest.Order)).Serving[0]
		if !h.Endless() || h.TTL != 0 || h.Remaining != math.MaxInt64 || h.Age < time.Hour+outage-time.Second {
			t.Errorf("Inspect says %+v", h)
		}
		if locked, err := c.IsLocked(t.Context(), locktest.Order); err != nil || !locked {
			t.Errorf("%t, %v", locked, err)
		}
		locktest.Sends(t, table, 1, "its release", func() { locktest.Release(t, lock) })
		if lock.Remaining() != 0 || !errors.Is(lock.Err(), queuelock.ErrReleased) {
			t.Errorf("released: %v, %v left", lock.Err(), lock.Remaining())
		}
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
	})
}

// TestCrashedFailClosedHolder checks that a crashed fail-closed holder is not resumed, and that waiters wait until it
// is evicted.
func TestCrashedFailClosedHolder(t *testing.T) {
	for how, options := range locktest.Judged {
		locktest.InTable(t, how, func(t *testing.T, table *queuelocktest.Table) {
			c, db := locktest.Open(t, table, "holder", locktest.TenSeconds)
			other, operator := locktest.Two(t, table, locktest.TenSeconds, "other", "operator")
			lock := locktest.Acquire(t, c, waitpolicy.Forever, queuelock.FailClosed())
			db.Partition()
			_, err := operator.Resume(t.Context(), lock.Handle(), waitpolicy.Forever)
			locktest.Says(t, err, "ticket 1", "without a lease", "evict")
			waiting := locktest.LockBy(t, other)
			for range locktest.Scaled(10, 4) {
				time.Sleep(3 * time.Minute)
				if swept, err := operator.Operator().Sweep(t.Context(), locktest.Order); err != nil || swept.Holders != 0 {
					t.Errorf("swept %+v, %v", swept, err)
				}
				_, err := operator.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
				locktest.Is(t, err, queuelock.ErrNotAcquired)
			}
			locktest.StillWaits(t, "the waiter", waiting)
			locktest.Check(t, lock.Err())
			evicted := time.Now()
			locktest.OK(t, operator.Operator().Evict(t.Context(), locktest.Order, locktest.Shown(t, operator, lock.Ticket())))
			got := <-waiting
			if took := got.At.Sub(evicted); got.Err != nil || took > 1500*time.Millisecond || !lock.Ticket().Less(got.Lock.Ticket()) {
				t.Errorf("served %v after the eviction: %+v", took, got)
			}
			db.Heal()
			<-lock.Context().Done()
			if loss, ok := errors.AsType[*queuelock.LostError](lock.Release(t.Context())); !ok || loss.Cause != heartbeat.Evicted {
				t.Errorf("%v, want evicted", lock.Err())
			}
			locktest.Check(t, got.Lock.Err())
			locktest.Release(t, got.Lock)
		}, options...)
	}
}

// TestEvictedAsItReleases checks that a fail-closed holder that is alive learns of its eviction by its release.
func TestEvictedAsItReleases(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db, operator := locktest.Pair(t, table, locktest.TenSeconds, "a", "operator")
		lock := locktest.Acquire(t, c, waitpolicy.Forever, queuelock.FailClosed())
		locktest.OK(t, operator.Operator().Evict(t.Context(), locktest.Order, locktest.Shown(t, operator, lock.Ticket())))
		db.Inject(queuelocktest.Refuse(queuelocktest.Throttling).Times(2)) // which shows that nothing was done
		db.Inject(queuelocktest.DelayRequest(time.Millisecond))
		for range 2 {
			if loss, ok := errors.AsType[*queuelock.LostError](lock.Release(t.Context())); !ok || loss.Cause != heartbeat.Evicted {
				t.Errorf("%v, want evicted", lock.Release(t.Context()))
			}
		}
	})
}

func TestFailClosedModes(t *testing.T) {
	for name, opt := range map[string]queuelock.AcquireOption{"shared": queuelock.Shared(), "permits": queuelock.Permits(2)} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			c, other := locktest.Two(t, table, locktest.TenSeconds, "a", "b")
			first := locktest.Acquire(t, c, waitpolicy.Forever, opt, queuelock.FailClosed())
			second := locktest.Acquire(t, other, waitpolicy.Forever, opt, queuelock.FailClosed())
			leaseless(t, table, 2)
			locktest.Check(t, c.Operator().Evict(t.Context(), locktest.Order, locktest.Shown(t, c, second.Ticket())))
			time.Sleep(time.Minute)
			if first.Err() != nil || !errors.Is(second.Err(), queuelock.ErrLost) {
				t.Errorf("%v, %v, want that the second was evicted", first.Err(), second.Err())
			}
			locktest.Release(t, first)
		})
	}
}

// TestFailClosedSeveral checks that several fail-closed locks of one call are all confirmed.
func TestFailClosedSeveral(t *testing.T) {
	for _, scope := range []ticket.Scope{ticket.ScopeQueue, ticket.ScopeTable} {
		locktest.InBubble(t, fmt.Sprint("scope ", scope), func(t *testing.T) {
			cfg := locktest.TenSeconds
			cfg.Scope = scope
			table := queuelocktest.NewTable(t)
			c, db, other := locktest.Pair(t, table, cfg, "a", "b")
			keys := []queuelock.Key{{Entity: "x"}, {Entity: "y"}, {Entity: "z"}}
			busy := locktest.Must(other.Acquire(t.Context(), keys[1], waitpolicy.NoWait))
			db.Inject(queuelocktest.LoseResponse().Mentioning(locktest.Confirmation).Times(2))
			done := locktest.Background(func() (*queuelock.Locks, error) {
				return c.AcquireAll(t.Context(), keys, waitpolicy.Forever, queuelock.FailClosed())
			})
			time.Sleep(time.Minute)
			locktest.Release(t, busy)
			locks := locktest.Lock(t, <-done)
			db.Partition()
			time.Sleep(time.Minute)
			leaseless(t, table, 3)
			db.Heal()
			locktest.Check(t, locks.Release(t.Context()))
		})
	}
	locktest.InBubble(t, "one that cannot be taken back", func(t *testing.T) {
		cfg := locktest.TenSeconds
		cfg.Scope = ticket.ScopeTable
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", cfg)
		db.Inject(queuelocktest.SwallowResponse().Mentioning(locktest.Confirmation))
		db.Inject(queuelocktest.LoseRequest().Mentioning("REMOVE holders"))
		_, err := c.AcquireAll(t.Context(), []queuelock.Key{{Entity: "x"}, {Entity: "y"}}, waitpolicy.For(20*time.Second), queuelock.FailClosed())
		if orphan, ok := errors.AsType[*queuelock.UnreleasedError](err); !ok || orphan.Key.Entity != "x" {
			t.Errorf("%v, want an *UnreleasedError of x", err)
		}
	})
}

// TestReleaseUntilAnswered checks that the release of a fail-closed lock is tried until it is answered.
func TestReleaseUntilAnswered(t *testing.T) {
	const releasing = "turn ="
	for name, test := range map[string]struct {
		fault queuelocktest.Fault
		err   bool
	}{
		"responses lost":       {queuelocktest.LoseResponse().Times(4), false},
		"response never comes": {queuelocktest.SwallowResponse().Times(2), false},
		"for minutes":          {queuelocktest.LoseRequest(), true},
		"unheard for minutes":  {queuelocktest.LoseResponse(), true},
	} {
		locktest.InWatched(t, name, func(t *testing.T, table *queuelocktest.Table) {
			c, db, other := locktest.Pair(t, table, locktest.TenSeconds, "a", "other")
			lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
			injected := db.Inject(test.fault.Mentioning(releasing))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			begun := time.Now()
			err := lock.Release(ctx)
			if test.err {
				unreleased, ok := errors.AsType[*queuelock.UnreleasedError](err)
				if took := time.Since(begun); !ok || unreleased.Ticket != lock.Ticket() || took < 5*time.Minute || took > 5*time.Minute+2*time.Second {
					t.Fatalf("after %v: %v", took, err)
				}
				locktest.Says(t, err, "order-7", "release it again", "evict it")
				locktest.Is(t, lock.Err(), queuelock.ErrReleased)
				injected.Remove()
				err = c.Close(t.Context()) // which tries it again
			}
			locktest.Check(t, err)
			locktest.Release(t, lock)
			takenWithin(t, other, time.Second)
		})
	}
	locktest.InTable(t, "the context has ended", func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
		db.Partition()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begun := time.Now()
		if _, ok := errors.AsType[*queuelock.UnreleasedError](lock.Release(ctx)); !ok || time.Since(begun) > 2*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), lock.Err())
		}
		db.Heal()
		locktest.Release(t, lock)
	})
}

// TestLostLockNotRemoved checks that a fail-closed lock that was lost, and could not be removed, is reported: a late TAKE
// may bring its id back. Release may be called again.
func TestLostLockNotRemoved(t *testing.T) {
	locktest.InTable(t, "by its Release", func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "c", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.FailClosed())
		locktest.Evict(t, table, locktest.Order.Entity)
		<-lock.Context().Done()
		db.Partition()
		for range 2 {
			err := lock.Release(t.Context())
			if _, stands := errors.AsType[*queuelock.UnreleasedError](err); !stands || !errors.Is(err, queuelock.ErrLost) {
				t.Errorf("%v", err)
			}
		}
		db.Heal()
		for range 2 {
			err := lock.Release(t.Context())
			if _, stands := errors.AsType[*queuelock.UnreleasedError](err); stands || !errors.Is(err, queuelock.ErrLost) {
				t.Errorf("%v", err)
			}
		}
	})
	locktest.InTable(t, "ByWaitingAcquireAll", func(t *testing.T, table *queuelocktest.Table) {
		c, db, a := locktest.Pair(t, table, locktest.SharedScope, "c", "a")
		held := locktest.AcquireAll(t, a, waitpolicy.NoWait, "b")
		done := locktest.Background(func() (*queuelock.Locks, error) {
			return c.AcquireAll(t.Context(), locktest.KeysOf("a", "b"), waitpolicy.For(5*time.Minute), queuelock.FailClosed())
		})
		time.Sleep(time.Second)
		locktest.Evict(t, table, "a")
		db.Inject(queuelocktest.LoseRequest().Of("UpdateItem").On("a", "").Mentioning("REMOVE").Times(db.Options().Retryer.MaxAttempts()))
		err := (<-done).Err
		if unreleased, ok := errors.AsType[*queuelock.UnreleasedError](err); !ok || unreleased.Key.Entity != "a" {
			t.Errorf("%v", err)
		}
		locktest.Release(t, held)
	})
}

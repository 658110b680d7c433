package modes_test

import (
	"context"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestAcquireAllBesideClosedQueue checks that a call for several locks holds none while one of their queues is closed for long, has
// all soon after that opens, and that a short closing is waited for in its place.
func TestAcquireAllBesideClosedQueue(t *testing.T) {
	for name, cfg := range map[string]queuelock.Config{"one after the other": {}, "a common ticket": locktest.SharedScope} {
		for _, closed := range []string{"a", "b"} {
			locktest.InTable(t, name+", closed is "+closed, func(t *testing.T, table *queuelocktest.Table) {
				open := map[string]string{"a": "b", "b": "a"}[closed]
				a, b, c := locktest.Three(t, table, cfg, "one", "two", "three")
				for _, lasts := range []time.Duration{2 * time.Hour, time.Second} {
					lock := locktest.Must(a.Acquire(t.Context(), queuelock.Key{Entity: closed}, waitpolicy.NoWait, queuelock.HoldAtLeast(lasts)))
					locktest.Release(t, lock)
					opens := time.Now().Add(lasts)
					both := locktest.Background(func() (*queuelock.Locks, error) {
						return b.AcquireAll(t.Context(), locktest.KeysOf("a", "b"), waitpolicy.Forever)
					})
					if lasts > time.Minute {
						time.Sleep(time.Minute)
						begun := time.Now()
						locktest.Release(t, locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: open}, waitpolicy.Forever)))
						if took := time.Since(begun); took > 5*time.Second {
							t.Errorf("%v for a lock that a call holds which waits for another", took)
						}
					}
					got := locktest.Within(t, "both", 3*time.Hour, both)
					locktest.OK(t, got.Err)
					if late := time.Since(opens); late > 10*time.Second {
						t.Errorf("%v after the queue opened", late)
					}
					locktest.OK(t, got.Lock.Release(context.Background()))
				}
			})
		}
	}
}

// TestAcquireAllKeepsItsPlaceAtASecondClosing lets another close the queue again before a call that has waited for it to open. The
// call keeps its new place then, or those that come later would close it before the call for ever.
func TestAcquireAllKeepsItsPlaceAtASecondClosing(t *testing.T) {
	for name, cfg := range map[string]queuelock.Config{"one after the other": {}, "a common ticket": locktest.SharedScope} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			a, b, c := locktest.Three(t, table, cfg, "one", "two", "three")
			const closed = 2 * time.Hour
			turn := func(c *queuelock.Client) {
				locktest.Release(t, locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: "b"}, waitpolicy.Forever, queuelock.HoldAtLeast(closed))))
			}
			turn(a)
			both := locktest.Background(func() (*queuelock.Locks, error) {
				return b.AcquireAll(t.Context(), locktest.KeysOf("a", "b"), waitpolicy.Forever)
			})
			time.Sleep(time.Minute)
			turn(a) // it has waited in the queue, and is served when that opens
			time.Sleep(time.Minute)
			later := locktest.Background(func() (any, error) { turn(c); return nil, nil })
			got := locktest.Within(t, "both", closed+time.Minute, both)
			locktest.OK(t, got.Err)
			locktest.StillWaits(t, "the later one", later)
			locktest.OK(t, got.Lock.Release(context.Background()))
			<-later
		})
	}
}

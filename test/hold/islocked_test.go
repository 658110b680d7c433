package hold_test

import (
	"errors"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestIsLocked checks that IsLocked follows a lock through its life, costs one read, and changes nothing.
func TestIsLocked(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		watcher, db := locktest.Open(t, table, "watcher", queuelock.Config{})
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		is := func(want bool, when string) {
			t.Helper()
			locked := false
			spent := locktest.Cost(db, func() { locked = locktest.Locked(t, watcher) })
			if locked != want || spent.Sent != 1 || spent.ReadUnits != 1 {
				t.Errorf("%s: locked %t for %+v, want %t for one read", when, locked, spent, want)
			}
		}
		is(false, "never used")
		held := locktest.Acquire(t, a, waitpolicy.Forever)
		is(true, "held")
		waiting := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
		time.Sleep(time.Second)
		is(true, "waited for")
		locktest.Release(t, held)
		got := locktest.Lock(t, <-waiting)
		is(true, "handed over")
		locktest.Release(t, got)
		is(false, "released")
		time.Sleep(time.Second) // RESET
		is(false, "idle")
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

// TestIsLockedAfterCrash checks that the crash of a holder unlocks when its lease is over, evicted or not.
func TestIsLockedAfterCrash(t *testing.T) {
	for name, test := range map[string]struct {
		cfg     queuelock.Config
		options []queuelocktest.Option
		watched bool // by a client that has observed it from the start, as it must without a clock
	}{
		"by the clock":               {locktest.TenSeconds, nil, false},
		"by the clock, watched":      {locktest.TenSeconds, nil, true},
		"by observation":             {queuelock.Config{TTL: locktest.TTL, ObserveExpiry: true}, nil, true},
		"by an engine without dates": {locktest.TenSeconds, []queuelocktest.Option{queuelocktest.WithoutDate()}, true},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			a, dbA := locktest.Open(t, table, "a", test.cfg)
			watcher, _ := locktest.Open(t, table, "watcher", test.cfg)
			locktest.Acquire(t, a, waitpolicy.NoWait)
			time.Sleep(3 * locktest.TTL)
			if !locktest.Locked(t, watcher) {
				t.Fatal("a live holder is taken for a dead one")
			}
			dbA.Partition()
			died := time.Now()
			for time.Since(died) < locktest.TTL/2-time.Second { // at least what is left, as leases are renewed at half
				if test.watched && !locktest.Locked(t, watcher) {
					t.Fatalf("dead %v after its last chance to renew", time.Since(died))
				}
				time.Sleep(time.Second)
			}
			time.Sleep(locktest.TTL)
			if test.watched && test.cfg.ObserveExpiry {
				time.Sleep(locktest.TTL) // of watching
			}
			if locktest.Locked(t, watcher) {
				t.Errorf("%v after it died, with a lease of %v, it still holds the lock", time.Since(died), locktest.TTL)
			}
			if n := len(locktest.Must(watcher.Viewer().Inspect(t.Context(), locktest.Order)).Serving); n != 1 {
				t.Errorf("%d holders are left, want that nothing was changed", n)
			}
		}, append(test.options, queuelocktest.WithLatency(time.Millisecond))...)
	}
}

func TestIsLockedRefusals(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		_, err := c.IsLocked(t.Context(), queuelock.Key{Entity: "e", Reason: "a/b"})
		locktest.Says(t, err, `"a/b"`, "slash")
		locktest.SentNothing(t, db)
		locktest.Write(t, table, av.With(locktest.RecordKey(), av.Item{"ticketNumber": av.Str("seven")}))
		is, err := c.IsLocked(t.Context(), locktest.Order)
		if _, malformed := errors.AsType[*queue.MalformedError](err); !malformed || is {
			t.Errorf("a malformed record: %v, %v", is, err)
		}
		db.Partition()
		if is, err := c.IsLocked(limited(t, time.Second), locktest.Order); err == nil || is {
			t.Errorf("without an answer: %v, %v", is, err)
		}
		locktest.OK(t, c.Close(t.Context()))
		_, err = c.IsLocked(t.Context(), locktest.Order)
		locktest.Is(t, err, queuelock.ErrClosed)
	})
}

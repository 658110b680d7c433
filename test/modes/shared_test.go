package modes_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestNoWaitBesideReaders checks how NoWait treats a client that would join the holders.
func TestNoWaitBesideReaders(t *testing.T) {
	locktest.WithWatched(t, func(t *testing.T, table *queuelocktest.Table) {
		a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{})
		b, dbB := locktest.OpenMet(t, table, "b", queuelock.Config{})
		w, _ := locktest.Open(t, table, "w", queuelock.Config{})
		busy := func(what string, requests int, opts ...queuelock.AcquireOption) {
			t.Helper()
			locktest.Sends(t, dbB, requests, what, func() {
				if _, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, opts...); !errors.Is(err, queuelock.ErrNotAcquired) {
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		lock := locktest.Acquire(t, a, waitpolicy.NoWait)
		busy("a reader beside a writer", 1, queuelock.Shared())
		locktest.Release(t, lock)
		reads := locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.Shared())
		joins := locktest.Acquire(t, b, waitpolicy.NoWait, queuelock.Shared())
		busy("a writer beside readers", 1)
		locktest.Release(t, joins)
		writer := locktest.Waiting(t, w)
		busy("a reader behind a writer", 2, queuelock.Shared())
		locktest.Release(t, reads)
		time.Sleep(5 * time.Second)
		locktest.Release(t, locktest.Granted(t, "the writer", writer))
	})
}

// TestStateOfSharedLock checks that the state of a queue lists the holders that share it.
func TestStateOfSharedLock(t *testing.T) {
	locktest.WithWatched(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b, c := locktest.Three(t, table, queuelock.Config{}, "a", "b", "c")
		locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.Shared())
		locktest.Waiting(t, b)
		locktest.Waiting(t, c, queuelock.Shared())
		s, err := a.Viewer().Inspect(t.Context(), locktest.Order)
		if err != nil || s.Permits != 0 || len(s.Serving) != 1 || !s.Serving[0].Shared || len(s.Waiting) != 2 || s.Waiting[0].Shared || !s.Waiting[1].Shared {
			t.Errorf("%+v, %v", s, err)
		}
		permits := queuelock.Key{Entity: "order-7", Reason: "permits"}
		locktest.OK(t, a.Do(t.Context(), permits, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error { return nil }, queuelock.Permits(7)))
		if s, err := a.Viewer().Inspect(t.Context(), permits); err != nil || s.Permits != 7 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

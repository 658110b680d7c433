package faults_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestEngineFailClosed checks that fail-closed locks are kept until they are evicted.
func TestEngineFailClosed(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", locktest.Fast)
		other, _ := locktest.Open(t, table, "b", locktest.Fast)
		patient, _ := locktest.Open(t, table, "c", queuelock.Config{}) // a busy machine may need a second for an answer
		locktest.Release(t, locktest.Acquire(t, patient, waitpolicy.NoWait))
		var lock *queuelock.Lock
		if spent := locktest.Cost(table, func() { lock = locktest.Acquire(t, patient, waitpolicy.NoWait, queuelock.FailClosed()) }); spent.Sent != 2 {
			t.Errorf("an idle lock took %d requests, want 2", spent.Sent)
		}
		if spent := locktest.Cost(table, func() { locktest.Release(t, lock) }); spent.Sent != 1 {
			t.Errorf("its release took %d requests, want 1", spent.Sent)
		}

		// Once more, with answers that are lost, and by the queue.
		held := locktest.Acquire(t, other, waitpolicy.Forever)
		db.Inject(queuelocktest.LoseResponse().Mentioning(locktest.Confirmation).Times(1))
		acquired := make(chan *queuelock.Lock, 1)
		go func() {
			lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever, queuelock.FailClosed())
			if err != nil {
				t.Error(err)
			}
			acquired <- lock
		}()
		locktest.Release(t, held)
		lock = <-acquired
		db.Partition()
		_, err := other.Acquire(t.Context(), locktest.Order, waitpolicy.For(2*locktest.Fast.TTL))
		if !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Fatalf("a dead holder without a lease was passed: %v", err)
		}
		waiting := locktest.QueueUp(t.Context(), other, waitpolicy.Forever)
		shown := locktest.Shown(t, other, lock.Ticket())
		locktest.OK(t, other.Operator().Evict(t.Context(), locktest.Order, shown))
		got := locktest.Lock(t, <-waiting)
		leased := locktest.Shown(t, other, got.Ticket())
		leased.Lease = queue.Lease{FailClosed: true}
		for _, h := range []queue.Holder{shown, leased} {
			if _, refused := errors.AsType[*sweeper.EvictError](other.Operator().Evict(t.Context(), locktest.Order, h)); !refused {
				t.Errorf("ticket %s was evicted", h.Ticket)
			}
		}
		db.Heal()
		<-lock.Context().Done()
		locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
		locktest.Release(t, got)
	})
}

func TestEngineResume(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		a, dbA := locktest.Open(t, table, "a", locktest.Fast)
		b, _ := locktest.Open(t, table, "b", locktest.Fast)
		before := locktest.Acquire(t, a, waitpolicy.NoWait)
		var h queuelock.Handle
		placed := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = a.Acquire(ctx, locktest.Order, waitpolicy.Forever, queuelock.OnHandle(func(place queuelock.Handle) { h = place; close(placed) }))
		}()
		<-placed
		dbA.Partition()
		lock, err := b.Resume(t.Context(), before.Handle(), waitpolicy.NoWait)
		if err != nil || lock.Ticket() != before.Ticket() {
			t.Fatal(lock, err)
		}
		if _, err := b.Resume(t.Context(), before.Handle(), waitpolicy.NoWait); !errors.Is(err, queuelock.ErrGone) {
			t.Errorf("once more: %v", err)
		}
		locktest.Release(t, lock)
		place, err := b.Resume(t.Context(), h, waitpolicy.For(time.Minute))
		if err != nil || place.Ticket() != h.Ticket {
			t.Fatal(place, err)
		}
		locktest.Release(t, place)
		cancel()
	})
}

package acquire_test

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

// TestCancelledWaiter checks that a cancelled or timed out waiter leaves no row.
func TestCancelledWaiter(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
		held := locktest.Acquire(t, holder, waitpolicy.Forever)
		c, _ := locktest.Open(t, table, "waiter", queuelock.Config{})
		for ms := range 60 { // at each moment of the first requests
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(ms)*time.Millisecond)
			_, err := c.Acquire(ctx, locktest.Order, waitpolicy.Forever)
			cancel()
			if !errors.Is(err, queuelock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("after %dms: %v", ms, err)
			}
			_, err = c.Acquire(t.Context(), locktest.Order, waitpolicy.For(time.Duration(ms+1)*time.Millisecond))
			if !errors.Is(err, queuelock.ErrNotAcquired) || errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("wait of %dms: %v", ms+1, err)
			}
			if rows, holders := locktest.RowsAndHolders(t, holder); rows != 0 || holders != 1 {
				t.Fatalf("cancelled after %dms: %d rows and %d holders, want the holder alone", ms, rows, holders)
			}
		}
		if n := len(table.Items()); n != 1 {
			t.Errorf("%d items, want the record alone", n)
		}
		locktest.Release(t, held)
	}, queuelocktest.WithLatency(10*time.Millisecond))
}

// TestCancelledAcquire checks that a cancelled Acquire leaves no orphaned entry.
func TestCancelledAcquire(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db, other := locktest.Pair(t, table, queuelock.Config{}, "a", "b")
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.Forever))
		for ms := range 40 {
			for _, fault := range []queuelocktest.Fault{
				queuelocktest.LoseResponse().Of("UpdateItem").Times(1),
				queuelocktest.SwallowResponse().Of("UpdateItem").Times(1),
				queuelocktest.DelayResponse(500 * time.Millisecond).Of("UpdateItem").Times(1),
				queuelocktest.DelayResponse(0).Times(1),
			} {
				injected := db.Inject(fault)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(ms)*time.Millisecond)
				lock, err := c.Acquire(ctx, locktest.Order, waitpolicy.Forever)
				cancel()
				injected.Remove()
				if err == nil {
					locktest.Release(t, lock)
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("%s, after %dms: %v", fault, ms, err)
				}
				// No client has to wait for a lease to end, and the queue is quiet.
				lock, err = other.Acquire(t.Context(), locktest.Order, waitpolicy.For(time.Second))
				if err != nil {
					t.Fatalf("%s, cancelled after %dms: %v\n%s", fault, ms, err, table.Log())
				}
				locktest.Release(t, lock)
				time.Sleep(time.Second)
				if n := len(table.Items()); n != 1 {
					t.Fatalf("%s, after %dms: %d items, want the record alone", fault, ms, n)
				}
			}
		}
	}, queuelocktest.WithLatency(10*time.Millisecond))
}

// TestServedTooLate checks that an Acquire that is served while its caller gives up returns when its row is gone, too.
func TestServedTooLate(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		first, second := locktest.Two(t, table, queuelock.Config{}, "first", "second")
		c, db := locktest.Open(t, table, "waiter", queuelock.Config{})
		held := locktest.Acquire(t, first, waitpolicy.Forever)
		next := locktest.Waiting(t, second)
		locktest.Release(t, held)
		held = locktest.Lock(t, <-next) // by CLAIM: it reads the next row
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		released := make(chan struct{})
		waiting := locktest.QueueUp(ctx, c, waitpolicy.Forever, queuelock.OnProgress(func(queuelock.Progress) {
			<-released
			time.Sleep(500 * time.Millisecond) // it is granted the lock meanwhile, and awaits this function
			cancel()
		}))
		time.Sleep(time.Second)
		db.Inject(queuelocktest.DelayRequest(500 * time.Millisecond).Of("DeleteItem"))
		locktest.Release(t, held)
		close(released)
		if r := locktest.Must(first.Viewer().Inspect(t.Context(), locktest.Order)).Serving; len(r) != 1 || !r[0].Named {
			t.Fatalf("the waiter is not named: %+v", r)
		}
		if got := <-waiting; !errors.Is(got.Err, context.Canceled) {
			t.Fatalf("got %+v", got)
		}
		if n := len(table.Items()); n != 1 {
			t.Errorf("%d items, want the record alone", n)
		}
	}, queuelocktest.WithLatency(10*time.Millisecond))
}

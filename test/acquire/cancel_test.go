package acquire_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestCancelledWaiter checks that a cancelled or timed out waiter leaves no row. Etcd
// left the keys of cancelled waiters behind.
func TestCancelledWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(10*time.Millisecond))
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
	})
}

// TestCancelledAcquire checks that a cancelled Acquire leaves no orphaned entry.
func TestCancelledAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(10*time.Millisecond))
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		other, _ := locktest.Open(t, table, "b", queuelock.Config{})
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
	})
}

// TestLeaveAfterSwallowedRequest checks that a waiter which leaves repeats a request that was swallowed, and waits for one
// that is slow: neither its row nor its entry is left to its lease, or said to be.
func TestLeaveAfterSwallowedRequest(t *testing.T) {
	for name, lost := range map[string]queuelocktest.Fault{
		"Row":   queuelocktest.SwallowRequest().Of("DeleteItem").Times(1),
		"Entry": queuelocktest.SwallowRequest().Mentioning("REMOVE holders").Times(1),
		"Slow":  queuelocktest.DelayResponse(1500 * time.Millisecond).Mentioning("REMOVE holders"),
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(10*time.Millisecond))
			holder, _ := locktest.OpenMet(t, table, "holder", queuelock.Config{})
			var journal locktest.Journal
			c, db := locktest.OpenMet(t, table, "waiter", queuelock.Config{Logger: journal.Logger()})
			if name == "Row" {
				locktest.Acquire(t, holder, waitpolicy.Forever)
			} else {
				db.Inject(queuelocktest.SwallowResponse().Of("UpdateItem").Times(1)) // of the TAKE
			}
			left := db.Inject(lost)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := c.Acquire(ctx, locktest.Order, waitpolicy.Forever); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			synctest.Wait()
			if left.Fired() == 0 || journal.Says("could not be") {
				t.Errorf("%d requests met the fault; logged that something could not be removed: %t", left.Fired(), journal.Says("could not be"))
			}
			rows, holders := locktest.RowsAndHolders(t, holder)
			if name == "Row" {
				holders--
			}
			if rows != 0 || holders != 0 {
				t.Errorf("%d rows and %d holders are left", rows, holders)
			}
		})
	}
}

// TestLeaveOfRepeatingClient checks that a removal which is refused by its own copy leaves the queue idle, so that the
// next Acquire is one request.
func TestLeaveOfRepeatingClient(t *testing.T) {
	locktest.InBubble(t, "all", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(10*time.Millisecond))
		other, _ := locktest.OpenMet(t, table, "other", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, other, waitpolicy.NoWait))
		db := locktest.Repeating{Client: table.Client("c"), Again: func(in *dynamodb.UpdateItemInput) bool {
			return len(in.ExpressionAttributeValues) == 0 // the removal of an entry
		}}
		c, err := queuelock.New(db, table.Name(), queuelock.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		db.Inject(queuelocktest.SwallowResponse().Of("UpdateItem").Times(1)) // of the TAKE
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Acquire(ctx, locktest.Order, waitpolicy.Forever); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if sent := locktest.Sent(table, func() { locktest.Release(t, locktest.Acquire(t, other, waitpolicy.NoWait)) }); sent != 2 {
			t.Errorf("the next lock and its release took %d requests", sent)
		}
	})
}

// TestAbandonedID checks that an id that was abandoned is never used again. A caller that
// is paused for longer than a lease right after its TAKE was served must not be mistaken
// for its own earlier attempt.
func TestAbandonedID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		var pause atomic.Int64
		a, err := queuelock.New(locktest.Stalling{Client: table.Client("a").Client, Pause: func() time.Duration {
			return time.Duration(pause.Swap(0))
		}}, table.Name(), queuelock.Config{Owner: "a"})
		if err != nil {
			t.Fatal(err)
		}
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait))
		slow := make(chan locktest.Outcome, 1)
		go func() {
			lock, err := a.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
			slow <- locktest.Outcome{Lock: lock, Err: err, At: time.Now()}
		}()
		time.Sleep(time.Millisecond)         // its TAKE is on its way
		pause.Store(int64(65 * time.Second)) // and its answer is looked at much later
		time.Sleep(time.Second)
		if _, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Fatalf("b beside a: %v", err)
		}
		time.Sleep(62 * time.Second)
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.NoWait))
		got := <-slow
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		time.Sleep(time.Second)
		if lock, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); err == nil && got.Lock.Err() == nil {
			t.Errorf("two holders: tickets %s and %s", got.Lock.Ticket(), lock.Ticket())
		}
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestServedTooLate checks that an Acquire that is served while its caller gives up returns when its row is gone, too.
func TestServedTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(10*time.Millisecond))
		holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
		held := locktest.Acquire(t, holder, waitpolicy.Forever)
		c, db := locktest.Open(t, table, "waiter", queuelock.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		waiting := locktest.QueueUp(ctx, c, waitpolicy.Forever)
		time.Sleep(100 * time.Millisecond)
		claim := db.Inject(queuelocktest.HoldResponse().Of("UpdateItem").On(locktest.Order.Entity, "lock/"+ticket.Number{}.Padded()).Times(1))
		db.Inject(queuelocktest.DelayRequest(500 * time.Millisecond).Of("DeleteItem"))
		locktest.Release(t, held)
		<-claim.Reached()
		cancel()
		synctest.Wait()
		claim.Release()
		if got := <-waiting; !errors.Is(got.Err, context.Canceled) {
			t.Fatalf("got %+v", got)
		}
		if n := len(table.Items()); n != 1 {
			t.Errorf("%d items, want the record alone", n)
		}
	})
}

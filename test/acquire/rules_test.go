package acquire_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Rules of the protocol about the order of one client's own requests.

// TestWaiterWithoutRow checks that a waiter without a row does not hold up those of its process that have one.
func TestWaiterWithoutRow(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
		held := locktest.Acquire(t, holder, waitpolicy.Forever)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		stuck := db.Inject(queuelocktest.SwallowRequest().Of("PutItem").On(locktest.Order.Entity, "lock/"+ticket.FromUint64(2).Padded()))
		first := locktest.LockBy(t, c)
		<-stuck.Reached()
		second := locktest.Waiting(t, c)
		locktest.Release(t, held)
		begun := time.Now()
		got := <-second
		if took := got.At.Sub(begun); got.Err != nil || took > 4*time.Second {
			t.Errorf("served after %v: %v", took, got.Err)
		}
		stuck.Remove()
		locktest.Release(t, got.Lock)
		if got := <-first; got.Err != nil {
			t.Error(got.Err)
		}
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

// TestRowCannotBePut checks that a waiter whose row can never be put ends, and keeps no other from looking.
func TestRowCannotBePut(t *testing.T) {
	for seed := range 10 {
		locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
			alice, _ := locktest.Open(t, table, "alice", queuelock.Config{})
			bob, db := locktest.OpenMet(t, table, "bob", queuelock.Config{})
			held := locktest.Acquire(t, alice, waitpolicy.Forever)
			// The first look runs beside the ENQUEUE, and finds no holder: it is held up
			// until the lock is free.
			look := db.Inject(queuelocktest.HoldRequest().Of("GetItem", "Query").Nth(1))
			broken := db.Inject(queuelocktest.Refuse(queuelocktest.InternalError).Of("PutItem"))
			first := locktest.LockBy(t, bob)
			time.Sleep(time.Duration(1+seed) * 100 * time.Millisecond)
			second := locktest.Waiting(t, bob)
			locktest.Release(t, held)
			look.Release()
			begun := time.Now()
			if got := <-first; got.Err == nil || errors.Is(got.Err, queuelock.ErrNotAcquired) || got.At.Sub(begun) > 90*time.Second {
				t.Fatalf("after %v: %v, want the table's error", got.At.Sub(begun), got.Err)
			}
			if got := <-second; got.Err == nil || got.At.Sub(begun) > 90*time.Second {
				t.Fatalf("the second, after %v: %v", got.At.Sub(begun), got.Err)
			}
			broken.Remove()
			locktest.Release(t, locktest.Acquire(t, bob, waitpolicy.For(time.Minute)))
		}, queuelocktest.WithLatency(5*time.Millisecond))
	}
}

// TestPatience checks that the retry timeout counts from the first failure: one after a long stall loses no place.
func TestPatience(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
		held := locktest.Acquire(t, holder, waitpolicy.Forever)
		var pause atomic.Int64
		db := table.Client("stalled", func(o *dynamodb.Options) {
			o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
				// A suspended process stops before or after a request: whatever comes first.
				return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("stall",
					func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
						time.Sleep(time.Duration(pause.Swap(0)))
						defer func() { time.Sleep(time.Duration(pause.Swap(0))) }()
						return next.HandleInitialize(ctx, in)
					}), middleware.Before)
			})
		})
		c := locktest.Must(queuelock.New(db, table.Name(), queuelock.Config{}))
		waiting := locktest.LockBy(t, c)
		time.Sleep(2 * time.Second)
		pause.Store(int64(2 * time.Minute))
		time.Sleep(3 * time.Minute)
		db.Inject(queuelocktest.Refuse(queuelocktest.InternalError).Of("GetItem", "Query").Times(3))
		time.Sleep(time.Minute)
		locktest.Release(t, held)
		if got := <-waiting; got.Err != nil {
			t.Error(got.Err)
		} else {
			locktest.Release(t, got.Lock)
		}
		locktest.Check(t, c.Close(t.Context()))
	})
}

// TestWakeDuringTake lets a lock be released while the answer to the TAKE of the next in line is under way. No release
// wakes a waiter that has not joined the line of its client yet: it looks once.
func TestWakeDuringTake(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.OpenMet(t, table, "c", queuelock.Config{})
		for range 3 { // so that turns of a minute are known
			lock := locktest.Acquire(t, c, waitpolicy.Forever)
			time.Sleep(time.Minute)
			locktest.Release(t, lock)
		}
		first := locktest.Acquire(t, c, waitpolicy.Forever)
		db.Inject(queuelocktest.DelayResponse(time.Second).Of("UpdateItem").Times(1))
		second := locktest.LockBy(t, c)
		time.Sleep(500 * time.Millisecond)
		locktest.Release(t, first)
		locktest.Release(t, locktest.Within(t, "the second", time.Second, second).Lock)
	}, queuelocktest.WithLatency(locktest.RoundTrip))
}

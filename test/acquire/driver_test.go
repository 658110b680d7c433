package acquire_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// await returns once the fault was met.
func await(fault *queuelocktest.Injection) {
	for fault.Fired() == 0 {
		time.Sleep(time.Millisecond) // in the bubble
	}
}

// nothingIsLeft finds no rows and no holders, soon, where no lease has ended.
func nothingIsLeft(t *testing.T, c *queuelock.Client) {
	t.Helper()
	time.Sleep(3 * time.Second)
	if rows, holders := locktest.RowsAndHolders(t, c); rows+holders > 0 {
		t.Errorf("%d rows and %d holders are left", rows, holders)
	}
}

// withSlowTable runs a test with a table that needs a while to answer, so that callers of one client gather in a block.
func withSlowTable(t *testing.T, f func(t *testing.T, table *queuelocktest.Table)) {
	synctest.Test(t, func(t *testing.T) { f(t, queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))) })
}

// bothWays runs a test of calls that may wait together, and of such as wait alone.
func bothWays(t *testing.T, f func(*testing.T, *queuelocktest.Table, ...queuelock.AcquireOption)) {
	for name, opts := range map[string][]queuelock.AcquireOption{"Together": nil, "Alone": {queuelock.WithData([]byte("x"))}} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) { f(t, table, opts...) })
	}
}

// TestLeavesBeforeItsPass checks that a lock is given back which a release of the same client has passed on, where the caller
// gives up before that release is answered: late, or not at all.
func TestLeavesBeforeItsPass(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{"Late": queuelocktest.DelayResponse(time.Second), "Unanswered": queuelocktest.SwallowResponse()} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, table *queuelocktest.Table, opts ...queuelock.AcquireOption) {
				c, network := locktest.OpenMet(t, table, "c", queuelock.Config{})
				other, _ := locktest.OpenMet(t, table, "other", queuelock.Config{})
				held := locktest.Acquire(t, c, waitpolicy.Forever, opts...)
				ctx, cancel := context.WithCancel(t.Context())
				next := locktest.QueueUp(ctx, c, waitpolicy.Forever, opts...)
				time.Sleep(time.Second)
				pass := network.Inject(fault.Of("UpdateItem").Mentioning("released").Times(1))
				released := locktest.Background(func() (any, error) { return nil, held.Release(context.Background()) })
				await(pass)
				cancel()
				t.Cleanup(network.Partition) // a lock that is kept ends, and with it the test
				if locktest.Within(t, "a caller that has left", time.Minute, next).Err == nil {
					t.Error("it holds the lock")
				}
				time.Sleep(4 * time.Second) // the request times out
				nothingIsLeft(t, other)
				<-released
			})
		})
	}
}

// TestSlowGrantEndsInTime checks that a holder whose grant was answered late, and whose network then fails, learns of its loss
// before another is granted the lock.
func TestSlowGrantEndsInTime(t *testing.T) {
	for late := 500 * time.Millisecond; late < 5*time.Second; late += 800 * time.Millisecond {
		bothWays(t, func(t *testing.T, table *queuelocktest.Table, opts ...queuelock.AcquireOption) {
			c, network := locktest.OpenMet(t, table, "c", queuelock.Config{})
			other, _ := locktest.OpenMet(t, table, "other", queuelock.Config{})
			network.Inject(queuelocktest.DelayResponse(late).Of("UpdateItem").Times(1))
			held := locktest.Acquire(t, c, waitpolicy.Forever, opts...)
			network.Partition()
			locktest.Acquire(t, other, waitpolicy.Forever)
			if held.Err() == nil {
				t.Errorf("two holders believe; the first for another %v", held.Remaining())
			}
		})
	}
}

// TestTurnsOfACutOffBlock checks that turns of a block, which one release after the other begins in memory, all end with the lease
// of the block if its client is partitioned.
func TestTurnsOfACutOffBlock(t *testing.T) {
	for _, lasts := range []time.Duration{200 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second} {
		t.Run(lasts.String(), func(t *testing.T) {
			withSlowTable(t, func(t *testing.T, table *queuelocktest.Table) {
				cfg := locktest.TenSeconds
				cfg.Block = 64
				c, network := locktest.OpenMet(t, table, "c", cfg)
				other, _ := locktest.OpenMet(t, table, "other", cfg)
				before := locktest.Acquire(t, other, waitpolicy.Forever)
				var turns []<-chan locktest.Outcome
				for range 30 {
					turns = append(turns, locktest.LockBy(t, c))
					time.Sleep(time.Microsecond)
				}
				time.Sleep(time.Second)
				locktest.Release(t, before)
				locktest.Release(t, (<-turns[0]).Lock)
				time.Sleep(100 * time.Millisecond)
				next := locktest.Waiting(t, other)
				network.Partition()
				for _, turn := range turns[1:] {
					select {
					case <-time.After(20 * time.Second): // none begins after the lease
						locktest.Within(t, "the other", time.Minute, next)
						return
					case own := <-turn:
						if own.Err != nil {
							continue
						}
						time.Sleep(lasts)
						select {
						case <-next:
							if own.Lock.Err() == nil {
								t.Errorf("two holders believe; the first for another %v", own.Lock.Remaining())
							}
							return
						default:
							go func() { _ = own.Lock.Release(context.Background()) }() // it may not be answered
							time.Sleep(10 * time.Millisecond)
						}
					}
				}
			})
		})
	}
}

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

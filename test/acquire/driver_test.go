package acquire_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
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

package docs_test

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestLimitsOfOneQueue compares the formula for the holders of a queue with the constants of the code, and how many
// holders there can be with what a client does.
func TestLimitsOfOneQueue(t *testing.T) {
	const page, kilobyte = "docs/costs.md", 1 << 10
	says(t, page, "size = %d KB + n * (%d bytes + owner + data) at most %d KB",
		constantOf(t, "internal/load", "recordBase")/kilobyte, constantOf(t, "internal/load", "entryBase"), constantOf(t, "internal/load", "maxRecord")/kilobyte)
	says(t, page, "units = n / HeartbeatInterval * size in KB at most %d a second", constantOf(t, "internal/load", "maxUnits"))
	says(t, page, "each holder of `Permits` and `Shared` about %d bytes", constantOf(t, "internal/load", "entryBase"))
	says(t, page, "At most %d holders share a queue", queue.MaxPermits)

	var permits, readers int
	synctest.Test(t, func(t *testing.T) {
		c, _ := locktest.Open(t, newTable(t), "a", queuelock.Config{Owner: "worker-1:12345"})
		for n := 2; n <= queue.MaxPermits; n++ {
			lock, err := c.Acquire(t.Context(), queuelock.Key{Entity: fmt.Sprint(n)}, waitpolicy.NoWait, queuelock.Permits(n))
			if err != nil {
				break
			}
			locktest.Release(t, lock)
			permits = n
		}
		var held []*queuelock.Lock
		for {
			lock, err := c.Acquire(t.Context(), order, waitpolicy.NoWait, queuelock.Shared())
			if err != nil {
				if !errors.Is(err, queuelock.ErrNotAcquired) {
					t.Error(err)
				}
				break
			}
			held = append(held, lock)
		}
		readers = len(held)
		for _, lock := range held {
			locktest.Release(t, lock)
		}
	})
	says(t, page, "With defaults and no data that is about %s permits, and about %s readers with `Shared`",
		benchmark.Decimal(benchmark.TwoDigits(float64(permits)), 0), benchmark.Decimal(benchmark.TwoDigits(float64(readers)), 0))
}

// TestComparisonOfDefaults compares what the comparison says of this library with the defaults, as an hour shows them.
func TestComparisonOfDefaults(t *testing.T) {
	const page = "docs/comparison.md"
	lease, row := leases(t)
	var holds, waits time.Duration
	var idle queuelocktest.Tally
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		a, dbA := locktest.OpenMet(t, table, "a", queuelock.Config{})
		b, dbB := locktest.OpenMet(t, table, "b", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.Forever))
		idle = locktest.Cost(table, func() { locktest.Release(t, locktest.Acquire(t, a, waitpolicy.Forever)) })
		held := locktest.Acquire(t, a, waitpolicy.Forever)
		waiting := locktest.LockBy(t, b)
		time.Sleep(time.Second)
		holds, waits = longestGap(dbA, time.Hour), longestGap(dbB, 10*time.Minute)
		locktest.Release(t, held)
		locktest.Release(t, locktest.Lock(t, <-waiting))
	})
	says(t, page, "| after its lease, %.0f s |", lease.Seconds())
	says(t, page, "Others wait for up to %.0f s", lease.Seconds())
	says(t, page, "| delay others by %.0f s in total |", row.Seconds())
	says(t, page, "| a write each %g s | a write each 5 s |", holds.Seconds())
	says(t, page, "and a write each %g s |", waits.Seconds())
	says(t, page, "| %d + 1 | 2 + 1 |", idle.Sent-1)
	says(t, page, "| by a look, %d ms to %.0f s apart, or a bell |", waitpolicy.Default.Fastest.Milliseconds(), waitpolicy.Default.Slowest.Seconds())
}

// longestGap returns the longest time between two updates of a client, rounded up to half a second.
func longestGap(db *queuelocktest.Client, lasts time.Duration) (longest time.Duration) {
	const step = 500 * time.Millisecond
	count, last := db.Counts()["UpdateItem"].Sent, time.Now()
	for end := last.Add(lasts); time.Now().Before(end); time.Sleep(step / 2) {
		if now := db.Counts()["UpdateItem"].Sent; now != count {
			longest, count, last = max(longest, time.Since(last)), now, time.Now()
		}
	}
	return (longest + step - 1).Truncate(step)
}

// TestCostOfBlocks measures the writes of a turn inside one client. TestBlocks of package acquire has the other figure.
func TestCostOfBlocks(t *testing.T) {
	const claimed, goroutines, turns = 0.17, 8, 100
	says(t, "docs/costs.md", "%d goroutines of one client that take turns without a pause need about %g writes a turn", goroutines, claimed)
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4600*time.Microsecond))
		c, _ := locktest.Open(t, table, "a", queuelock.Config{Block: 64})
		spent := locktest.Cost(table, func() {
			var all sync.WaitGroup
			for range goroutines {
				all.Go(func() {
					for range turns {
						locktest.Release(t, locktest.Acquire(t, c, waitpolicy.Forever))
					}
				})
			}
			all.Wait()
		})
		// How many join a block depends on which goroutine runs first.
		if got := spent.WriteUnits / (goroutines * turns); math.Abs(got-claimed) > claimed/5 {
			t.Errorf("%.3f write units a turn, the page has %g", got, claimed)
		}
	})
}

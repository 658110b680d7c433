package acquire_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestPass bounds the hand-over between goroutines of one client, and its cost: TAKE, ENQUEUE, PASS, which releases
// the lock and grants it to the next, and the delete of the row. Beside long holds the row is renewed as well.
func TestPass(t *testing.T) {
	for _, hold := range []time.Duration{0, 5 * time.Millisecond, time.Second} {
		locktest.InBubble(t, hold.String(), func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))
			c, _ := locktest.OpenMet(t, table, "c", queuelock.Config{})
			const contenders, cycles = 8, 12
			var workers sync.WaitGroup
			var mu sync.Mutex
			var asked []int // the contenders that wait, in the order of their calls
			var releasing time.Time
			var slow int // grants that took more than a request
			before := table.Counts()
			for i := range contenders {
				workers.Go(func() {
					time.Sleep(time.Duration(i) * time.Millisecond)
					for range cycles {
						mu.Lock()
						asked = append(asked, i)
						since := time.Now()
						mu.Unlock()
						lock := locktest.Acquire(t, c, waitpolicy.Forever)
						mu.Lock()
						if asked[0] != i {
							t.Errorf("contender %d was granted the lock before %d", i, asked[0])
						}
						asked = asked[1:]
						if releasing.Sub(since) > 4*locktest.RoundTrip && time.Since(releasing) > locktest.RoundTrip*11/10 {
							slow++ // it may have met a look
						}
						mu.Unlock()
						time.Sleep(hold)
						mu.Lock()
						releasing = time.Now()
						mu.Unlock()
						locktest.Release(t, lock)
					}
				})
			}
			workers.Wait()
			synctest.Wait()
			const turns = contenders * cycles
			cost := table.Counts().Sub(before).Total()
			renewals := hold.Seconds() * contenders / 7 // of the rows
			if requests := float64(cost.Sent) / turns; requests > 4.5+1.5*renewals {
				t.Errorf("%.2f requests a cycle", requests)
			}
			if slow > turns/2 { // those whose look is under way at that time
				t.Errorf("%d of %d hand-overs took more than one request", slow, turns)
			}
		})
	}
}

// TestWakeDuringTake lets a lock be released while the answer to the TAKE of the next in line is under way. No release
// wakes a waiter that has not joined the line of its client yet: it looks once.
func TestWakeDuringTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(locktest.RoundTrip))
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
	})
}

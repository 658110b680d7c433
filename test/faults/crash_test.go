package faults_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// What hurt other locks. The lessons on requests are in test/acquire.

// TestCrashedWaiters checks that any number of crashed waiters cost the waiters behind
// them one lease: that of the holder if it has crashed too, else a waiter's own, which is
// shorter. Redisson's fair lock made those behind dead waiters wait for each of them.
func TestCrashedWaiters(t *testing.T) {
	for name, most := range map[string]time.Duration{"HolderCrashesToo": locktest.TTL, "HolderReleases": locktest.TenSeconds.WaiterTTL} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
			holder, dbHolder := locktest.Open(t, table, "holder", locktest.TenSeconds)
			locktest.Release(t, locktest.Acquire(t, holder, waitpolicy.Forever))
			held := locktest.Acquire(t, holder, waitpolicy.Forever)
			ctx, cancel := context.WithCancel(t.Context())
			var dead []*queuelocktest.Client
			for i := range locktest.Scaled(40, 10) {
				c, db := locktest.Open(t, table, fmt.Sprint("dead-", i), locktest.TenSeconds)
				dead = append(dead, db)
				locktest.QueueUp(ctx, c, waitpolicy.Forever)
				time.Sleep(5 * time.Millisecond)
			}
			alive, _ := locktest.Open(t, table, "alive", locktest.TenSeconds)
			waiting := locktest.QueueUp(t.Context(), alive, waitpolicy.Forever)
			time.Sleep(3 * time.Second)
			for _, db := range dead {
				db.Partition()
			}
			died := time.Now()
			if name == "HolderReleases" {
				locktest.Release(t, held)
			} else {
				dbHolder.Partition()
			}
			got := <-waiting
			if took := got.At.Sub(died); got.Err != nil || took > most+1500*time.Millisecond {
				t.Errorf("served %v after 40 waiters had died (%v), want at most a lease of %v and 1.5s", took, got.Err, most)
			}
			if rows, _ := locktest.RowsAndHolders(t, alive); rows != 0 {
				t.Errorf("%d rows are left", rows)
			}
			cancel()
		})
	}
}

// TestCrashedHolder checks that a crashed holder is taken over without one more lease. Dynamolock and the Java client made
// a newcomer watch a dead holder for one more full lease. Without dates that is needed, and what the first request of a
// process leaves ends the same way.
func TestCrashedHolder(t *testing.T) {
	for _, arrives := range []time.Duration{0, time.Second, locktest.TTL / 2, locktest.TTL - time.Second, 2 * locktest.TTL} {
		for name, opts := range map[string][]queuelocktest.Option{"": nil, " without dates": {queuelocktest.WithoutDate()}} {
			for _, turns := range []int{0, 1} { // before the one in which it crashes
				locktest.InBubble(t, fmt.Sprint("newcomer after ", arrives, ", turns before: ", turns, name), func(t *testing.T) {
					table := queuelocktest.NewTable(t, opts...)
					holder, db := locktest.Open(t, table, "holder", locktest.TenSeconds)
					for range turns {
						locktest.Release(t, locktest.Acquire(t, holder, waitpolicy.Forever))
					}
					locktest.Acquire(t, holder, waitpolicy.Forever)
					db.Partition()
					time.Sleep(arrives)
					newcomer, _ := locktest.Open(t, table, "newcomer", locktest.TenSeconds)
					begun, least, most := time.Now(), locktest.TTL-arrives-time.Second, max(0, locktest.TTL-arrives)
					if opts != nil {
						least, most = locktest.TTL, locktest.TTL
					}
					got := <-locktest.QueueUp(t.Context(), newcomer, waitpolicy.Forever)
					if took := got.At.Sub(begun); got.Err != nil || took < least || took > most+1500*time.Millisecond {
						t.Errorf("taken over after %v, want %v: %v", took, most, got.Err)
					}
				})
			}
		}
	}
}

package faults_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
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

// TestCrashedHolder checks that a crashed holder is taken over without one more lease.
// Dynamolock and the Java client made a newcomer watch a dead holder for one more full
// lease.
func TestCrashedHolder(t *testing.T) {
	for _, arrives := range []time.Duration{0, locktest.TTL / 2, locktest.TTL - time.Second, 2 * locktest.TTL} {
		locktest.InTable(t, fmt.Sprint("newcomer after ", arrives), func(t *testing.T, table *queuelocktest.Table) {
			holder, db := locktest.Open(t, table, "holder", locktest.TenSeconds)
			locktest.Release(t, locktest.Acquire(t, holder, waitpolicy.Forever))
			locktest.Acquire(t, holder, waitpolicy.Forever)
			db.Partition()
			died := time.Now()
			time.Sleep(arrives)
			newcomer, _ := locktest.Open(t, table, "newcomer", locktest.TenSeconds)
			got := <-locktest.QueueUp(t.Context(), newcomer, waitpolicy.Forever)
			if took := got.At.Sub(died); got.Err != nil || took > max(arrives, locktest.TTL)+1500*time.Millisecond {
				t.Errorf("taken over %v after the crash: %v", took, got.Err)
			}
		})
	}
	locktest.InTable(t, "without waiting", func(t *testing.T, table *queuelocktest.Table) {
		holder, db := locktest.Open(t, table, "holder", locktest.TenSeconds)
		locktest.Release(t, locktest.Acquire(t, holder, waitpolicy.Forever))
		locktest.Acquire(t, holder, waitpolicy.Forever)
		db.Partition()
		time.Sleep(locktest.TTL + 2*time.Second)
		newcomer, _ := locktest.Open(t, table, "newcomer", locktest.TenSeconds)
		locktest.Release(t, locktest.Acquire(t, newcomer, waitpolicy.Forever)) // knows the clock by its first answer
	})
}

// TestCrashAtFirstRequest checks that a holder that crashes at its first request is taken
// over. What the very first request of a process leaves is judged by its end, or, where
// no time is to be had, by observation.
func TestCrashAtFirstRequest(t *testing.T) {
	for _, opts := range [][]queuelocktest.Option{nil, {queuelocktest.WithoutDate()}} {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t, opts...)
			holder, db := locktest.Open(t, table, "holder", locktest.TenSeconds)
			locktest.Acquire(t, holder, waitpolicy.Forever)
			db.Partition()
			time.Sleep(time.Second)
			newcomer, _ := locktest.Open(t, table, "newcomer", locktest.TenSeconds)
			begun := time.Now()
			got := <-locktest.QueueUp(t.Context(), newcomer, waitpolicy.Forever)
			if took := got.At.Sub(begun); got.Err != nil || took > locktest.TTL+1500*time.Millisecond || took < locktest.TTL-time.Second {
				t.Errorf("taken over %v after the newcomer came: %v", took, got.Err)
			}
		})
	}
}

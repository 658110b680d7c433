package play_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/leak"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestReleaseEnds checks that a release at a table that does not answer ends a request's time after its caller's context, that another
// one succeeds, and that its error says what ends the lock.
func TestReleaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		db.Partition()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if err := lock.Release(ctx); err == nil || time.Since(begun) > 7*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		locktest.Is(t, lock.Err(), queuelock.ErrReleased)
		db.Heal()
		locktest.OK(t, lock.Release(t.Context()))
	})
}

// TestManyGiveUp lets 2,000 callers give up at once: each hears of it within a second, and nothing is left.
func TestManyGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		held := locktest.Acquire(t, holder, waitpolicy.Forever)
		ctx, cancel := context.WithCancel(t.Context())
		var all []<-chan locktest.Outcome
		for range 2000 {
			all = append(all, locktest.QueueUp(ctx, c, waitpolicy.Forever))
		}
		time.Sleep(10 * time.Second)
		cancel()
		for _, one := range all {
			locktest.Is(t, locktest.Within(t, "a caller", time.Second, one).Err, queuelock.ErrNotAcquired)
		}
		locktest.Release(t, held)
		if rows, holders := locktest.RowsAndHolders(t, holder); rows+holders > 0 {
			t.Errorf("%d rows and %d holders are left", rows, holders)
		}
	})
}

// TestFirstLeavesDuringLook checks that the others of a block go on with the answer to a look whose caller has left.
func TestFirstLeavesDuringLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(20*time.Millisecond))
		holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
		c, db := locktest.OpenMet(t, table, "c", queuelock.Config{Block: 64})
		held := locktest.Acquire(t, holder, waitpolicy.Forever)
		early, leaveEarly := context.WithCancel(t.Context())
		first, leaveFirst := context.WithCancel(t.Context())
		defer leaveFirst()
		alone := locktest.QueueUp(early, c, waitpolicy.Forever)
		time.Sleep(time.Microsecond)
		locktest.QueueUp(first, c, waitpolicy.Forever)
		time.Sleep(time.Microsecond)
		second := locktest.LockBy(t, c)
		time.Sleep(time.Second)
		leaveEarly()
		<-alone
		time.Sleep(time.Second)
		look := db.Inject(queuelocktest.DelayResponse(500 * time.Millisecond).Of("Query"))
		for look.Fired() == 0 {
			time.Sleep(time.Millisecond)
		}
		leaveFirst()
		look.Remove()
		locktest.Release(t, held)
		locktest.Release(t, locktest.Within(t, "the second of the block", 5*time.Second, second).Lock)
	})
}

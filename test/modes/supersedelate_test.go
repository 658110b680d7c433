package modes_test

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestSupersedeShownByAny checks a paused waiter that later tickets have overtaken. One of its group is superseded, whatever
// holders the record shows beside that.
func TestSupersedeShownByAny(t *testing.T) {
	latest, cancels := queuelock.Supersede(), queuelock.Supersede(queuelock.CancelHolder)
	// pause lets a waiter be paused until the holder has released the lock and others have overtaken it.
	pause := func(t *testing.T, table *queuelocktest.Table, opts ...queuelock.AcquireOption) (held *queuelock.Lock, waiting <-chan locktest.Outcome, goOn func()) {
		a, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
		held = locktest.Acquire(t, a, waitpolicy.Forever, opts...)
		paused, db := locktest.Open(t, table, "paused", locktest.TenSeconds)
		waiting = locktest.LockBy(t, paused, append(opts, cancels)...)
		time.Sleep(time.Second)
		db.Partition()
		time.Sleep(2 * locktest.TenSeconds.WaiterTTL)
		return held, waiting, db.Heal
	}
	locktest.InTable(t, "BesideAnotherGroup", func(t *testing.T, table *queuelocktest.Table) {
		b, c := locktest.Two(t, table, locktest.TenSeconds, "b", "c")
		permits := queuelock.Permits(2)
		other := locktest.Acquire(t, b, waitpolicy.Forever, permits)
		held, waiting, goOn := pause(t, table, permits)
		newer := locktest.LockBy(t, b, permits, latest)
		time.Sleep(time.Second)
		plain := locktest.LockBy(t, c, permits)
		time.Sleep(time.Second)
		locktest.Release(t, held)
		deploy := locktest.Within(t, "the newer", time.Minute, newer).Lock
		locktest.Release(t, other)
		locktest.Within(t, "the plain", time.Minute, plain)
		goOn()
		superseded(t, "the paused", waiting)
		time.Sleep(time.Minute)
		if _, asked := deploy.Revocation(); asked {
			t.Error("an older waiter has asked a newer holder to give way")
		}
	})
	locktest.InTable(t, "ClosedQueue", func(t *testing.T, table *queuelocktest.Table) {
		b, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
		held, waiting, goOn := pause(t, table)
		newer := locktest.LockBy(t, b, latest, queuelock.HoldAtLeast(5*time.Minute))
		time.Sleep(time.Second)
		locktest.Release(t, held)
		locktest.Release(t, locktest.Within(t, "the newer", time.Minute, newer).Lock)
		goOn()
		superseded(t, "the paused", waiting)
	})
	locktest.InTable(t, "NotConfirmed", func(t *testing.T, table *queuelocktest.Table) {
		paused, db, b := pair(t, table, locktest.TenSeconds, "paused", "b")
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.Forever))
		confirm := db.Inject(queuelocktest.HoldRequest().LandingAnyway().Mentioning(locktest.Confirmation))
		waiting := locktest.LockBy(t, paused, queuelock.FailClosed(), latest)
		<-confirm.Reached()
		newer := locktest.Acquire(t, b, waitpolicy.Forever, latest)
		confirm.Release()
		confirm.Remove()
		superseded(t, "the one that was too late", waiting)
		locktest.Release(t, newer)
	})
}

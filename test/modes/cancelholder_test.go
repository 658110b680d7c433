package modes_test

import (
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/bells"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// asking counts the requests to give way that a client sends, without what the SDK repeats. It faults none.
func asking(db *queuelocktest.Client) (sent func() int) {
	n := 0
	db.Inject(queuelocktest.LoseRequest().Of("UpdateItem").Where(func(r queuelocktest.Request) bool {
		if r.Attempt == 1 && strings.Contains(r.Expression(), "revoked") {
			n++
		}
		return false
	}))
	return func() int { return n }
}

// TestCancelHolder checks that the latest waiter asks the holder of its group to give way, once, and never fails by that.
func TestCancelHolder(t *testing.T) {
	const attempts = 4 // of the SDK, at DynamoDB
	latest, cancels := queuelock.Supersede(), queuelock.Supersede(queuelock.CancelHolder)
	for name, c := range map[string]struct {
		fault       queuelocktest.Fault
		times, sent int
	}{
		"no fault":       {queuelocktest.DelayRequest(0), 1, 1},
		"response lost":  {queuelocktest.LoseResponse(), attempts, 1},
		"request lost":   {queuelocktest.LoseRequest(), attempts, 2},
		"denied":         {queuelocktest.Refuse("AccessDeniedException"), 2, 3},
		"comes again":    {queuelocktest.Duplicate(3 * time.Second), 1, 1},
		"comes too late": {queuelocktest.LandLate(2 * time.Minute), attempts, 2},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			b, db, a := locktest.Pair(t, table, locktest.TenSeconds, "b", "a")
			held := locktest.Acquire(t, a, waitpolicy.Forever, latest)
			sent := asking(db)
			db.Inject(c.fault.Mentioning("revoked").Times(c.times))
			waiting := locktest.LockBy(t, b, cancels)
			askedWithin(t, held, time.Minute)
			if r, _ := held.Revocation(); r.By != "b" || r.Why != "superseded by ticket 2" || r.At.IsZero() {
				t.Errorf("%+v", r)
			}
			time.Sleep(time.Minute) // many looks
			locktest.StillWaits(t, "the latest", waiting)
			if n := sent(); n != c.sent {
				t.Errorf("%d requests to give way, want %d", n, c.sent)
			}
			locktest.Release(t, held)
			next := locktest.Within(t, "the latest", time.Minute, waiting).Lock
			time.Sleep(2 * time.Minute)
			notAsked(t, next)
			locktest.Release(t, next)
		})
	}
	locktest.InTable(t, "NoWait", func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, locktest.TenSeconds, "a", "b")
		held := locktest.Acquire(t, a, waitpolicy.Forever, latest)
		if _, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, cancels); err == nil {
			t.Error("the lock is busy")
		}
		time.Sleep(time.Minute)
		notAsked(t, held)
		locktest.Release(t, held)
	})
	locktest.InTable(t, "Bell", func(t *testing.T, table *queuelocktest.Table) {
		var hub bells.Hub
		a, _ := belled(t, table, &hub, "a")
		b, _ := belled(t, table, &hub, "b")
		held := locktest.Acquire(t, a, waitpolicy.Forever, latest)
		held.Revoked()
		waiting := locktest.LockBy(t, b, cancels)
		askedWithin(t, held, 2*time.Second)
		locktest.Release(t, held)
		locktest.Release(t, locktest.Within(t, "the latest", time.Minute, waiting).Lock)
	})
}

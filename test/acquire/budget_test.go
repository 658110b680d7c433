package acquire_test

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestPolicyBudget checks what the options cost: nothing at an idle lock, and else one look, which comes before the row with a
// limit, and is not saved for the latest, and one write to ask the holder.
func TestPolicyBudget(t *testing.T) {
	latest := []queuelock.AcquireOption{queuelock.Supersede()}
	cancels := []queuelock.AcquireOption{queuelock.Supersede(queuelock.CancelHolder)}
	for name, c := range map[string]struct {
		opts, holder []queuelock.AcquireOption
		more         int
	}{
		"none": {nil, nil, 0}, "MaxWaiters": {[]queuelock.AcquireOption{queuelock.MaxWaiters(3)}, nil, 1}, "Supersede": {latest, latest, 1},
		"CancelHolder": {cancels, latest, 2}, "CancelHolder of another group": {cancels, nil, 1},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{})
			b, db := locktest.OpenMet(t, table, "b", queuelock.Config{})
			idle := locktest.CostTo(db, func() { locktest.Release(t, locktest.Acquire(t, b, waitpolicy.Forever, c.opts...)) })
			if idle.Sent != 2 || idle.WriteUnits != 2 || idle.ReadUnits != 0 {
				t.Errorf("an idle cycle costs %+v", idle)
			}
			held := locktest.Acquire(t, a, waitpolicy.Forever, c.holder...)
			joins := locktest.CostTo(db, func() {
				locktest.LockBy(t, b, c.opts...)
				time.Sleep(time.Millisecond / 2)
			})
			if joins.Sent != 2+c.more { // TAKE and ENQUEUE; the ticket is the next, so the first look is saved
				t.Errorf("to queue costs %+v, want %d requests", joins, 2+c.more)
			}
			locktest.Release(t, held)
		})
	}
}

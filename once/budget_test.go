package once_test

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestBudget bounds the requests of 200 callers in 20 processes, and the time to the last answer. As locks that are taken one after
// the other they would cost six requests for each caller, and looks. The first time waiters do not know how long it takes.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		name         string
		takes, late  time.Duration
		first, later int
	}{
		{"Second", time.Second, 500 * time.Millisecond, 400, 300},
		{"FiveSeconds", 5 * time.Second, 2 * time.Second, 600, 360},
		{"Minute", time.Minute, 6 * time.Second, 1300, 900},
	} {
		locktest.InBubble(t, c.name, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			f := newFleet(t, table, c.takes)
			all := f.startAll(20)
			for round, most := range []int{c.first, c.later, c.later} {
				begun := time.Now()
				spent := locktest.Cost(table, func() { f.judge(f.run(all, 10)) })
				late := time.Since(begun) - c.takes
				if len(f.computed) != 1 || spent.Sent > most || late > c.late {
					t.Errorf("round %d: %d computed, %+v, the last answer %v late", round, len(f.computed), spent, late)
				}
				t.Logf("%+v, the last answer %v late", spent, late)
				f.computed = nil
				time.Sleep(2 * time.Hour)
			}
		})
	}
}

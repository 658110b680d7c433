package conditions

import (
	"fmt"
	"os"
	"testing"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/testbed/writetest"
	"github.com/queuelock/queuelock/queuelocktest"
)

func TestMain(m *testing.M) { os.Exit(engines.Main(m).Run()) }

// TestEngines sends the write of each story to each engine, with its condition and without it. What becomes of the item
// must be what Apply says: that it is what the write's expressions mean, TestWrites shows of the embedded engine alone.
func TestEngines(t *testing.T) {
	var requests []delivery
	t.Run("Stories", func(t *testing.T) {
		for _, c := range Cases() {
			if c.story == nil {
				continue
			}
			_, d := c.play(t, false)
			requests = append(requests, d)
			if d.write, _ = d.write.Without(c.Condition); len(d.write.If) > 0 {
				requests = append(requests, d)
			}
		}
	})
	t.Run("Engine", func(t *testing.T) {
		locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
			db, fates := table.Client("conditions"), map[clause.Fate]int{}
			for i, d := range requests {
				fates[writetest.Compare(t, table, db, fmt.Sprint(i), d.write, d.names, d.item)]++
			}
			if fates[clause.Applied] < 20 || fates[clause.Refused] < 20 {
				t.Errorf("of %d writes these are the fates: %v", len(requests), fates)
			}
		})
	})
}

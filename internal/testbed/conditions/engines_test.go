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

// TestEngines sends each write that is late to each engine, with its condition and without it. What becomes of the item must
// be what Apply says: that it is what the write's expressions mean, TestWrites shows of the embedded engine alone.
func TestEngines(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		db, fates := table.Client("conditions"), map[clause.Fate]int{}
		for i, c := range Cases() {
			if c.late == nil {
				continue
			}
			writes := []clause.Write{c.late.write}
			if without, _ := c.late.write.Without(c.Condition); len(without.If) > 0 {
				writes = append(writes, without)
			}
			for j, w := range writes {
				fates[writetest.Compare(t, table, db, fmt.Sprint(i, " ", j), w, c.late.names(), c.late.item)]++
			}
		}
		if fates[clause.Applied] < 8 || fates[clause.Refused] < 8 {
			t.Errorf("these are the fates: %v", fates)
		}
	})
}

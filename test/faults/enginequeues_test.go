package faults_test

import (
	"testing"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestEngineQueues checks that a scan finds a table's queues.
func TestEngineQueues(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		for _, entity := range []string{"scan/a", "scan/b", "other"} {
			locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: entity}, waitpolicy.Forever))
		}
		found, units := map[string]int{}, 0.0
		for state, err := range c.Viewer().Queues(t.Context(), queuelock.ScanConfig{Prefix: "scan/", OnPage: func(u float64) { units += u }}) {
			if err != nil {
				t.Fatal(err)
			}
			found[state.Entity] += len(state.Serving)
		}
		if len(found) != 2 || found["scan/a"] != 1 || found["scan/b"] != 1 {
			t.Errorf("found %v", found)
		}
		t.Log(units, "units")
	})
}

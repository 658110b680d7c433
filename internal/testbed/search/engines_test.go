package search

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/testbed/conditions"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/testbed/writetest"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestEngines sends each write of which a search has shown that a condition alone decides, with the condition and without it, to each
// engine. What becomes of the item must be what Apply says.
func TestEngines(t *testing.T) {
	type request struct {
		write clause.Write
		item  clause.Item
	}
	byWorld := map[string][]conditions.Case{}
	for _, c := range conditions.Cases() {
		if c.World != "" {
			byWorld[c.World] = append(byWorld[c.World], c)
		}
	}
	var requests []request
	for _, name := range slices.Sorted(maps.Keys(byWorld)) {
		w := worldNamed(name)
		w.MaxStates = 20_000
		s := newSearch(w, nil)
		s.run(nil)
		keys := slices.SortedFunc(maps.Keys(s.items.applied), func(a, b [2]int32) int {
			return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
		})
		for _, c := range byWorld[name] {
			for _, key := range keys {
				if write, item := s.items.writes[key[0]].Write, s.items.all[key[1]]; write.Name == c.Write && decides(write, c.Condition, item) {
					without, _ := write.Without(c.Condition)
					requests = append(requests, request{write, item}, request{without, item})
					break
				}
			}
		}
	}
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		db, fates := table.Client("search"), map[clause.Fate]int{}
		for i, r := range requests {
			if len(r.write.If) > 0 {
				fates[writetest.Compare(t, table, db, fmt.Sprint(i), r.write, recordNames, r.item)]++
			}
		}
		if fates[clause.Applied] < 40 || fates[clause.Refused] < 40 {
			t.Errorf("of %d writes these are the fates: %v", len(requests), fates)
		}
	})
}

package search

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/testbed/conditions"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/testbed/writetest"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestPlanted leaves out each condition that is needed, and finds a story of that length.
func TestPlanted(t *testing.T) {
	for _, c := range conditions.Cases() {
		if c.World == "" {
			continue
		}
		t.Run(c.Write+"/"+c.Condition, func(t *testing.T) {
			t.Parallel()
			w := worldNamed(c.World)
			w.MaxStates = 1_000_000
			r := Run(w, without(c.Write, c.Condition, ""), nil)
			if !strings.HasPrefix(r.Bad, c.Breaks+":") || r.Steps != c.Steps {
				t.Errorf("in %q it finds %q in %d steps and %d states, want %s in %d:\n%s", c.World, r.Bad, r.Steps, r.States, c.Breaks, c.Steps, r.Story)
			}
			t.Logf("%d steps, %d states: %s", r.Steps, r.States, r.Bad)
		})
	}
}

// decisive returns the conditions that alone decided what became of a write in a search.
func (s *search) decisive() map[[2]string]bool {
	all := map[[2]string]bool{}
	for key := range s.items.applied {
		w := &s.items.writes[key[0]]
		for _, c := range w.Conditions() {
			p := [2]string{w.Name, c}
			if all[p] {
				continue
			}
			all[p] = decides(w.Write, c, s.items.all[key[1]])
		}
	}
	return all
}

// decides reports whether the condition alone decides what becomes of a write.
func decides(w clause.Write, condition string, item clause.Item) bool {
	without, has := w.Without(condition)
	_, fate := without.Apply(recordNames, item)
	_, was := w.Apply(recordNames, item)
	return has && fate != was
}

var (
	explore = flag.Bool("search.explore", false, "look for a story of each condition that is in no list, in all worlds")
	only    = flag.String("search.only", "", "in the worlds with that in their names")
)

// TestExplore looks for what TestPlanted does not know, and fails if it finds a story. A search without a condition can differ only where the condition
// decides what becomes of a write in the search with it.
func TestExplore(t *testing.T) {
	if !*explore {
		t.Skip("\"make spec\" runs it, with -search.explore")
	}
	done, decided := map[[2]string]bool{}, map[[2]string][]string{}
	for _, c := range conditions.Cases() {
		done[[2]string{c.Write, c.Condition}] = c.World != ""
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan bool, 2)
	for _, w := range Worlds() {
		if !strings.Contains(w.Name, *only) {
			continue
		}
		slots <- true
		wg.Go(func() {
			defer func() { <-slots }()
			w.MaxStates = min(*most, 60_000)
			s := newSearch(w, nil)
			s.run(nil)
			for p, is := range s.decisive() {
				mu.Lock()
				skip := !is || done[p]
				if !skip {
					decided[p] = append(decided[p], w.Name)
				}
				mu.Unlock()
				if skip {
					continue
				}
				w.MaxStates = 2 * min(*most, 60_000)
				if r := Run(w, without(p[0], p[1], ""), nil); r.Bad != "" {
					mu.Lock()
					done[p] = true
					mu.Unlock()
					bad, _, _ := strings.Cut(r.Bad, ":")
					t.Errorf("a story that is in no list:\n\t{%q, %q, %q, %q, %d},", p[0], p[1], w.Name, bad, r.Steps)
				}
			}
		})
	}
	wg.Wait()
	for _, c := range conditions.Cases() {
		if p := [2]string{c.Write, c.Condition}; !done[p] {
			fmt.Printf("not found: %q %q, which decides in %q\n", c.Write, c.Condition, decided[p])
		}
	}
}

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

package search

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/conditions"
)

// planted are the conditions without which a search finds that an invariant is broken: the world, the invariant, and the
// number of steps of the shortest story.
var planted = []struct {
	write, condition, world, finds string
	steps                          int
}{
	{"CLAIM", "room", "three", "exclusion", 15},
	{"RESET", "none outstanding", "two turns each", "overtaking", 17},
	{"CLAIM", "not granted", "three", "fencing", 17},
	{"RELEASE", "none outstanding", "three", "overtaking", 6},
	{"RESET", "no holder", "three", "judged", 16},
	{"RELEASE", "holder", "lost", "judged", 11},
	{"HEARTBEAT of a row", "its id", "late", "malformed", 18},
	{"SWEEP", "beat as read", "late", "judged", 18},
	{"CLEAN UP", "one is there", "late and ended", "malformed", 11},
	{"HEARTBEAT", "holder", "copied", "malformed", 9},
	{"HEARTBEAT", "not late", "heartbeats", "judged", 12},
	{"CLAIM", "holders share", "readers", "exclusion", 15},
	{"RELEASE", "alone", "readers", "judged", 7},
}

// TestPlanted leaves out each condition of planted, and finds a story of that length.
func TestPlanted(t *testing.T) {
	for _, c := range planted {
		t.Run(c.write+"/"+c.condition, func(t *testing.T) {
			t.Parallel()
			w := worldNamed(c.world)
			w.MaxStates = 400_000
			r := Run(w, Plant{Write: c.write, Condition: c.condition}, nil)
			if !strings.HasPrefix(r.Bad, c.finds+":") || r.Steps != c.steps {
				t.Errorf("in %q it finds %q in %d steps and %d states, want %s in %d:\n%s", c.world, r.Bad, r.Steps, r.States, c.finds, c.steps, r.Story)
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
			without, _ := w.Write.Without(c)
			_, fate := without.Apply(recordNames, s.items.all[key[1]])
			_, was := w.Write.Apply(recordNames, s.items.all[key[1]])
			all[p] = fate != was
		}
	}
	return all
}

// pairs returns each write and condition, in order.
func pairs() (all [][2]string) {
	seen := map[[2]string]bool{}
	for _, w := range conditions.Shapes() {
		for _, c := range w.Conditions() {
			if p := [2]string{w.Name, c}; !seen[p] {
				seen[p] = true
				all = append(all, p)
			}
		}
	}
	return all
}

var (
	explore = flag.Bool("search.explore", false, "look for a story of each condition that is in no list, in all worlds")
	only    = flag.String("search.only", "", "in the worlds with that in their names")
)

// TestExplore looks for what TestPlanted does not know. A search without a condition can differ only where the condition
// decides what becomes of a write in the search with it.
func TestExplore(t *testing.T) {
	if !*explore {
		t.Skip("only with -search.explore")
	}
	done, decided := map[[2]string]bool{}, map[[2]string][]string{}
	for _, c := range planted {
		done[[2]string{c.write, c.condition}] = true
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
			s := newSearch(w, Plant{})
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
				if r := Run(w, Plant{Write: p[0], Condition: p[1]}, nil); r.Bad != "" {
					mu.Lock()
					done[p] = true
					mu.Unlock()
					bad, _, _ := strings.Cut(r.Bad, ":")
					fmt.Printf("\t{%q, %q, %q, %q, %d},\n", p[0], p[1], w.Name, bad, r.Steps)
				}
			}
		})
	}
	wg.Wait()
	for _, p := range pairs() {
		if !done[p] {
			fmt.Printf("not found: %q %q, which decides in %q\n", p[0], p[1], decided[p])
		}
	}
}

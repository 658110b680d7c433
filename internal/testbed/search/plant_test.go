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
	{"TAKE", "no item", "two turns each", "attempts", 41},
	{"TAKE", "room", "seeds, no wait", "attempts", 48},
	{"TAKE", "counter", "seeds", "malformed", 2},
	{"TAKE that seeds", "no item", "seeds", "fencing", 8},
	{"CLAIM", "room", "three", "exclusion", 15},
	{"CLAIM", "not granted", "three", "fencing", 17},
	{"CLAIM", "holders share", "readers", "exclusion", 15},
	{"CLAIM", "few readers", "few readers", "exclusion", 15},
	{"ENTER", "room", "wide, readers", "attempts", 47},
	{"ENTER", "no item", "wide", "attempts", 41},
	{"ENTER", "first with its ticket", "wide", "malformed", 4},
	{"HEARTBEAT", "holder", "copied", "malformed", 9},
	{"HEARTBEAT", "not late", "heartbeats", "judged", 12},
	{"RELEASE", "holder", "lost", "judged", 12},
	{"RELEASE", "alone", "readers", "judged", 7},
	{"RELEASE", "none outstanding", "three", "overtaking", 6},
	{"RELEASE", "its ticket", "operator, copied, any", "reported", 17},
	{"RESET", "no holder", "three", "judged", 16},
	{"RESET", "none outstanding", "two turns each", "overtaking", 17},
	{"EVICT", "beat as read", "copied, any, ended", "judged", 8},
	{"EVICT of a fail-closed holder", "fail closed", "operator, fail closed", "reported", 17},
	{"CLEAN UP", "one is there", "late and ended", "malformed", 11},
	{"RESUME", "holder", "resumed twice", "resume", 8},
	{"HEARTBEAT of a row", "its id", "late", "malformed", 20},
	{"CLEAN UP of a row", "its id", "resumed twice", "judged", 9},
	{"ENQUEUE", "no row", "copied, ended", "judged", 14},
	{"SWEEP", "beat as read", "late", "judged", 20},
	{"SWEEP", "id as read", "resumed twice", "judged", 20},
	{"RESUME of a row", "no row of another", "resumed twice", "judged", 10},
	{"DOWNGRADE", "holder", "downgrade, copied, any", "malformed", 12},
	{"RESUME", "not downgraded", "downgrade, resumed", "exclusion", 10},
	{"SETDATA", "holder", "data, copied, any", "malformed", 8},
	{"SETDATA", "not late", "data", "late", 7},
	{"SETDATA", "its ticket", "data, copied, any", "ended", 8},
	{"FENCE", "transaction not made", "transaction", "denied", 6},
	{"SETTLE", "transaction not made", "transaction", "reported", 7},
	{"FENCE", "holder", "transaction", "malformed", 10},
	{"FENCE", "no later ticket", "fence", "fence", 9},
	{"DOWNGRADE", "its ticket", "downgrade, copied, any", "ended", 8},
	{"DOWNGRADE", "transaction not made", "transaction, downgrade", "lost", 12},
	{"EVICT", "transactions as read", "transaction, evicted", "reported", 9},
	{"SETTLE", "holder", "transaction, evicted", "malformed", 7},
	{"FENCE", "its ticket", "transaction, cancelled", "fence", 9},
	{"RELEASE", "transaction not made", "transaction, refused", "lost", 14},
	{"SETTLE", "its ticket", "transaction, evicted twice", "reported", 12},
	{"EVICT", "ticket as read", "transaction, evicted twice", "reported", 14},
	{"RESUME", "transactions as read", "transaction, resumed", "reported", 10},
	{"REVOKE", "holder", "asked", "malformed", 9},
	{"REVOKE", "its ticket", "asked, copied, any", "asked", 8},
	{"RESUME", "no request since", "asked, resumed", "asked", 7},
	{"HEARTBEAT", "no later turn", "blocks, heartbeats", "late", 7},
	{"FENCE", "no later turn", "blocks, fence", "fence", 6},
	{"RESUME", "no later turn", "blocks, resumed", "fencing", 7},
	{"ADVANCE", "no later turn", "blocks, fence, late", "late", 7},
	{"ADVANCE", "not late", "blocks, data, copied, any", "late", 9},
	{"ADVANCE", "holder", "blocks, fence, operator", "malformed", 7},
	{"HEARTBEAT", "its ticket", "copied twice, any", "ended", 8},
	{"CONFIRM", "its ticket", "fail closed, copied twice, any", "ended", 9},
	{"RETAKE", "none outstanding", "blocks, retakes, late of three", "overtaking", 8},
	{"RETAKE", "transaction not made", "blocks, retakes, transaction", "lost", 13},
}

// notFound are the other conditions, and why no world needs them. Package conditions has a story for each.
var notFound = map[string][]string{
	"saves a ticket": {
		"TAKE/holders share", "TAKE/few readers", "ENTER/holders share", "ENTER/few readers",
	},
	"needs an item of another program, or of another kind of queue": {
		"TAKE/holders well formed", "TAKE/granted well formed", "TAKE/mode well formed", "TAKE/scope", "TAKE/kind",
		"TAKE/mode known", "ENTER/scope", "ENTER/holders well formed", "ENTER/granted well formed", "ENTER/mode well formed",
		"ENTER/kind", "ENTER/mode known", "SWEEP/there",
	},
	"refuses a second CONFIRM, which would change nothing": {"CONFIRM/not evicted or confirmed"},
	"asks an operator to confirm what was shown":           {"EVICT of a fail-closed holder/no lease"},
	"decides alone in no story of the worlds that were tried": {
		"CLAIM/after the first served", "CLAIM/issued", "PASS/holder", "PASS/its ticket", "PASS/alone", "PASS/not granted",
		"PASS/after the first served", "PASS/issued", "RESUME/no later ticket", "HEARTBEAT/no later ticket", "CONFIRM/holder",
		"CONFIRM/no later ticket", "EVICT of a fail-closed holder/ticket as read", "SETDATA/no later ticket",
		"DOWNGRADE/no later ticket", "DOWNGRADE/alone", "ADVANCE/no later ticket", "RETAKE/holder", "RETAKE/its ticket", "RETAKE/alone",
	},
	"is needed by a longer story than was searched": {
		"RESUME/ticket as read",
		"HEARTBEAT of a row/not late", "ADVANCE/its ticket",
	},
	"is of a write, or of transactions, that are not played": {
		"NUMBER/no item", "NUMBER/counter", "NUMBER that seeds/no item", "RAISE/lower",
		"TAKE that seeds/no counter", "TAKE/no counter",
		"RELEASE/few times", "RELEASE/times as read", "PASS/transaction not made",
		"EVICT of a fail-closed holder/transactions as read",
	},
}

// TestLists finds each condition of each write in one of the lists, and nothing else.
func TestLists(t *testing.T) {
	listed := map[string]int{}
	for _, c := range planted {
		listed[c.write+"/"+c.condition]++
	}
	var all []string
	for _, p := range pairs() {
		all = append(all, p[0]+"/"+p[1])
	}
	inOneList(t, listed, notFound, all)
}

// inOneList checks that each name is in one list, and that the lists have no other: listed counts those that a search needs, and
// others are the reasons why none needs the rest.
func inOneList(t *testing.T, listed map[string]int, others map[string][]string, all []string) {
	t.Helper()
	for _, names := range others {
		for _, name := range names {
			listed[name]++
		}
	}
	for _, name := range all {
		if listed[name] != 1 {
			t.Errorf("%s is in %d lists", name, listed[name])
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("%s is in a list, and is not played or written", name)
	}
}

// TestPlanted leaves out each condition of planted, and finds a story of that length.
func TestPlanted(t *testing.T) {
	for _, c := range planted {
		t.Run(c.write+"/"+c.condition, func(t *testing.T) {
			t.Parallel()
			w := worldNamed(c.world)
			w.MaxStates = 1_000_000
			r := Run(w, without(c.write, c.condition, ""), nil)
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

// TestExplore looks for what TestPlanted does not know, and fails if it finds a story. A search without a condition can differ only where the condition
// decides what becomes of a write in the search with it.
func TestExplore(t *testing.T) {
	if !*explore {
		t.Skip("\"make spec\" runs it, with -search.explore")
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
	for _, p := range pairs() {
		if !done[p] {
			fmt.Printf("not found: %q %q, which decides in %q\n", p[0], p[1], decided[p])
		}
	}
}

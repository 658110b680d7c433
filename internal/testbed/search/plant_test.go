package search

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/conditions"
)

var explore = flag.Bool("search.explore", false, "find the shortest story of each condition in all worlds")

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

var only = flag.String("search.only", "", "worlds")

func TestExplore(t *testing.T) {
	if !*explore {
		t.Skip()
	}
	type found struct {
		world, bad string
		steps      int
		states     int
	}
	best := map[[2]string]found{}
	decided := map[[2]string][]string{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan bool, 2)
	for _, w := range Worlds() {
		if *only != "" && !strings.Contains(w.Name, *only) {
			continue
		}
		slots <- true
		wg.Go(func() {
			defer func() { <-slots }()
			w.MaxStates = 60_000
			for p, is := range decisiveOf(w) {
				mu.Lock()
				_, ok := best[p]
				if is && ok {
					decided[p] = append(decided[p], w.Name)
				}
				mu.Unlock()
				if !is || ok {
					continue
				}
				w.MaxStates = 120_000
				r := Run(w, Plant{Write: p[0], Condition: p[1]}, nil)
				mu.Lock()
				decided[p] = append(decided[p], w.Name)
				if b, ok := best[p]; r.Bad != "" && (!ok || r.States < b.states) {
					best[p] = found{w.Name, r.Bad, r.Steps, r.States}
					fmt.Printf("{%q, %q, %q, %q, %d}, // %d states\n", p[0], p[1], w.Name, r.Bad, r.Steps, r.States)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	fmt.Println("END")
	seen := map[[2]string]bool{}
	for _, w := range conditions.Shapes() {
		for _, c := range w.Conditions() {
			seen[[2]string{w.Name, c}] = true
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(seen), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		b, ok := best[p]
		b.bad, _, _ = strings.Cut(b.bad, "\n")
		if !ok {
			fmt.Printf("NOT %q %q decided in %q\n", p[0], p[1], decided[p])
			continue
		}
		fmt.Printf("{%q, %q, %q, %q, %d}, // %d states\n", p[0], p[1], b.world, b.bad, b.steps, b.states)
	}
}

func decisiveOf(w World) map[[2]string]bool {
	s := newSearch(w, Plant{})
	s.run(nil)
	return s.decisive()
}

package search

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/queuelock/queuelock/queue"
)

// TestExploreTransitions looks for what TestTransitions does not know.
func TestExploreTransitions(t *testing.T) {
	if !*explore {
		t.Skip("\"make spec\" runs it, with -search.explore")
	}
	done, tried := map[[2]queue.Doing]bool{}, map[[2]queue.Doing]int{}
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
			w.MaxStates = 60_000
			for p := range Run(w, Plant{}, nil).Follows {
				mu.Lock()
				skip := done[p] || p[1] == queue.Left || tried[p] > 12
				tried[p]++
				mu.Unlock()
				if skip {
					continue
				}
				w.MaxStates = 150_000
				if r := Run(w, Plant{Skips: true, From: p[0], To: p[1]}, nil); r.Bad != "" && !strings.HasPrefix(r.Bad, "bounds") {
					mu.Lock()
					done[p] = true
					mu.Unlock()
					bad, _, _ := strings.Cut(r.Bad, ":")
					fmt.Printf("\t{queue.%s, queue.%s, %q, %q, %d}, // %d %s\n", p[0], p[1], w.Name, bad, r.Steps, r.States, r.Bad)
				}
			}
		})
	}
	wg.Wait()
	for p := range tried {
		if !done[p] {
			fmt.Printf("not found: %s -> %s\n", p[0], p[1])
		}
	}
}

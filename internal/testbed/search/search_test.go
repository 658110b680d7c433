package search

import (
	"flag"
	"io"
	"os"
	"testing"
)

var (
	most     = flag.Int("search.states", 400_000, "how many states of each world TestWorlds searches; 0: all")
	progress = flag.Bool("search.progress", false, "print the progress of searches")
)

// TestWorlds searches each world.
func TestWorlds(t *testing.T) {
	for _, w := range Worlds() {
		t.Run(w.Name, func(t *testing.T) {
			if w.MaxStates == 0 || *most > 0 && w.MaxStates > *most {
				w.MaxStates = *most
			}
			var to io.Writer
			if *progress {
				to = os.Stderr
			}
			r := Run(w, Plant{}, to)
			all := "of which all were searched"
			if !r.Complete {
				all = "and more"
			}
			t.Logf("%-32s %8d states, %s, depth %d, %.1f s, %.0f/s", w.Name, r.States, all, r.Depth, r.Took.Seconds(), float64(r.States)/r.Took.Seconds())
			if r.Bad != "" {
				t.Errorf("%s\n%s", r.Bad, r.Story)
			}
		})
	}
}

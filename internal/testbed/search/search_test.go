package search

import (
	"flag"
	"io"
	"os"
	"reflect"
	"sync/atomic"
	"testing"
)

var (
	most     = flag.Int("search.states", 20_000, "how many states of each world TestWorlds searches; 0: all")
	progress = flag.Bool("search.progress", false, "print the progress of searches")
)

// enough is how many failed worlds end the search: one mistake fails most of them.
const enough = 3

// TestWorlds searches each world, and checks which of them have More states.
func TestWorlds(t *testing.T) {
	var failed atomic.Int32
	for _, w := range Worlds() {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			if failed.Load() >= enough {
				t.Skipf("%d worlds have failed, and their stories say enough", enough)
			}
			if *most > 0 {
				w.MaxStates = *most
			}
			var to io.Writer
			if *progress {
				to = os.Stderr
			}
			r := Run(w, nil, to)
			all := "all"
			if !r.Complete {
				all = "more"
			}
			t.Logf("%-28s %8d states, %4s  depth %3d  %5.1f s", w.Name, r.States, all, r.Depth, r.Took.Seconds())
			if r.Bad != "" {
				failed.Add(1)
				t.Errorf("%s\n%s", r.Bad, r.Story)
			}
			if *most == States && w.More == r.Complete {
				t.Errorf("it is complete: %v, and the list says that it has more: %v", r.Complete, w.More)
			}
		})
	}
}

func worldNamed(name string) World {
	for _, w := range Worlds() {
		if w.Name == name {
			return w
		}
	}
	panic("search: no world " + name)
}

// TestPlain finds no gaps in a world: what is in them would count.
func TestPlain(t *testing.T) {
	if size, want := sizes(reflect.TypeFor[world]()), reflect.TypeFor[world]().Size(); size != want {
		t.Errorf("a world has %d bytes, and %d of them are in its fields", want, size)
	}
}

// sizes returns how many bytes the fields of a type have.
func sizes(t reflect.Type) (n uintptr) {
	switch t.Kind() {
	case reflect.Array:
		return uintptr(t.Len()) * sizes(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			n += sizes(t.Field(i).Type)
		}
		return n
	}
	return t.Size()
}

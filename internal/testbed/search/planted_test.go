package search

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/testbed/plant"
)

var (
	allOfThem = flag.Bool("search.planted", false, "plant each mistake of the source, and not only the few quick ones")
	oneWorld  = flag.String("search.world", "", "worlds to search in place of the tests, with semicolons between them")
)

// sourceMistake is a mistake in the source of a member, or of the machines in package queue that it uses.
type sourceMistake struct {
	name  string
	world string // in which it is found
	finds string // the invariant
	edits []edit // the first of which is the mistake; the others remove what would hide it
	quick bool   // it is planted without -search.planted
}

// edit replaces a text that is in a file once.
type edit struct{ file, old, new string }

// plantedStates is how many states the search of a mistake has.
const plantedStates = 1_000_000

// TestSourceText checks that each mistake can still be planted: its text is in its file, once, and its world exists.
func TestSourceText(t *testing.T) {
	named := map[string]bool{}
	for _, m := range slices.Concat(sourceMistakes, searchMistakes) {
		if named[m.name] {
			t.Errorf("two mistakes have the name %q", m.name)
		}
		named[m.name] = true
		worldNamed(m.world)
		plant.Check(t, "../../..", m.name, m.planted()...)
	}
}

// planted returns the edits.
func (m *sourceMistake) planted() (all []plant.Edit) {
	for _, e := range m.edits {
		all = append(all, plant.Edit{File: e.file, Old: e.old, New: e.new})
	}
	return all
}

// TestSourceMistakes plants each mistake in a copy of the source, and finds it in a world.
func TestSourceMistakes(t *testing.T) {
	plantAll(t, slices.DeleteFunc(slices.Clone(sourceMistakes), func(m sourceMistake) bool { return !m.quick && !*allOfThem }))
}

// plantAll plants mistakes, at most two at a time.
func plantAll(t *testing.T, mistakes []sourceMistake) {
	root := locktest.Must(filepath.Abs("../../.."))
	slots := make(chan bool, 2)
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			slots <- true
			defer func() { <-slots }()
			r := m.search(t, root)
			if !strings.HasPrefix(r.Bad, m.finds+":") {
				t.Errorf("in %q it finds %q in %d states, want %s:\n%s", m.world, r.Bad, r.States, m.finds, r.Story)
			}
			t.Logf("%s: %d steps, %d states: %s", m.world, r.Steps, r.States, r.Bad)
		})
	}
}

// search builds the search with the mistake, and runs it.
func (m *sourceMistake) search(t *testing.T, root string) (r Result) {
	binary := filepath.Join(t.TempDir(), "search.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay", plant.Overlay(t, root, m.planted()...), "-o", binary, "./internal/testbed/search")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("it does not build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, binary, "-search.world", m.world, "-search.states", fmt.Sprint(plantedStates))
	run.Dir = filepath.Join(root, "internal/testbed/search")
	out, err := run.CombinedOutput()
	_, text, ok := strings.Cut(string(out), "RESULT ")
	if !ok {
		t.Fatalf("it has no result: %v\n%.3000s", errors.Join(err, ctx.Err()), out)
	}
	locktest.OK(t, json.NewDecoder(strings.NewReader(text)).Decode(&r))
	return r
}

// TestMain runs the tests, or searches worlds for TestSourceMistakes, up to the first violation, and prints what it has found. A member
// that panics is found too.
func TestMain(m *testing.M) {
	flag.Parse()
	if *oneWorld == "" {
		os.Exit(engines.Main(m).Run())
	}
	var r Result
	for name := range strings.SplitSeq(*oneWorld, ";") {
		w := worldNamed(strings.TrimSpace(name))
		w.MaxStates = *most
		if r = runOrPanic(w); r.Bad != "" {
			break
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	fmt.Printf("RESULT %s\n", text)
}

func runOrPanic(w World) (r Result) {
	defer func() {
		if v := recover(); v != nil {
			r.Bad = fmt.Sprintf("panic: %v", v)
		}
	}()
	return Run(w, nil, nil)
}

package search

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

var update = flag.Bool("update", false, "write the transcripts as they are played")

// TestTranscripts plays each transcript, and compares what happens with what it says.
func TestTranscripts(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(names) < 9 {
		t.Fatalf("%d transcripts, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			want := locktest.Must(os.ReadFile(name))
			got, err := playAll(string(want))
			locktest.OK(t, err)
			if *update && got != string(want) {
				locktest.OK(t, os.WriteFile(name, []byte(got), 0o644))
				return
			}
			a, b := strings.Split(got, "\n"), strings.Split(string(want), "\n")
			for i := range max(len(a), len(b)) {
				if i >= len(a) || i >= len(b) || a[i] != b[i] {
					t.Fatalf("line %d is not what happens, which is:\n%s", i+1, got)
				}
			}
		})
	}
}

// kinds are the words for clients in a transcript.
var kinds = map[string]Client{
	"one": {Turns: 4}, "reader": {Turns: 4, Mode: reader.Mode}, "permit": {Turns: 4, Mode: permit.Mode},
	"keeper": {Turns: 4, Keeps: true}, "second slice": {Turns: 1, Resumes: true, From: 1, Keeps: true},
	"third slice": {Turns: 1, Resumes: true, From: 2, Keeps: true},
	"quick":       {Turns: 4, NoWait: true}, "closed": {Turns: 4, FailClosed: true},
	"downgrader": {Turns: 4, Downgrades: true}, "updater": {Turns: 4, Updates: 9}, "writer": {Turns: 4, Writes: 9},
	"block": {Turns: 3, Block: 3, Fences: 9}, "trio": {Turns: 3, Block: 3}, "pair": {Turns: 4, Block: 2}, "gather": {Turns: 1, Block: 3, With: &Client{Turns: 2}},
}

// worldOf reads the line of a transcript that says what is played, such as "world: one, one; names".
func worldOf(line string) (w World, err error) {
	clients, options, _ := strings.Cut(strings.TrimPrefix(line, "world:"), ";")
	for name := range strings.SplitSeq(clients, ",") {
		c, ok := kinds[strings.TrimSpace(name)]
		if !ok {
			return w, fmt.Errorf("no client is called %q", name)
		}
		w.Clients = append(w.Clients, c)
	}
	for option := range strings.FieldsSeq(options) {
		switch option {
		case "names":
			w.Names = true
		case "retakes":
			w.Retakes = true
		case "wide":
			w.Wide = true
		case "half":
			w.Half = true
		default:
			return w, fmt.Errorf("no option is called %q", option)
		}
	}
	w.Faults = Faults{9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}
	return w, nil
}

// playAll plays a transcript, and returns it with what happens. Its lines are
//
//   - "#" and text for people,
//   - "world:", the clients A, B and so on, and options,
//   - steps, in the words of a story,
//   - indented: what follows from the step.
func playAll(script string) (string, error) {
	var s *search
	var w world
	var b strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, " "):
			continue
		case line == "", strings.HasPrefix(line, "#"):
			fmt.Fprintln(&b, line)
			continue
		case strings.HasPrefix(line, "world:"):
			of, err := worldOf(line)
			if err != nil {
				return "", err
			}
			s = newSearch(of, nil)
			w = s.start()
			fmt.Fprintln(&b, line)
			continue
		case s == nil:
			return "", fmt.Errorf("%q comes before the world", line)
		}
		next, err := s.play(&w, line, &b)
		if err != nil {
			return "", err
		}
		w = next
	}
	return b.String(), nil
}

func (s *search) play(w *world, line string, b *strings.Builder) (world, error) {
	all, _ := s.moves(w, nil)
	for i := range s.Clients {
		all = append(all, move{kind: sleeps, i: int8(i)})
	}
	k := slices.IndexFunc(all, func(m move) bool { return s.nameMove(w, m) == line })
	if k < 0 {
		var names []string
		for _, m := range all {
			names = append(names, s.nameMove(w, m))
		}
		return *w, fmt.Errorf("%q cannot happen here, but:\n  %s", line, strings.Join(names, "\n  "))
	}
	fmt.Fprintln(b, line)
	s.log = func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); text != line {
			fmt.Fprintln(b, text)
		}
	}
	next, ok := s.follow(w, all[k])
	s.log = nil
	if !ok {
		fmt.Fprintln(b, "    nothing has changed")
		return *w, nil
	}
	s.check(&next)
	if s.bad != "" {
		return *w, fmt.Errorf("after %q: %s", line, s.bad)
	}
	return next, nil
}

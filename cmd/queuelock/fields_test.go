package main

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestJSONFields compares the fields in the help of each command that prints JSON with what it prints. A queue in which a
// holder and a waiter have crashed has all of them.
func TestJSONFields(t *testing.T) {
	e := newEngine(t)
	invoke(t, "run", "x", "--once", "10m", "--", "true").prints(t, 0, "") // from now on, a result and the length of a turn are known
	overtaken := e.failClosed(t, queuelock.Key{Entity: "x"})
	invoke(t, "evict", "x", "--ticket", "2").ends(t, 0) // from now on, a loss is known
	e.crashed(t, "x")
	e.occupied(t, "busy")
	invoke(t, "revoke", "busy", "--why", "all fields", "--after", "1h").ends(t, 0)
	invoke(t, "revoke", "x", "--why", "all fields", "--after", "1h").ends(t, 0)
	evicted := e.failClosed(t, queuelock.Key{Entity: "payroll"})
	for _, args := range []string{
		"status x -o json", "ls -q -o json", "history x --for 1s --json", "sweep x --dry-run --json",
		"doctor --json", "revoke payroll --json", "evict payroll --ticket 1 --json", "run busy --progress json -w 0.2 --keep 1m --ticket " + filepath.Join(t.TempDir(), "ticket") + " -- true",
	} {
		words := strings.Fields(args)
		o := invoke(t, words...)
		printed := map[string]bool{}
		for _, text := range []string{o.stdout, o.stderr} {
			for decoder := json.NewDecoder(strings.NewReader(text)); strings.HasPrefix(text, "{") && decoder.More(); {
				var object map[string]any
				locktest.OK(t, decoder.Decode(&object))
				keysOf(object, "", printed)
			}
		}
		help := invoke(t, "help", words[0]).stdout
		if strings.Contains(help, "or null; or null") {
			t.Errorf("%s: null is named twice", args)
		}
		described := described(t, help)
		for _, absent := range []string{"results.advice", "message"} { // where there is nothing to say
			printed[absent] = printed[absent] || described[absent]
			if !described[absent] {
				delete(printed, absent)
			}
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(described)), slices.Sorted(maps.Keys(printed))); diff != "" || len(printed) < 4 {
			t.Errorf("%s: the help and what is printed (+) differ:\n%s\n%+v", args, diff, o)
		}
	}
	for _, lock := range []*queuelock.Lock{evicted, overtaken} {
		locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
	}
	if lock, run := invoke(t, "help", "lock").stdout, described(t, invoke(t, "help", "run").stdout); !maps.Equal(described(t, lock), run) {
		t.Errorf("the help of lock has other fields than that of run:\n%s", lock)
	}
}

// keysOf adds the names of all fields that a value has, with those of the objects that they are in.
func keysOf(value any, path string, all map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			all[path+name] = true
			keysOf(inner, path+name+".", all)
		}
	case []any:
		for _, inner := range v {
			keysOf(inner, path, all)
		}
	}
}

// described returns the names of the fields that a help text describes, in the same form.
func described(t *testing.T, text string) map[string]bool {
	t.Helper()
	all, line := map[string]bool{}, regexp.MustCompile(`^ {6}( {0,4})([a-z_0-9]+) +\S`)
	var path []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if !strings.HasPrefix(paragraph, "    ") {
			continue
		}
		for l := range strings.Lines(paragraph) {
			found := line.FindStringSubmatch(l)
			if found == nil {
				if strings.Count(l, " ") > 0 && regexp.MustCompile(`^ {6,10}\S`).MatchString(l) {
					t.Errorf("a field has no meaning: %q", l)
				}
				continue
			}
			depth := len(found[1]) / 2
			path = append(path[:depth], found[2])
			all[strings.Join(path, ".")] = true
		}
	}
	return all
}

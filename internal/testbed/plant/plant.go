// Package plant plants mistakes in a copy of the library's source, and runs tests with them: one that cannot fail shows nothing.
package plant

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Edit replaces a text that is in a file once. The path of the file begins at the root of the repository.
type Edit struct{ File, Old, New string }

// Check checks that each text is in its file, once.
func Check(t *testing.T, root, name string, edits ...Edit) {
	t.Helper()
	for _, e := range edits {
		source, err := os.ReadFile(filepath.Join(root, e.File))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n := strings.Count(string(source), e.Old); n != 1 {
			t.Errorf("%s: %s has %d places for the mistake, not one:\n%s", name, e.File, n, e.Old)
		}
	}
}

// Overlay writes the source with the edits, and returns the file with which the Go command uses it.
func Overlay(t *testing.T, root string, edits ...Edit) string {
	t.Helper()
	dir, sources := t.TempDir(), map[string]string{}
	for _, e := range edits {
		path := filepath.Join(root, e.File)
		if sources[path] == "" {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sources[path] = string(source)
		}
		if n := strings.Count(sources[path], e.Old); n != 1 {
			t.Fatalf("%s has %d places for the mistake, not one: bring the list up to date", e.File, n)
		}
		sources[path] = strings.Replace(sources[path], e.Old, e.New, 1)
	}
	replace := map[string]string{}
	for path, source := range sources {
		replace[path] = filepath.Join(dir, fmt.Sprint(len(replace), ".go"))
		write(t, replace[path], []byte(source))
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	write(t, overlay, text)
	return overlay
}

// Found runs a test, given by its package and name, with the edits in the source. It must fail.
func Found(t *testing.T, root, test string, edits ...Edit) {
	t.Helper()
	pkg, name, _ := strings.Cut(test, " ")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-overlay", Overlay(t, root, edits...), "-run", "^"+name+"$", pkg)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "QUEUELOCK_ENGINES=embedded")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--- FAIL: "+name) {
		t.Fatalf("%s did not find the mistake: %v\n%.3000s", test, err, out)
	}
	t.Logf("found by %s", test)
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

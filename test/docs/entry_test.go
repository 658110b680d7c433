package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

const module = "github.com/queuelock/queuelock"

// TestExamples finds an Example in each public package, and each call of README's table of needs in some Example. What the
// pages show is found by TestGoSnippets.
func TestExamples(t *testing.T) {
	var all strings.Builder
	for _, dir := range publicPackages(t) {
		found := false
		for _, name := range locktest.Must(filepath.Glob(filepath.Join(root, dir, "example*_test.go"))) {
			text := string(locktest.Must(os.ReadFile(name)))
			found = found || strings.Contains(text, "\nfunc Example")
			all.WriteString(text)
		}
		if !found {
			t.Errorf("package %s has no Example", importPath(dir))
		}
	}
	_, table, _ := strings.Cut(read(t, "README.md"), "| need | call | page |")
	table, _, _ = strings.Cut(table, "\n\n")
	calls := 0
	for row := range strings.SplitSeq(strings.TrimSpace(table), "\n") {
		for _, call := range regexp.MustCompile("`[a-z.]*([A-Z][A-Za-z.]*)`").FindAllStringSubmatch(strings.Split(row, "|")[2], -1) {
			calls++
			name := call[1][strings.LastIndexByte(call[1], '.')+1:]
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(all.String()) {
				t.Errorf("no Example has %s, of README's row %s", call[1], row)
			}
		}
	}
	if calls < 10 {
		t.Errorf("README's table of needs has %d calls", calls)
	}
}

// publicPackages are the directories of the module's packages that users import.
func publicPackages(t *testing.T) (dirs []string) {
	t.Helper()
	dirs = []string{"."}
	entries := locktest.Must(os.ReadDir(root))
	for _, e := range entries {
		if slices.Contains([]string{"bench", "cmd", "docs", "examples", "internal", "test"}, e.Name()) {
			continue
		}
		sources, _ := filepath.Glob(filepath.Join(root, e.Name(), "*.go"))
		_, err := os.Stat(filepath.Join(root, e.Name(), "go.mod"))
		if len(sources) > 0 && err != nil {
			dirs = append(dirs, e.Name())
		}
	}
	return dirs
}

// TestCross finds the command and each package that users import in what "make cross" vets.
func TestCross(t *testing.T) {
	list := exec.Command("sh", "internal/tools/cross.sh", "list")
	list.Dir = root
	out := locktest.Must(list.Output())
	vetted := strings.Fields(string(out))
	for _, dir := range append(publicPackages(t), "cmd/queuelock", "otelqueuelock") {
		if !slices.Contains(vetted, importPath(dir)) {
			t.Errorf("cross.sh does not vet %s", importPath(dir))
		}
	}
}

func importPath(dir string) string { return strings.TrimSuffix(module+"/"+dir, "/.") }

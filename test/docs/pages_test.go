// Package docs_test compares README.md and docs/ with the code, and writes the
// parts of them that are generated:
//
//	go test ./test/docs -update
package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/docpages"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// root is the module's directory.
const root = docpages.Root

// page is one document.
type page struct {
	name  string // from the module's directory
	lines []string
}

// pages reads the pages of the module's directory, action/, docs/ and examples/.
func pages(t *testing.T) []page {
	t.Helper()
	all := []page{readPage(t, "docs/spec/README.md")}
	for _, name := range []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "action/README.md"} {
		all = append(all, readPage(t, name))
	}
	for _, pattern := range []string{"docs/*.md", "examples/README.md", "examples/*/README.md", "examples/*/*/README.md"} {
		names := locktest.Must(fs.Glob(os.DirFS(root), pattern))
		for _, name := range names {
			all = append(all, readPage(t, name))
		}
	}
	return all
}

func readPage(t *testing.T, name string) page {
	t.Helper()
	return page{name, strings.Split(read(t, name), "\n")}
}

// read returns a file of the module.
func read(t *testing.T, name string) string {
	t.Helper()
	return docpages.Read(t, name)
}

// generated compares a generated text with the file, or writes the file.
func generated(t *testing.T, name, want string) {
	t.Helper()
	docpages.Generated(t, name, want)
}

// snippet is a fenced block of a page.
type snippet struct {
	where, language string
	lines           []string // without indentation
}

func snippets(t *testing.T) []snippet {
	t.Helper()
	var all []snippet
	for _, p := range pages(t) {
		inside := false
		for i, line := range p.lines {
			language, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
			switch {
			case fence && !inside:
				inside = true
				all = append(all, snippet{where: fmt.Sprintf("%s:%d", p.name, i+1), language: language})
			case fence:
				inside = false
			case inside:
				last := &all[len(all)-1]
				last.lines = append(last.lines, strings.TrimSpace(line))
			}
		}
		if inside {
			t.Errorf("%s ends inside a fenced block", p.name)
		}
	}
	return all
}

// files visits the module's files with the suffix, except those of hidden directories.
func files(t *testing.T, under, suffix string, visit func(name, text string)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, under), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && len(entry.Name()) > 2 && strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".github":
			return filepath.SkipDir
		case !entry.IsDir() && strings.HasSuffix(path, suffix):
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			visit(filepath.ToSlash(name), read(t, name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sources joins the files that files visits.
func sources(t *testing.T, under, suffix string) string {
	t.Helper()
	var all strings.Builder
	files(t, under, suffix, func(_, text string) { all.WriteString(text) })
	return all.String()
}

// goFiles returns the files of a package, without those of its tests.
func goFiles(t *testing.T, dir string) []string {
	t.Helper()
	all := locktest.Must(filepath.Glob(filepath.Join(root, dir, "*.go")))
	all = slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	if len(all) == 0 {
		t.Fatalf("there is no package %q", dir)
	}
	return all
}

// TestTables finds a row of dashes below the first row of each table, and in each row as many cells as in the first.
// Without them a page shows the bars.
func TestTables(t *testing.T) {
	bars := func(line string) int { return strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") }
	dashes := regexp.MustCompile(`^\|[-:| ]+\|$`)
	for _, p := range pages(t) {
		fenced, first := false, ""
		for i, line := range p.lines {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			switch isRow := strings.HasPrefix(line, "|") && !fenced; {
			case !isRow:
				first = ""
			case first == "" && !dashes.MatchString(docpages.At(p.lines, i+1)):
				t.Errorf("%s:%d: the row has no heading", p.name, i+1)
			case first == "":
				first = line
			case bars(line) != bars(first):
				t.Errorf("%s:%d: the row has %d bars, its heading %d", p.name, i+1, bars(line), bars(first))
			}
		}
	}
}

// says fails unless the page has the text, wherever its lines break. A test that makes the text from values of the code
// fails when the code changes and the page does not.
func says(t *testing.T, page, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	if !strings.Contains(folded(read(t, page)), folded(text)) {
		t.Errorf("%s does not say %q", page, text)
	}
}

// folded returns the text with one space for each run of blanks and line ends.
func folded(text string) string { return strings.Join(strings.Fields(text), " ") }

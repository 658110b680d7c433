// Package docpages reads the pages of the module for tests, and writes what is generated in them:
//
//	go test ./test/docs ./test/replays -update
package docpages

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated parts of the documentation")

// Root is the module's directory, from a package of the tests.
const Root = "../.."

// Read returns a file of the module.
func Read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Generated compares a generated text with the file, or writes the file.
func Generated(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.Join(Root, name), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, lines := strings.Split(Read(t, name), "\n"), strings.Split(want, "\n")
	for i := range max(len(got), len(lines)) {
		was, is := At(got, i), At(lines, i)
		if was != is {
			t.Errorf("%s:%d is %q, and the code gives %q. `make docs` writes the page", name, i+1, was, is)
			return
		}
	}
}

// At returns the i-th line, or nothing.
func At(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// end is the mark after each generated part.
const end = "<!-- end generated -->\n"

// Between returns the page with text between the mark begin and the next end.
func Between(t *testing.T, page, begin, text string) string {
	t.Helper()
	before, rest, begins := strings.Cut(page, begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("it has no marks around what is generated: %q, %q", begin, end)
	}
	return before + begin + text + end + after
}

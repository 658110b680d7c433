package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// banned are the words that the documentation and the code do without, each with
// what to write instead.
var banned = []struct{ word, instead string }{
	{`reckon\w*`, "compute, count"},
	{`anew`, "again"},
	{`whoever|whose ?ever`, "a noun: the holder, a waiter, the client"},
	{`(those|ones?|everybody|anybody|all) who`, "a noun: the holder, a waiter, the client"},
	{`(nobody|somebody)('s)?`, "no client, another client, an operator"},
	{`told|tells`, "reports, returns, receives"},
	{`stands? (in|there|at|beside|alone|on)`, "is"},
	{`(stand|stands|stood|standing) still`, "is paused"},
	{`at the (least|most)`, "at least, at most"},
	{`the dead( (of|that|do|are|were|ahead|cost|go|left|in|who|and|or|may|will|would|have)|[.,;:)]|$)`, "crashed holders, expired rows"},
	{`ghosts?`, "orphaned entry"},
	{`cuts? off|cutting off`, "partitioned"},
	{`in passing`, "transiently"},
	{`for good`, "permanently"},
}

// allowed are the exceptions: a file, and what its line holds.
var allowed = []struct{ file, line string }{
	// The name of a chance decides its draws: another name would change what a
	// seed means.
	{"internal/testbed/sim/node.go", `^"stands still at "$`},
	// Program text in which a mistake is planted.
	{"internal/testbed/sim/mutants_test.go", `n\.nobody\(\)`},
}

var bannedWords = func() *regexp.Regexp {
	var all []string
	for _, b := range banned {
		all = append(all, `\b(?:`+b.word+`)`)
	}
	return regexp.MustCompile(`(?i)(?:` + strings.Join(all, "|") + `)(?:\W|$)`)
}()

// isBanned returns the first banned words of a line.
func isBanned(file, line string) (string, bool) {
	found := bannedWords.FindString(line)
	if found == "" {
		return "", false
	}
	for _, a := range allowed {
		if a.file == file && regexp.MustCompile(a.line).MatchString(line) {
			return "", false
		}
	}
	return found, true
}

// TestWordsOfPages finds no banned word in README.md, CHANGELOG.md and docs/.
func TestWordsOfPages(t *testing.T) {
	for _, p := range pages(t) {
		for i, line := range p.lines {
			if found, is := isBanned(p.name, line); is {
				t.Errorf("%s:%d: %q: %s", p.name, i+1, found, line)
			}
		}
	}
}

// notYet counts the lines with banned words of the packages that still have some.
// Counts only fall: `make docs` writes the file after a package was improved.
// Tests are listed apart from their packages.
const notYet = "test/docs/testdata/banned.txt"

// TestWordsOfCode finds no banned word in comments and string literals, beyond
// those that notYet counts.
func TestWordsOfCode(t *testing.T) {
	found := map[string][]string{}
	files(t, ".", ".go", func(name, text string) {
		pkg := path.Dir(name)
		if strings.HasSuffix(name, "_test.go") {
			pkg += " (tests)"
		}
		if name == "test/docs/words_test.go" || path.Dir(name) == "internal/tools/words" {
			return // they must contain the words
		}
		for where, line := range prose(t, name, text) {
			if words, is := isBanned(name, line); is {
				found[pkg] = append(found[pkg], where+": "+words+": "+line)
			}
		}
	})
	if *update {
		var list strings.Builder
		for _, pkg := range slices.Sorted(maps.Keys(found)) {
			fmt.Fprintf(&list, "%d %s\n", len(found[pkg]), pkg)
		}
		generated(t, notYet, list.String())
		return
	}
	known := map[string]int{}
	for line := range strings.Lines(read(t, notYet)) {
		var n int
		if _, err := fmt.Sscan(line, &n); err != nil {
			t.Fatal(err)
		}
		_, pkg, _ := strings.Cut(strings.TrimSpace(line), " ")
		known[pkg] = n
		if len(found[pkg]) == 0 {
			t.Errorf("%s has no banned words any more: take it out of %s", pkg, notYet)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		if len(found[pkg]) > known[pkg] {
			slices.Sort(found[pkg])
			t.Errorf("%s has %d lines with banned words, %d are known:\n%s", pkg, len(found[pkg]), known[pkg], strings.Join(found[pkg], "\n"))
		}
	}
}

// prose returns the lines of a file's comments and string literals by place.
func prose(t *testing.T, name, text string) map[string]string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	add := func(pos token.Pos, text string) {
		at := set.Position(pos)
		for line := range strings.Lines(text) {
			lines[at.String()] = strings.TrimSpace(line)
			at.Line++
		}
	}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			add(comment.Pos(), comment.Text)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			add(literal.Pos(), literal.Value)
		}
		return true
	})
	return lines
}

// TestIsBanned checks the expressions themselves.
func TestIsBanned(t *testing.T) {
	for line, want := range map[string]bool{
		"The dead do not add up.":                 true,
		"the dead holder's lease is over":         false,
		"its end is reckoned":                     true,
		"#id stands for an id":                    false,
		"it stands in the table":                  true,
		"somebody else holds the lock":            true,
		"for goods and services":                  false,
		"a notable word; retold":                  false,
		"those who wait":                          true,
		"the waiters that have not been granted.": false,
	} {
		if _, got := isBanned("x.go", line); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

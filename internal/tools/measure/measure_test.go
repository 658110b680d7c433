package main

import (
	"go/types"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// code is a package with one of everything that is counted.
const code = `// Package a is the root: short; and sweet.
package a

// T is a type of four words.
type T struct {
	A, B int
	error
	c struct{ d, e int }
}

// The limits.
const (
	X = 1 // first
	Y = 2
	z = 3
)

// Do does it, see https://example.org.
func (t *T) Do(n int) {
	if n > 0 && n < 9 || n == 10 { // 4
		func() {
			for range n { // 5
			}
		}()
	}
	switch n {
	case 1, 2: // 6
	default:
	}
	select {
	case <-make(chan int): // 7
	default:
	}
}

func plain() {}

type G[K, V any] struct{}

func (G[K, V]) Undocumented() {}
`

func parse(t *testing.T, files map[string]string) []source {
	t.Helper()
	sources := locktest.Must(parseTree(tree(files)))
	return sources
}

func tree(files map[string]string) fstest.MapFS {
	fs := fstest.MapFS{}
	for name, text := range files {
		fs[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fs
}

func TestCounts(t *testing.T) {
	s := parse(t, map[string]string{"a.go": code})[0]
	words, marks := prose(s)
	for _, c := range []struct {
		name      string
		got, want []count
	}{
		{"Complexities", complexities(s), []count{{"a.T.Do", 7}, {"a.plain", 1}, {"a.G.Undocumented", 1}}},
		{"Structs", structs(s), []count{{"a.T", 4}, {"a.G", 0}}},
		{"DocWords", docWords(s), []count{{"a.T", 7}, {"a.X", 3}, {"a.Y", 0}, {"a.T.Do", 5}, {"a.G", 0}, {"a.G.Undocumented", 0}}},
		{"Prose", []count{{"words", words}, {"marks", marks}}, []count{{"words", 27}, {"marks", 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !slices.Equal(c.got, c.want) {
				t.Errorf("got %v, want %v", c.got, c.want)
			}
		})
	}
}

// TestEmbeddedMethods checks that the methods of an unexported type count if an exported struct embeds it.
func TestEmbeddedMethods(t *testing.T) {
	const code = "package a\n\ntype T struct{ base }\n\ntype base struct{}\n\nfunc (b *base) Do() {}\n\ntype other struct{}\n\nfunc (other) Do() {}\n"
	s := parse(t, map[string]string{"a.go": code})[0]
	if got, want := docWords(s), []count{{"a.T", 0}, {"a.base.Do", 0}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSource(t *testing.T) {
	const notParsed = "not parsed"
	want, files := map[string]string{
		"a.go":                     "library product public",
		"a_test.go":                "",
		"b/b.go":                   "library product public",
		"cmd/c/main.go":            "product",
		"queuelocktest/d.go":       "product public",
		"internal/e/e.go":          "library product",
		"internal/testbed/f/f.go":  "",
		"internal/g/testdata/g.go": notParsed,
		".tools/h.go":              notParsed,
	}, map[string]string{}
	for name := range want {
		files[name] = "package a"
	}
	for _, s := range parse(t, files) {
		var in []string
		for what, is := range map[string]bool{"library": s.inLibrary(), "product": s.inProduct(), "public": s.isPublic()} {
			if is {
				in = append(in, what)
			}
		}
		slices.Sort(in)
		if got := strings.Join(in, " "); got != want[s.name] {
			t.Errorf("%s is %q, want %q", s.name, got, want[s.name])
		}
		delete(want, s.name)
	}
	for name, is := range want {
		if is != notParsed {
			t.Errorf("%s was not parsed", name)
		}
	}
}

func TestMeasure(t *testing.T) {
	files := tree(map[string]string{
		"a.go":      code,
		"a_test.go": "package a\n",
		"README.md": "# A\n\nIt went\nfor" + " good.\n",
	})
	sources := locktest.Must(parseTree(files))
	rows := locktest.Must(measure(files, sources))
	got := map[string]int{}
	for _, r := range rows {
		got[r.name] = r.value
	}
	for name, want := range map[string]int{
		"Go files in the root package":            2,
		"cyclomatic complexity of a function":     7,
		"words of documentation per symbol, root": 5,
		"README lines": 4,
		"README words": 6,
		"banned words in code, comments and docs":           1,
		"colons and semicolons per 1,000 words of comments": 74,
		"lines of Go in the library":                        strings.Count(code, "\n"),
		"lines of tests":                                    1,
		"methods of a type of the library":                  1,
	} {
		if is, found := got[name]; !found || is != want {
			t.Errorf("%s: %d, want %d", name, is, want)
		}
	}
}

func TestWrite(t *testing.T) {
	var out strings.Builder
	wrong := write(&out, []row{
		largest("complexity", []count{{"f", 9}, {"g", 3}, {"h", 11}}),
		{name: "banned", value: 1},
		{name: "words", value: 7},
		{name: "lines", value: 979},
		{name: "files", value: 981},
		{name: "bytes", value: 1049, room: 5},
		{name: "calls", value: 931, room: 5},
	}, map[string]int{"complexity": 8, "banned": 0, "lines": 1000, "files": 1000, "bytes": 1000, "calls": 1000}, 1)
	if wrong != 3 {
		t.Errorf("%d values are wrong, want 3", wrong)
	}
	for _, want := range []string{"complexity  11     8      exceeded", "words       7      -", "lines       979    1000   lower the limit to 979\n", "11  h\n", "and 1 more"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestMixed(t *testing.T) {
	s := parse(t, map[string]string{"a.go": "package a\n\nfunc f(mode int) { retry.Do(offer, mode) }\n\nfunc g(mode int) { retry.Do(mode) } // offer\n"})[0]
	if got, want := mixed(s, 2), []count{{"a.f", 3}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRanIn(t *testing.T) {
	sources := parse(t, map[string]string{"a.go": "package a", "b/b.go": "package b", "b/c.go": "package b", "b/d.go": "package b", "cmd/e.go": "package main"})
	profile := "mode: atomic\n"
	for _, line := range []string{"a.go:1.2,3.4 1 0", "a.go:4.2,5.4 1 7", "b/b.go:1.2,3.4 2 10", "b/b.go:4.2,5.4 2 1", "b/c.go:1.2,3.4 1 1", "b/d.go:1.2,3.4 1 0", "cmd/e.go:1.2,3.4 1 1"} {
		profile += module + "/" + line + "\n"
	}
	if got, want := ranIn(profile, sources), []count{{".", 1}, {"b", 2}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestTyped finds a function that sends by what it calls, and internal types by the package of their name.
func TestTyped(t *testing.T) {
	var all []checked
	for _, files := range []map[string]string{
		{"internal/requests/a.go": `package requests

type T struct{}

type A = []int

type sdk interface{ PutItem() error }

func Send() error { return db.PutItem() }

func Evict() error { return Send() }

func Get() {}

var db sdk
`},
		{"queue/a.go": `package queue

import "github.com/queuelock/queuelock/internal/requests"

type M struct{}

func (M) Step(map[string]*requests.T) {}

func F(f func() error) (a requests.A) { return nil }

func G(chan int) {
	requests.Get()
	for requests.Send() != nil {
		F(func() error { return requests.Evict() })
	}
	F(func() error { M{}.Step(nil); return nil })
	func() { requests.Evict() }()
}
`},
	} {
		checked := locktest.Must(check(tree(files), parse(t, files), imports{all}))
		all = append(all, checked...)
	}
	for i, want := range []int{3, 2, 2} {
		if r := typed(all)[i]; r.value != want {
			t.Errorf("%s: %d, want %d", r.name, r.value, want)
		}
	}
}

// imports has packages that were checked.
type imports struct{ of []checked }

func (i imports) Import(string) (*types.Package, error) { return i.of[0].pkg, nil }

// TestLimits checks that each limit is that of a row.
func TestLimits(t *testing.T) {
	sources := parse(t, map[string]string{"a.go": code})
	rows := locktest.Must(measure(tree(map[string]string{"README.md": ""}), sources))
	rows = slices.Concat(rows, typed(nil), played(nil, nil, 0, 0))
	for name := range limits {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.name == name }) {
			t.Errorf("no row %q", name)
		}
	}
}

package main

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
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
	sources, err := parseTree(tree(files))
	if err != nil {
		t.Fatal(err)
	}
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
	got := map[string]string{}
	for _, s := range parse(t, map[string]string{
		"a.go":                     "package a",
		"a_test.go":                "package a",
		"b/b.go":                   "package b",
		"cmd/c/main.go":            "package main",
		"queuelocktest/d.go":       "package d",
		"internal/e/e.go":          "package e",
		"internal/testbed/f/f.go":  "package f",
		"internal/g/testdata/g.go": "package g",
		".tools/h.go":              "package h",
	}) {
		var in []string
		for what, is := range map[string]bool{"library": s.inLibrary(), "product": s.inProduct(), "public": s.isPublic()} {
			if is {
				in = append(in, what)
			}
		}
		slices.Sort(in)
		got[s.name] = strings.Join(in, " ")
	}
	for name, want := range map[string]string{
		"a.go":                    "library product public",
		"a_test.go":               "",
		"b/b.go":                  "library product public",
		"cmd/c/main.go":           "product",
		"queuelocktest/d.go":      "product public",
		"internal/e/e.go":         "library product",
		"internal/testbed/f/f.go": "",
	} {
		if is, found := got[name]; !found || is != want {
			t.Errorf("%s is %q, want %q", name, is, want)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("parsed as well: %v", got)
	}
}

func TestMeasure(t *testing.T) {
	files := tree(map[string]string{
		"a.go":      code,
		"a_test.go": "package a\n",
		"README.md": "# A\n\nIt went\nfor" + " good.\n",
	})
	sources, err := parseTree(files)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := measure(files, sources)
	if err != nil {
		t.Fatal(err)
	}
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
	exceeded := write(&out, []row{
		largest("complexity", []count{{"f", 9}, {"g", 3}, {"h", 11}}, 8),
		{name: "banned", value: 1, zero: true},
		{name: "words", value: 7},
	}, 1)
	if exceeded != 2 {
		t.Errorf("%d limits exceeded, want 2", exceeded)
	}
	for _, want := range []string{"complexity  -        11     8      exceeded", "words       -        7      -", "11  h\n", "and 1 more"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestShares checks that a part of the algorithm outside of its room is seen.
func TestShares(t *testing.T) {
	tree := fstest.MapFS{
		"queue/a.go":    {Data: []byte("package queue\n\nvar a = clause.Write{If: nil}\nvar b = clause.Write{Name: \"x\", Do: nil}\n\nfunc f(d *D) { d.Do = ActionWait }\n")},
		"internal/a.go": {Data: []byte("package internal\n\nvar a = clause.Write{Item: nil}\nvar b = clause.Write{Repeat: 1}\nvar c, _ = serving.Evict(s.Slowest)\n")},
		"sweeper/a.go":  {Data: []byte("package sweeper\n\nvar a, b, c = rows.Sweep(), serving.Evict(), other.Evict()\n")},
	}
	sources, err := parseTree(tree)
	if err != nil {
		t.Fatal(err)
	}
	want := []int{66, 100, 0, 66, 0}
	for i, r := range shares(sources) {
		if r.value != want[i] {
			t.Errorf("%s: %d, want %d", r.name, r.value, want[i])
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

// TestThen checks that each earlier value is shown beside a row.
func TestThen(t *testing.T) {
	sources := parse(t, map[string]string{"a.go": code})
	rows, err := measure(tree(map[string]string{"README.md": ""}), sources)
	if err != nil {
		t.Fatal(err)
	}
	for name := range then {
		named := func(r row) bool { return r.name == name }
		if !slices.ContainsFunc(append(rows, played(nil, nil, 0, 0)...), named) {
			t.Errorf("no row %q", name)
		}
	}
}

package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/testbed/search"
)

const specPage = "docs/spec/README.md"

// TestSpecNames finds the names of the code that the page of the searches has.
func TestSpecNames(t *testing.T) {
	declared := declarations(t)
	for i, line := range readPage(t, specPage).lines {
		for _, name := range regexp.MustCompile("`([A-Za-z]+\\.[A-Za-z.]+)`").FindAllStringSubmatch(line, -1) {
			known := declared[name[1]] || strings.HasSuffix(name[1], ".txt") || name[1] == "clause.Write.Apply"
			if !known {
				t.Errorf("%s:%d: the code has no %s", specPage, i+1, name[1])
			}
		}
	}
}

// TestLifeNames finds the functions of the life of an acquire, each in the package that the page says.
func TestLifeNames(t *testing.T) {
	declared, found := declarations(t), 0
	_, section, _ := strings.Cut(read(t, protocolPage), "## The life of a contended acquire\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.SplitSeq(section, "\n") {
		in := ""
		if row := regexp.MustCompile("^\\| `([a-z]+)` \\|").FindStringSubmatch(line); row != nil {
			in = row[1] + "."
		}
		for _, name := range regexp.MustCompile("`([A-Za-z]+\\.[A-Za-z.]+)`").FindAllStringSubmatch(line, -1) {
			first, _, _ := strings.Cut(name[1], ".")
			if found++; !declared[in+name[1]] && (!declared["package "+first] || !declared[name[1]]) {
				t.Errorf("%s: the code has no %s%s", protocolPage, in, name[1])
			}
		}
	}
	if found < 60 {
		t.Errorf("found %d names", found)
	}
}

// TestSpecFigures compares the figures of the page with the lists that they count.
func TestSpecFigures(t *testing.T) {
	fewest, most := 9, 0
	for _, w := range search.Worlds() {
		fewest, most = min(fewest, len(w.Clients)), max(most, len(w.Clients))
	}
	worlds := len(search.Worlds())
	says(t, specPage, "A *world* has %d to %d clients", fewest, most)
	says(t, specPage, "`Worlds` lists %d of them", worlds)
	more := 0
	for _, w := range search.Worlds() {
		if w.More {
			more++
		}
	}
	says(t, specPage, "searches up to %s states of each world. %d worlds are complete then. The other %d",
		separated(search.States), worlds-more, more)
	for _, name := range constantsOf(t, "search", "Fault") {
		says(t, specPage, "`%s`", name)
	}

	counts := mistakeCounts(t)
	says(t, specPage, "`TestPlanted` leaves out %d conditions of writes, one at a time, and `TestChanges` %d changes", counts["planted"], counts["TestChanges"])
	says(t, specPage, "`TestMistakes` plants %d mistakes", counts["searchMistakes"])
	says(t, specPage, "`TestSourceMistakes` plants %d mistakes", counts["sourceMistakes"])
	says(t, specPage, "`TestLeaseMistakes` plants %d mistakes", counts["TestLeaseMistakes"])

	makefile := read(t, "Makefile")
	target := func(name string) string {
		_, rest, _ := strings.Cut(makefile, "\n"+name+":")
		rule, _, _ := strings.Cut(rest, "\n\n")
		return rule
	}
	number := func(rule, flag string) string {
		found := regexp.MustCompile(flag + ` (\d+)`).FindStringSubmatch(rule)
		if found == nil {
			t.Fatalf("the Makefile has no %s in %q", flag, rule)
		}
		return found[1]
	}
	if got := matched(t, makefile, `(?m)^STATES\s+\?= (\d+)$`); separated(search.States) != commas(got) {
		t.Errorf("make spec searches %s states, and search.States is %d", got, search.States)
	}
	says(t, specPage, "`make spec` sends %s heartbeats, `make spec-full` %s", number(target("spec"), "-heartbeat.beats"), number(target("spec-full"), "-heartbeat.beats"))
	transcripts := locktest.Must(fs.Glob(os.DirFS(filepath.Join(root, dirNamed(t, "search"))), "testdata/*.txt"))
	says(t, specPage, ": %d stories to read", len(transcripts))
	_, shown, _ := strings.Cut(read(t, specPage), "```text\n")
	shown, _, _ = strings.Cut(shown, "```")
	if !strings.HasSuffix(read(t, path.Join(dirNamed(t, "search"), "testdata/pause-before-claim.txt")), shown) {
		t.Errorf("pause-before-claim.txt does not end with what %s shows", specPage)
	}
}

// TestSpecChecks finds each check of the search in the table of the page, and no other.
func TestSpecChecks(t *testing.T) {
	checked := map[string]bool{}
	for _, name := range regexp.MustCompile(`"([a-z]+): `).FindAllStringSubmatch(checksOf(t), -1) {
		checked[name[1]] = name[1] != "bounds" // of the search's own arrays
	}
	_, table, _ := strings.Cut(read(t, specPage), "| check | what must hold |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := 0
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			t.Errorf("%s: %q has no two cells", specPage, line)
			continue
		}
		names := regexp.MustCompile("`([a-z]+)`").FindAllStringSubmatch(cells[1], -1)
		for _, name := range names {
			if !checked[name[1]] {
				t.Errorf("%s: the search does not check %s", specPage, name[1])
			}
			delete(checked, name[1])
		}
		rows += min(len(names), 1)
	}
	for name, is := range checked {
		if is {
			t.Errorf("%s does not have the check %s", specPage, name)
		}
	}
	if rows < 20 {
		t.Errorf("%s has %d rows of checks", specPage, rows)
	}
}

// checksOf returns the sources of the package search, without its tests.
func checksOf(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	files(t, dirNamed(t, "search"), ".go", func(name, text string) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, call := range regexp.MustCompile(`(?s)(?:\.fail\(|\.never\(.{1,200}?,\s+|r\.Bad = fmt\.Sprintf\()"[a-z]+: `).FindAllString(text, -1) {
			all.WriteString(call)
		}
	})
	return all.String()
}

// declarations returns the names of the library: "Func", "pkg.Func", "Type.method", "pkg.Type.method", and "package pkg".
func declarations(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	files(t, ".", ".go", func(name, text string) {
		dir := path.Dir(name)
		outside := regexp.MustCompile(`^(bench|cmd|docs|examples|otelqueuelock|test|internal/(testbed|tools|demo|benchmark|embedded))\b`)
		if strings.HasSuffix(name, "_test.go") || outside.MatchString(dir) {
			return
		}
		file := locktest.Must(parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution))
		pkg := file.Name.Name
		all[pkg], all["package "+pkg] = true, true
		add := func(name string) { all[name], all[pkg+"."+name] = true, true }
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name.Name)
					continue
				}
				of := d.Recv.List[0].Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				if id, ok := of.(*ast.Ident); ok {
					all[id.Name+"."+d.Name.Name], all[pkg+"."+id.Name+"."+d.Name.Name] = true, true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						add(spec.Name.Name)
						if s, ok := spec.Type.(*ast.StructType); ok {
							for _, f := range s.Fields.List {
								for _, n := range f.Names {
									all[spec.Name.Name+"."+n.Name], all[pkg+"."+spec.Name.Name+"."+n.Name] = true, true
								}
							}
						}
					case *ast.ValueSpec:
						for _, n := range spec.Names {
							add(n.Name)
						}
					}
				}
			}
		}
	})
	return all
}

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
	"slices"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/testbed/search"
)

const specPage = "docs/spec/README.md"

// TestSpecNames finds what the head of each model names: the steps in the model, and what they play in the code. A name of the
// code with a dot is of its package or type. It also finds the names of the code that the page of the searches has.
func TestSpecNames(t *testing.T) {
	declared := declarations(t)
	files(t, "docs/spec", ".pml", func(model, text string) {
		head, rest, _ := strings.Cut(text, "*/")
		_, table, _ := strings.Cut(head, "Step, and the code that it plays:")
		rows := regexp.MustCompile(`(?m)^ \*   (\S.*?)  +(\S.*)$`).FindAllStringSubmatch(table, -1)
		if len(rows) < 4 {
			t.Errorf("%s has %d steps", model, len(rows))
		}
		for _, row := range rows {
			for step := range strings.SplitSeq(row[1], ", ") {
				if !regexp.MustCompile(`\b` + step + `\b`).MatchString(rest) {
					t.Errorf("%s has no step %s", model, step)
				}
			}
			for name := range strings.SplitSeq(row[2], ", ") {
				if parts := strings.Split(name, "."); !declared[name] && (len(parts) != 3 || !declared[parts[0]+"."+parts[1]] || !declared[parts[1]+"."+parts[2]]) {
					t.Errorf("%s names %s, which the code does not have", model, name)
				}
			}
		}
	})
	for i, line := range readPage(t, specPage).lines {
		for _, name := range regexp.MustCompile("`([A-Za-z]+\\.[A-Za-z.]+)`").FindAllStringSubmatch(line, -1) {
			known := declared[name[1]] || regexp.MustCompile(`\.(pml|sh|txt)$`).MatchString(name[1]) || name[1] == "clause.Write.Apply"
			if !known {
				t.Errorf("%s:%d: the code has no %s", specPage, i+1, name[1])
			}
		}
	}
}

// plantedRun is a line of run.sh: a search of a model that says after # what is planted in it, or that it is not what it seems.
type plantedRun struct{ finds, model, name, about string }

func plantedRuns(t *testing.T) (all []plantedRun, searches int) {
	t.Helper()
	_, list, _ := strings.Cut(read(t, "docs/spec/run.sh"), "\"$tmp/quick\" <<'LIST'\n")
	list, _, _ = strings.Cut(list, "\nLIST\n")
	for line := range strings.SplitSeq(list, "\n") {
		searches++
		run, about, explained := strings.Cut(line, " # ")
		words := strings.Fields(run)
		if explained {
			all = append(all, plantedRun{words[0], words[1], words[2], about})
		} else if words[0] != "ok" || strings.Contains(run, "-DBUG") {
			t.Errorf("run.sh does not say what %s plants", words[2])
		}
	}
	return all, searches
}

// TestSpecMistakes finds what run.sh names as the same mistake in Go among those that the search in Go must find, and each
// mistake of a model in run.sh.
func TestSpecMistakes(t *testing.T) {
	inGo, used := mistakeNames(t), 0
	all, _ := plantedRuns(t)
	for _, p := range all {
		if _, name, ok := strings.Cut(p.about, "Go: "); ok {
			used++
			if !slices.Contains(inGo, name) {
				t.Errorf("run.sh says of %s that the search in Go plants %q, which it does not", p.name, name)
			}
		}
	}
	if used < 40 {
		t.Errorf("%d mistakes of the models are planted in Go", used)
	}
	script := read(t, "docs/spec/run.sh")
	for _, name := range regexp.MustCompile("`([A-Z]+_[A-Z_]+)`").FindAllStringSubmatch(read(t, specPage), -1) {
		if !strings.Contains(script, " "+name[1]+" ") {
			t.Errorf("%s names %s, which run.sh does not have", specPage, name[1])
		}
	}
	for _, bug := range regexp.MustCompile(`BUG_\w+`).FindAllString(sources(t, "docs/spec", ".pml"), -1) {
		if !regexp.MustCompile(`-D` + bug + `\b`).MatchString(script) {
			t.Errorf("run.sh does not plant %s", bug)
		}
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
	explained, searches := plantedRuns(t)
	says(t, specPage, "the %d bounded searches", searches)
	says(t, specPage, "the bounds of each. %d of them must fail, or show", len(explained))

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
	memory := regexp.MustCompile(`MEMORY:-(\d+)000\}`).FindStringSubmatch(read(t, "docs/spec/run.sh"))
	says(t, specPage, "up to %s GB of memory", memory[1])
	says(t, specPage, "`spin` %s.", matched(t, read(t, "internal/tools/spin.sh"), `(?m)^version=([0-9.]+)`))
	transcripts := locktest.Must(fs.Glob(os.DirFS(filepath.Join(root, dirNamed(t, "search"))), "testdata/*.txt"))
	says(t, specPage, ": %d stories to read", len(transcripts))
	_, shown, _ := strings.Cut(read(t, specPage), "```text\n")
	shown, _, _ = strings.Cut(shown, "```")
	if !strings.HasSuffix(read(t, path.Join(dirNamed(t, "search"), "testdata/pause-before-claim.txt")), shown) {
		t.Errorf("pause-before-claim.txt does not end with what %s shows", specPage)
	}
}

// TestSpecChecks finds each check of the searches in the table of the page, with where it is, and no other.
func TestSpecChecks(t *testing.T) {
	in := map[string][]string{}
	add := func(name, where string) {
		if !slices.Contains(in[name], where) && name != "bounds" && name != "model" { // of the search's own arrays
			in[name] = append(in[name], where)
		}
	}
	for _, name := range regexp.MustCompile(`"([a-z]+): `).FindAllStringSubmatch(checksOf(t), -1) {
		add(name[1], "Go")
	}
	for _, name := range regexp.MustCompile(`\|\| broken_([a-z]+)|assert\(broken_([a-z]+)\)`).FindAllStringSubmatch(sources(t, "docs/spec", ".pml"), -1) {
		add(name[1]+name[2], "models")
	}
	add("progress", "models") // of pan itself
	_, table, _ := strings.Cut(read(t, specPage), "| check | what must hold | in |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := 0
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			t.Errorf("%s: %q has no three cells", specPage, line)
			continue
		}
		var names, where []string
		for _, name := range regexp.MustCompile("`([a-z]+)`").FindAllStringSubmatch(cells[1], -1) {
			names, where = append(names, name[1]), append(where, in[name[1]]...)
			if in[name[1]] == nil {
				t.Errorf("%s: no search checks %s", specPage, name[1])
			}
			delete(in, name[1])
		}
		if len(names) == 0 {
			continue
		}
		rows++
		slices.Sort(where)
		if got, want := strings.TrimSpace(cells[3]), strings.Join(slices.Compact(where), ", "); got != want {
			t.Errorf("%s: %v is in %q, not in %q", specPage, names, want, got)
		}
	}
	for name, where := range in {
		t.Errorf("%s does not have the check %s of %v", specPage, name, where)
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

// declarations returns the names of the library: "Func", "pkg.Func", "Type.method", and "package pkg".
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
					all[id.Name+"."+d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						add(spec.Name.Name)
						if s, ok := spec.Type.(*ast.StructType); ok {
							for _, f := range s.Fields.List {
								for _, n := range f.Names {
									all[spec.Name.Name+"."+n.Name] = true
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

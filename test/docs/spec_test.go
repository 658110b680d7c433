package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
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

// TestSpecTranscript finds the story that the page shows at the end of its transcript.
func TestSpecTranscript(t *testing.T) {
	_, shown, _ := strings.Cut(read(t, specPage), "```text\n")
	shown, _, _ = strings.Cut(shown, "```")
	if !strings.HasSuffix(read(t, "internal/testbed/search/testdata/pause-before-claim.txt"), shown) {
		t.Errorf("pause-before-claim.txt does not end with what %s shows", specPage)
	}
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

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

// TestSpecNames finds what docs/spec/README.md names in the code and in the models: each function, method and type of
// the table that ties the models to the code, each step of the models, and each planted mistake. A name with a dot is
// of its package or type. One without a dot is at the top of a package, which the cell may name.
func TestSpecNames(t *testing.T) {
	declared := declarations(t)
	models := sources(t, "docs/spec", ".pml")
	planted := read(t, "docs/spec/run.sh")
	word := func(text, name string) bool { return regexp.MustCompile(`\b` + name + `\b`).MatchString(text) }
	quoted := regexp.MustCompile("`([A-Za-z_.]+)`")
	inTable, names := false, 0
	for i, line := range readPage(t, "docs/spec/README.md").lines {
		for _, bug := range regexp.MustCompile("`((?:BUG|NO|OLDER|BY)[_-][A-Za-z_-]+)`").FindAllStringSubmatch(line, -1) {
			if !word(planted, bug[1]) {
				t.Errorf("docs/spec/README.md:%d: run.sh does not plant %s", i+1, bug[1])
			}
		}
		inTable = strings.HasPrefix(line, "| step of the model | code |") || inTable && strings.HasPrefix(line, "|")
		for _, name := range regexp.MustCompile("`([A-Za-z]+\\.[A-Za-z]+)`").FindAllStringSubmatch(line, -1) {
			if !declared[name[1]] && !strings.HasSuffix(name[1], ".pml") && name[1] != "run.sh" {
				t.Errorf("docs/spec/README.md:%d: the code has no %s", i+1, name[1])
			}
		}
		cells := strings.Split(line, "|")
		if !inTable || len(cells) != 4 {
			continue
		}
		for _, step := range quoted.FindAllStringSubmatch(cells[1], -1) {
			if !strings.HasSuffix(step[1], ".pml") && !word(models, step[1]) {
				t.Errorf("docs/spec/README.md:%d: no model has the step %s", i+1, step[1])
			}
		}
		for _, name := range quoted.FindAllStringSubmatch(cells[2], -1) {
			names++
			if !strings.Contains(name[1], ".") && !declared[name[1]] && name[1] != "GetItem" {
				t.Errorf("docs/spec/README.md:%d: the code has no %s", i+1, name[1])
			}
		}
		for _, pkg := range regexp.MustCompile("package `(\\w+)`|`internal/(\\w+)`").FindAllStringSubmatch(cells[2], -1) {
			if !declared["package "+pkg[1]+pkg[2]] {
				t.Errorf("docs/spec/README.md:%d: there is no package %s%s", i+1, pkg[1], pkg[2])
			}
		}
	}
	if names < 100 {
		t.Errorf("the table has %d names of the code", names)
	}
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

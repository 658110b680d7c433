package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// dirNamed returns the directory of the module's only package with that last element, wherever it is.
func dirNamed(t *testing.T, name string) string {
	t.Helper()
	var found []string
	locktest.OK(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && len(entry.Name()) > 2 && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case entry.IsDir() && entry.Name() == name:
			found = append(found, filepath.ToSlash(locktest.Must(filepath.Rel(root, path))))
		}
		return nil
	}))
	if len(found) != 1 {
		t.Fatalf("packages named %s: %v", name, found)
	}
	return found[0]
}

// parsedFiles returns the files of a package, its tests too.
func parsedFiles(t *testing.T, dir string) (all []*ast.File) {
	t.Helper()
	for _, name := range locktest.Must(filepath.Glob(filepath.Join(root, dir, "*.go"))) {
		all = append(all, locktest.Must(parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)))
	}
	return all
}

// mistakeCounts returns how many elements each list of mistakes has.
func mistakeCounts(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, pkg := range []string{"search", "heartbeat", "sim"} {
		for name, list := range testLists(t, pkg) {
			counts[name] = len(list.Elts)
		}
	}
	return counts
}

// testLists returns the lists of planted mistakes of a package: variables, and what some tests range over, by the test's name.
func testLists(t *testing.T, pkg string) map[string]*ast.CompositeLit {
	t.Helper()
	all := map[string]*ast.CompositeLit{}
	for _, file := range parsedFiles(t, dirNamed(t, pkg)) {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				ast.Inspect(d, func(n ast.Node) bool {
					if loop, ok := n.(*ast.RangeStmt); ok {
						if list, ok := loop.X.(*ast.CompositeLit); ok && all[d.Name.Name] == nil {
							all[d.Name.Name] = list
						}
					}
					return true
				})
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && len(v.Values) == 1 {
						if list, ok := v.Values[0].(*ast.CompositeLit); ok {
							all[v.Names[0].Name] = list
						}
					}
				}
			}
		}
	}
	return all
}

// separated prints a number as the pages do: 1,000,000.
func separated(n int) string { return commas(fmt.Sprint(n)) }

func commas(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// constantsOf returns the exported constants of a type in a package.
func constantsOf(t *testing.T, pkg, of string) (all []string) {
	t.Helper()
	for _, file := range parsedFiles(t, dirNamed(t, pkg)) {
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.CONST {
				continue
			}
			first, _ := decl.Specs[0].(*ast.ValueSpec)
			if typ, ok := first.Type.(*ast.Ident); !ok || typ.Name != of {
				continue
			}
			for _, spec := range decl.Specs {
				if name := spec.(*ast.ValueSpec).Names[0]; name.IsExported() {
					all = append(all, name.Name)
				}
			}
		}
	}
	return all
}

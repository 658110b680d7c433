package docs_test

import (
	"go/ast"
	"go/doc"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

const module = "github.com/queuelock/queuelock"

// TestEntryPoints finds each exported function and method of package queuelock in an Example with an output, but those of
// interfaceMethods, and such an Example in each other public package.
func TestEntryPoints(t *testing.T) {
	fset := token.NewFileSet()
	examples := map[string][]*ast.File{}
	for _, dir := range publicPackages(t) {
		names := locktest.Must(filepath.Glob(filepath.Join(root, dir, "example*_test.go")))
		examples[dir] = nil
		for _, name := range names {
			file := locktest.Must(parser.ParseFile(fset, name, nil, parser.ParseComments))
			examples[dir] = append(examples[dir], file)
		}
	}
	imports := exportData(t, fset, examples)
	called := map[string]bool{}
	for dir, files := range examples {
		own := 0
		for name := range calledIn(fset, imports, dir, files) {
			called[name] = true
			if strings.HasPrefix(name, filepath.Base(dir)+".") {
				own++
			}
		}
		if own == 0 && dir != "." {
			t.Errorf("no Example with an output calls a function of package %s", dir)
		}
	}
	found := 0
	for _, name := range entryPoints(locktest.Must(imports.Import(module))) {
		found++
		if !called[name] {
			t.Errorf("no Example with an output calls %s", name)
		}
	}
	if found < 40 {
		t.Errorf("found %d functions and methods", found)
	}
}

// publicPackages are the directories of the module's packages that users import.
func publicPackages(t *testing.T) (dirs []string) {
	t.Helper()
	dirs = []string{"."}
	entries := locktest.Must(os.ReadDir(root))
	for _, e := range entries {
		if slices.Contains([]string{"bench", "cmd", "docs", "examples", "internal", "test"}, e.Name()) {
			continue
		}
		sources, _ := filepath.Glob(filepath.Join(root, e.Name(), "*.go"))
		_, err := os.Stat(filepath.Join(root, e.Name(), "go.mod"))
		if len(sources) > 0 && err != nil {
			dirs = append(dirs, e.Name())
		}
	}
	return dirs
}

// TestCross finds the command and each package that users import in what "make cross" vets.
func TestCross(t *testing.T) {
	list := exec.Command("sh", "internal/tools/cross.sh", "list")
	list.Dir = root
	out := locktest.Must(list.Output())
	vetted := strings.Fields(string(out))
	for _, dir := range append(publicPackages(t), "cmd/queuelock", "otelqueuelock") {
		if !slices.Contains(vetted, importPath(dir)) {
			t.Errorf("cross.sh does not vet %s", importPath(dir))
		}
	}
}

func importPath(dir string) string { return strings.TrimSuffix(module+"/"+dir, "/.") }

// exportData imports the packages themselves, and what the examples import, from what the
// compiler made of them.
func exportData(t *testing.T, fset *token.FileSet, examples map[string][]*ast.File) types.Importer {
	t.Helper()
	arguments := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for dir, files := range examples {
		arguments = append(arguments, importPath(dir))
		for _, file := range files {
			for _, spec := range file.Imports {
				arguments = append(arguments, strings.Trim(spec.Path.Value, `"`))
			}
		}
	}
	list := exec.Command("go", arguments...)
	list.Dir = root
	out := locktest.Must(list.Output())
	compiled := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		compiled[path] = file
	}
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(compiled[path]) })
}

// entryPoints returns the exported functions and methods of a package.
func entryPoints(pkg *types.Package) (names []string) {
	for _, name := range pkg.Scope().Names() {
		switch o := pkg.Scope().Lookup(name).(type) {
		case *types.Func:
			if o.Exported() {
				names = append(names, nameOf(o))
			}
		case *types.TypeName:
			named, ok := o.Type().(*types.Named)
			if !ok || !o.Exported() || o.IsAlias() {
				continue
			}
			for m := range named.Methods() {
				if m.Exported() && !slices.Contains(interfaceMethods, m.Name()) {
					names = append(names, nameOf(m))
				}
			}
		}
	}
	return names
}

// interfaceMethods are called by packages fmt, errors and encoding/json.
var interfaceMethods = []string{"Error", "Unwrap", "Is", "String", "MarshalText", "UnmarshalText"}

// nameOf returns "ticket.Parse", or "queuelock.Lock.Release".
func nameOf(f *types.Func) string {
	name := f.Pkg().Name() + "."
	if recv := f.Signature().Recv(); recv != nil {
		of := recv.Type()
		if p, ok := of.(*types.Pointer); ok {
			of = p.Elem()
		}
		if named, ok := of.(*types.Named); ok {
			name += named.Obj().Name() + "."
		}
	}
	return name + f.Name()
}

// calledIn returns the functions that the Examples of a package with an output use, by
// themselves or by functions of their files.
func calledIn(fset *token.FileSet, imports types.Importer, dir string, files []*ast.File) map[string]bool {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	// A helper in another test file is unknown here, and no use of the package is lost by that.
	config := types.Config{Importer: imports, Error: func(error) {}}
	_, _ = config.Check(importPath(dir)+"_test", fset, files, info)
	bodies := map[types.Object]ast.Node{}
	var left []ast.Node
	for _, file := range files {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				bodies[info.Defs[f.Name]] = f.Body
			}
		}
	}
	for _, e := range doc.Examples(files...) {
		if e.Output != "" {
			left = append(left, e.Code)
		}
	}
	called := map[string]bool{}
	for len(left) > 0 {
		body := left[0]
		left = left[1:]
		ast.Inspect(body, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			f, ok := info.Uses[id].(*types.Func)
			if !ok || f.Pkg() == nil {
				return true
			}
			if strings.HasPrefix(f.Pkg().Path(), module) {
				called[nameOf(f)] = true
			}
			if helper := bodies[f]; helper != nil {
				delete(bodies, f)
				left = append(left, helper)
			}
			return true
		})
	}
	return called
}

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
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

const module = "github.com/queuelock/queuelock"

// TestEntryPoints finds each exported function and method of the public packages in an
// Example with an output. Exempt are the methods of interfaceMethods, and what is the protocol's.
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
		for name := range calledIn(fset, imports, dir, files) {
			called[name] = true
		}
	}
	found := 0
	for dir := range examples {
		pkg := locktest.Must(imports.Import(importPath(dir)))
		for _, name := range entryPoints(pkg) {
			found++
			if !called[name] {
				t.Errorf("no Example with an output calls %s", name)
			}
		}
	}
	if found < 150 {
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

// entryPoints returns the exported functions and methods of a package that a user can call: without a type of an internal
// package in their signatures.
func entryPoints(pkg *types.Package) (names []string) {
	for _, name := range pkg.Scope().Names() {
		switch o := pkg.Scope().Lookup(name).(type) {
		case *types.Func:
			if o.Exported() && callable(o) {
				names = append(names, nameOf(o))
			}
		case *types.TypeName:
			named, ok := o.Type().(*types.Named)
			if !ok || !o.Exported() || o.IsAlias() {
				continue
			}
			for m := range named.Methods() {
				if m.Exported() && callable(m) && !slices.Contains(interfaceMethods, m.Name()) {
					names = append(names, nameOf(m))
				}
			}
		}
	}
	return names
}

func callable(f *types.Func) bool {
	signature := f.Signature().String()
	if recv := f.Signature().Recv(); recv != nil {
		signature += " " + recv.Type().String()
	}
	return !strings.Contains(signature, module+"/internal/") && !ofProtocol.MatchString(signature) && !slices.Contains(protocol, nameOf(f))
}

// ofProtocol are the types of packages queue and waitpolicy of which the page says that they are the protocol's and may change: Examples
// show the steps, and not each function.
var ofProtocol = regexp.MustCompile(`/waitpolicy\.Pace\b|/queue\.(Ending|Entry|Home|Items|Load|Marks|Outcome|Record|Renewal|Snapshot)\b`)

// protocol are the functions with none of these types.
var protocol = []string{
	"heartbeat.Keeper.Due",
	"queue.ClosedFor", "queue.HoldTime.Add", "queue.Lease.End", "queue.Turns", "queue.Holder.Accepted", "queue.Holder.Has", "queue.Holder.Unchanged", "queue.Holder.Unreadable", "queue.Lease.Keeps", "queue.NextTransaction", "machine.Someday", "queue.Waiter.GrantByName",
	"queue.Waiter.Same", "waitpolicy.Names",
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

package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

const module = "github.com/queuelock/queuelock"

// checked is a package of the library with its types.
type checked struct {
	dir   string
	pkg   *types.Package
	info  types.Info
	funcs []function
}

type function struct {
	*ast.FuncDecl
	in source
}

// compiled returns the importer of the packages that the go command compiles for those of this module.
func compiled(ctx context.Context) (types.Importer, error) {
	c := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./...")
	c.Stderr = os.Stderr
	list, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(list)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[name] = file
	}
	return importer.ForCompiler(positions, "gc", func(name string) (io.ReadCloser, error) { return os.Open(files[name]) }), nil
}

// check finds the types of the packages of the library.
func check(tree fs.FS, sources []source, imports types.Importer) ([]checked, error) {
	here := build.Default
	here.OpenFile = func(name string) (io.ReadCloser, error) { return tree.Open(name) }
	files := map[string][]*ast.File{}
	of := map[string]*checked{}
	for _, s := range sources {
		if built, err := here.MatchFile(s.dir(), path.Base(s.name)); err != nil {
			return nil, err
		} else if !built || !s.inLibrary() {
			continue
		}
		p := of[s.dir()]
		if p == nil {
			p = &checked{dir: s.dir(), info: types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}}
			of[s.dir()] = p
		}
		files[p.dir] = append(files[p.dir], s.file)
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				p.funcs = append(p.funcs, function{f, s})
			}
		}
	}
	var all []checked
	for _, dir := range slices.Sorted(maps.Keys(of)) {
		var err error
		p := of[dir]
		if p.pkg, err = (&types.Config{Importer: imports}).Check(path.Join(module, dir), positions, files[dir], &p.info); err != nil {
			return nil, err
		}
		all = append(all, *p)
	}
	return all, nil
}

// typed returns the rows of the table that follow from the types of the library.
func typed(all []checked) []row {
	sends := writers(all)
	var places, loops, inner []count
	functions := 0
	for _, p := range all {
		driven := p.calls(func(f *types.Func) bool { return sends(f) || strings.EqualFold(f.Name(), "step") })
		for _, f := range p.funcs {
			if !slices.Contains(senders, p.dir) {
				places = tally(places, f.in.name, number(f.FuncDecl, p.calls(sends)))
			}
			loops = tally(loops, f.in.symbol(receiver(f.FuncDecl)+f.Name.Name), drives(f, driven))
		}
		if slices.Contains(card, p.dir) {
			n, with := signatures(p.pkg)
			functions, inner = functions+n, tally(inner, p.dir, with)
		}
	}
	return []row{
		{name: "places that send a write", value: sum(places), parts: places, note: "calls from outside of " + strings.Join(senders, ", ")},
		{name: "loops that drive", value: sum(loops), parts: loops,
			note: "loops, and functions with a result that are passed on, that send a write or step a machine"},
		{name: "exported functions with internal types", value: sum(inner), parts: inner,
			note: fmt.Sprintf("of the %d of %s", functions, strings.Join(card, ", "))},
	}
}

// card are the public packages that each have a part of the algorithm.
var card = []string{"ticket", "queue", "heartbeat", "sweeper", "waitpolicy"}

// senders are the packages whose functions send a single request for others.
var senders = []string{"internal/counter", "internal/requests", "internal/table"}

// writers returns whether a function sends a write: it is a method of the SDK, or of a sender and calls such a function, or a
// sender has it behind the interface of package sweeper.
func writers(all []checked) func(*types.Func) bool {
	const sweeps = "(" + module + "/sweeper.Table)."
	known := map[string]bool{sweeps + "Write": true, sweeps + "Remove": true}
	sends := func(f *types.Func) bool {
		return known[f.Origin().FullName()] || slices.Contains([]string{"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}, f.Name())
	}
	for grown := true; grown; {
		before := len(known)
		for _, p := range all {
			for _, f := range p.funcs {
				if slices.Contains(senders, p.dir) && number(f.FuncDecl, p.calls(sends)) > 0 {
					known[p.info.Defs[f.Name].(*types.Func).FullName()] = true
				}
			}
		}
		grown = len(known) > before
	}
	return sends
}

// calls returns whether a node calls such a function or method.
func (p checked) calls(such func(*types.Func) bool) func(ast.Node) bool {
	return func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return false
		}
		var name *ast.Ident
		switch f := call.Fun.(type) {
		case *ast.Ident:
			name = f
		case *ast.SelectorExpr:
			name = f.Sel
		}
		f, ok := p.info.Uses[name].(*types.Func)
		return ok && such(f)
	}
}

// number counts such nodes below one.
func number(in ast.Node, such func(ast.Node) bool) (n int) {
	ast.Inspect(in, func(node ast.Node) bool {
		if node != nil && such(node) {
			n++
		}
		return true
	})
	return n
}

// drives counts the outermost loops and repeated functions with such a call.
func drives(f function, such func(ast.Node) bool) (n int) {
	ast.Inspect(f.FuncDecl, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
		case *ast.FuncLit:
			if node.Type.Results == nil {
				return true
			}
		default:
			return true
		}
		n += min(1, number(node, such))
		return false
	})
	return n
}

// signatures counts the exported functions and methods of a package, and those with an internal type in their signature.
func signatures(pkg *types.Package) (all, internal int) {
	var functions []*types.Func
	for _, name := range pkg.Scope().Names() {
		switch o := pkg.Scope().Lookup(name).(type) {
		case *types.Func:
			functions = append(functions, o)
		case *types.TypeName:
			if of, ok := o.Type().(*types.Named); ok && o.Exported() {
				functions = slices.AppendSeq(functions, of.Methods())
			}
		}
	}
	for _, f := range functions {
		if f.Exported() {
			all++
			if strings.Contains(f.Type().String(), module+"/internal/") {
				internal++
			}
		}
	}
	return all, internal
}

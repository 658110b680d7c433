package docs_test

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// constantOf returns a constant of a package of the module that the page quotes: "internal/play", "leaveLimit". A duration is
// in nanoseconds.
func constantOf(t *testing.T, dir, name string) int64 {
	t.Helper()
	fset := token.NewFileSet()
	var all []*ast.File
	for _, file := range goFiles(t, dir) {
		all = append(all, locktest.Must(parser.ParseFile(fset, file, nil, 0)))
	}
	// Types of other packages are not needed: what is not known is left out.
	config := types.Config{Importer: onlyTime{}, Error: func(error) {}}
	pkg, _ := config.Check(dir, fset, all, nil)
	is, ok := pkg.Scope().Lookup(name).(*types.Const)
	if !ok || is.Val().Kind() == constant.Unknown {
		t.Fatalf("%s has no constant %s with a known value", dir, name)
	}
	value, exact := constant.Int64Val(constant.ToInt(is.Val()))
	if !exact {
		t.Fatalf("%s.%s is %v", dir, name, is.Val())
	}
	return value
}

// secondsOf returns a constant that is a duration, in seconds.
func secondsOf(t *testing.T, dir, name string) float64 {
	t.Helper()
	return time.Duration(constantOf(t, dir, name)).Seconds()
}

// onlyTime imports package time.
type onlyTime struct{}

var imports = importer.ForCompiler(token.NewFileSet(), "source", nil) // keeps what it has imported

func (onlyTime) Import(path string) (*types.Package, error) {
	if path != "time" {
		return nil, errors.New("is not needed")
	}
	return imports.Import(path)
}

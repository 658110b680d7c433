package docs_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// constantOf returns a whole constant of a package of the module, also one that is not exported.
func constantOf(t *testing.T, dir, name string) int64 {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, file := range locktest.Must(filepath.Glob(filepath.Join(root, dir, "*.go"))) {
		if !strings.HasSuffix(file, "_test.go") {
			files = append(files, locktest.Must(parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)))
		}
	}
	// What is imported is missing, and constants do not need it.
	config := types.Config{Error: func(error) {}}
	pkg, _ := config.Check(dir, fset, files, nil)
	of, found := pkg.Scope().Lookup(name).(*types.Const)
	if !found {
		t.Fatalf("package %s has no constant %s", dir, name)
	}
	value, exact := constant.Int64Val(constant.ToInt(of.Val()))
	if !exact {
		t.Fatalf("%s.%s is %v", dir, name, of.Val())
	}
	return value
}

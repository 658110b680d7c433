package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// source is a parsed Go file of the tree.
type source struct {
	name     string // slash-separated, below the root of the tree
	lines    int
	long     int // lines above 120 columns, each tab one
	noinline int // functions that the compiler may not inline
	file     *ast.File
}

// The library is all Go code that a program imports to use locks. These
// directories hold what is not part of it: the command, the engine and the
// fakes for tests, examples, a module of its own for OpenTelemetry, the
// apparatus, and the packages beside the lock.
var outsideLibrary = []string{
	"bench", "cmd", "examples", "failfast", "httplock", "internal/child", "internal/embedded", "internal/testbed",
	"internal/tools", "internal/workload", "optimistic", "otelqueuelock", "queuelocktest", "test",
}

// The product is what a user can run or import: the library, the command and
// the packages for tests. The apparatus only tests and measures it.
var outsideProduct = []string{"bench", "internal/testbed", "internal/tools", "test"}

func (s source) dir() string     { return path.Dir(s.name) }
func (s source) isTest() bool    { return strings.HasSuffix(s.name, "_test.go") }
func (s source) inLibrary() bool { return !s.isTest() && !s.within(outsideLibrary) }
func (s source) inProduct() bool { return !s.isTest() && !s.within(outsideProduct) }

// symbol is the name of a symbol of the file behind that of its package.
func (s source) symbol(name string) string {
	if s.dir() == "." {
		return s.file.Name.Name + "." + name
	}
	return s.dir() + "." + name
}

// isPublic reports whether other modules can import the file's package.
func (s source) isPublic() bool {
	return !s.isTest() && s.file.Name.Name != "main" && !s.within([]string{"bench", "cmd", "internal", "examples", "test"})
}

func (s source) within(dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return strings.HasPrefix(s.name, dir+"/")
	})
}

// positions are those of all files.
var positions = token.NewFileSet()

// parseTree parses the Go files of a tree. It skips test data and directories
// with a leading dot.
func parseTree(tree fs.FS) ([]source, error) {
	var sources []source
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (base == "testdata" || len(base) > 1 && base[0] == '.'):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(positions, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		long := 0
		for line := range strings.Lines(string(text)) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 120 {
				long++
			}
		}
		pragmas := strings.Count(string(text), "\n//go:noinline")
		sources = append(sources, source{name, strings.Count(string(text), "\n"), long, pragmas, file})
		return nil
	})
	return sources, err
}

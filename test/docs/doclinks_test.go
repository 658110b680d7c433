package docs_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// plainWords are types whose names comments have as words, too, or as names of AWS and of fields.
var plainWords = []string{"DynamoDB", "UDP", "Hold", "Locks", "Made", "Next", "Put", "Released"}

// TestDocLinks finds, in the documentation of each public package, a link for each type and error that a comment
// mentions: [Lock], [*LostError] or [queue.State]. pkg.go.dev makes links of them.
func TestDocLinks(t *testing.T) {
	names, packages := map[string][]string{}, map[string]*doc.Package{}
	for _, dir := range publicPackages(t) {
		p := documented(t, dir)
		packages[dir] = p
		for _, typ := range p.Types {
			names[p.Name] = append(names[p.Name], typ.Name)
		}
		for _, v := range p.Vars {
			names[p.Name] = append(names[p.Name], v.Names...)
		}
	}
	if len(names["queuelock"]) < 20 {
		t.Fatalf("found the types and errors %q", names)
	}
	for dir, p := range packages {
		for what, text := range comments(p) {
			plain := regexp.MustCompile(`(?m)^\t.*$|"[^"\n]*"`).ReplaceAllString(text, "") // without code and quoted text
			for pkg, declared := range names {
				for _, name := range declared {
					full, own := name, what
					if slices.Contains(plainWords, name) || !strings.Contains(plain, name) {
						continue
					}
					if pkg != p.Name {
						full = pkg + "." + name
					} else if own == name || strings.HasPrefix(own, name+".") || strings.HasSuffix(own, "."+name) {
						continue // its own name
					}
					mentioned := regexp.MustCompile(`(^|[^\w.\[*/-])\*?` + regexp.QuoteMeta(full) + `($|[^\w.(\]-]|\.(\s|$))`)
					linked := regexp.MustCompile(`\[\*?` + regexp.QuoteMeta(full) + `(\.\w+)?\]`)
					if mentioned.MatchString(plain) && !linked.MatchString(plain) {
						t.Errorf("%s: the comment of %s mentions %s without a link", dir, what, full)
					}
				}
			}
		}
	}
}

func documented(t *testing.T, dir string) *doc.Package {
	t.Helper()
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range goFiles(t, dir) {
		parsed = append(parsed, locktest.Must(parser.ParseFile(fset, name, nil, parser.ParseComments)))
	}
	return locktest.Must(doc.NewFromFiles(fset, parsed, "github.com/queuelock/queuelock/"+dir))
}

// comments returns the comments that pkg.go.dev shows, by what they are of.
func comments(p *doc.Package) map[string]string {
	all := map[string]string{"package " + p.Name: p.Doc}
	add := func(of string, values []*doc.Value, functions, methods []*doc.Func) {
		for _, v := range values {
			all[of+strings.Join(v.Names, ",")] = v.Doc
		}
		for _, f := range functions {
			all[f.Name] = f.Doc
		}
		for _, m := range methods {
			all[of+m.Name] = m.Doc
		}
	}
	add("", slices.Concat(p.Consts, p.Vars), p.Funcs, nil)
	for _, typ := range p.Types {
		all[typ.Name] = typ.Doc
		add(typ.Name+".", slices.Concat(typ.Consts, typ.Vars), typ.Funcs, typ.Methods)
	}
	return all
}

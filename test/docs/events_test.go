package docs_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// event is a record for Config.Logger. A text that is computed between two others is "…".
type event struct {
	level, message string
	keys           []string
}

func (e event) String() string { return fmt.Sprintf("%s %q %v", e.level, e.message, e.keys) }

// TestEvents compares the events of docs/operations.md with the calls of slog in the library: levels and messages. Those
// at Debug are not listed. Pages that lead from an event to its keys are right.
func TestEvents(t *testing.T) {
	var logged []event
	files(t, ".", ".go", func(name, text string) {
		if strings.HasSuffix(name, "_test.go") || !strings.Contains(text, `"queuelock: `) {
			return
		}
		file := locktest.Must(parser.ParseFile(token.NewFileSet(), name, text, 0))
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if e, ok := eventOf(call); ok {
					logged = append(logged, e)
				}
			}
			return true
		})
	})
	if len(logged) < 15 {
		t.Fatalf("the library logs %v", logged)
	}
	var listed []event
	row := regexp.MustCompile("(?m)^\\| (Error|Warn|Info) \\| (`[^|]*`) \\| .+ \\|$")
	for _, r := range row.FindAllStringSubmatch(read(t, "docs/operations.md"), -1) {
		for _, message := range quoted(r[2]) {
			listed = append(listed, event{level: r[1], message: message})
		}
	}
	for _, e := range logged {
		if e.level != "Debug" && !slices.ContainsFunc(listed, e.is) {
			t.Errorf("docs/operations.md does not list the event %v", e)
		}
	}
	for _, e := range listed {
		if !slices.ContainsFunc(logged, func(l event) bool { return l.is(e) }) {
			t.Errorf("docs/operations.md lists the event %v, which the library does not log", e)
		}
	}
	for message, key := range map[string]string{"lost a lock": "cause", "evicted holders whose leases had ended": "owner"} {
		if !slices.ContainsFunc(logged, func(e event) bool { return e.message == message && slices.Contains(e.keys, key) }) {
			t.Errorf("the event %q has no %q, which docs/telemetry.md looks at", message, key)
		}
	}
}

// is reports whether an event of the code is the one that a page lists.
func (e event) is(listed event) bool {
	before, after, computed := strings.Cut(e.message, "…")
	same := e.message == listed.message ||
		computed && strings.HasPrefix(listed.message, before) && strings.HasSuffix(listed.message, after)
	return same && e.level == listed.level
}

// quoted returns the texts between backquotes.
func quoted(cell string) (all []string) {
	for _, q := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		all = append(all, q[1])
	}
	return all
}

// eventOf returns the event of a call such as log.Warn("queuelock: …", "key", value).
func eventOf(call *ast.CallExpr) (e event, ok bool) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return e, false
	}
	e.level = method.Sel.Name
	args := call.Args
	if e.level == "NewRecord" { // of package slog; the keys are added to it
		e.level, e.keys = strings.TrimPrefix(args[1].(*ast.SelectorExpr).Sel.Name, "Level"), []string{"dropped"}
		args = args[2:3]
	}
	message, found := strings.CutPrefix(textOf(args[0]), "queuelock: ")
	if !found || !slices.Contains([]string{"Error", "Warn", "Info", "Debug"}, e.level) {
		return e, false
	}
	e.message = message
	for i := 1; i < len(args); i += 2 {
		e.keys = append(e.keys, textOf(args[i]))
	}
	return e, true
}

// textOf returns the value of a string, or of a sum of strings.
func textOf(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(x.Value); err == nil {
			return text
		}
	case *ast.BinaryExpr:
		return cmp.Or(textOf(x.X), "…") + cmp.Or(textOf(x.Y), "…")
	}
	return ""
}

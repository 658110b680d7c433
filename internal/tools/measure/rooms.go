package main

import (
	"fmt"
	"go/ast"
	"slices"
)

// room is a package that has one part of the algorithm. Its sign occurs where that part is, so the share of the signs in
// the package is the share of the part.
type room struct {
	of   []string // the packages
	what string
	sign func(ast.Node) bool
}

var rooms = []room{
	{[]string{"ticket", "queue"}, "conditional writes described", describesWrite},
	{[]string{"queue"}, "actions decided by a snapshot", func(n ast.Node) bool { return assigns(n, "Do", "Action") }},
	{[]string{"heartbeat"}, "leases judged", func(n ast.Node) bool { return selects(n, "See") }},
	{[]string{"sweeper"}, "removals of what has expired", func(n ast.Node) bool { return selects(n, "Evict", "serving") || selects(n, "Sweep", "rows") }},
	{[]string{"waitpolicy"}, "bounds of a schedule used", func(n ast.Node) bool {
		return selects(n, "Fastest") || selects(n, "SlowestNext") || selects(n, "Slowest")
	}},
}

// shares are the rows of the rooms, in per cent. Their parts are the signs elsewhere.
func shares(sources []source) (rows []row) {
	for _, room := range rooms {
		var elsewhere []count
		inside := 0
		for _, s := range sources {
			if !s.inLibrary() || s.dir() == "internal/clause" {
				continue
			}
			n := 0
			ast.Inspect(s.file, func(node ast.Node) bool {
				if node != nil && room.sign(node) {
					n++
				}
				return true
			})
			switch {
			case slices.Contains(room.of, s.dir()):
				inside += n
			case n > 0:
				elsewhere = tally(elsewhere, s.dir(), n)
			}
		}
		rows = append(rows, row{
			name:  fmt.Sprintf("%% of %s in %v", room.what, room.of),
			value: 100 * inside / max(1, inside+sum(elsewhere)), parts: elsewhere,
		})
	}
	return rows
}

// describesWrite reports a literal of a clause.Write with conditions, changes or an item.
func describesWrite(n ast.Node) bool {
	literal, ok := n.(*ast.CompositeLit)
	if !ok {
		return false
	}
	of, ok := literal.Type.(*ast.SelectorExpr)
	return ok && of.Sel.Name == "Write" && slices.ContainsFunc(literal.Elts, func(e ast.Expr) bool {
		field, ok := e.(*ast.KeyValueExpr)
		name, isName := field.Key.(*ast.Ident)
		return ok && isName && slices.Contains([]string{"If", "Do", "Item"}, name.Name)
	})
}

// selects reports a selector of that name, of the package if one is given.
func selects(n ast.Node, name string, of ...string) bool {
	s, ok := n.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, isName := s.X.(*ast.Ident)
	return len(of) == 0 || isName && slices.Contains(of, x.Name)
}

// assigns reports an assignment of a constant with that prefix to a field.
func assigns(n ast.Node, field, prefix string) bool {
	a, ok := n.(*ast.AssignStmt)
	if !ok || len(a.Lhs) == 0 || !selects(a.Lhs[0], field) {
		return false
	}
	value, ok := a.Rhs[0].(*ast.Ident)
	return ok && len(value.Name) > len(prefix) && value.Name[:len(prefix)] == prefix
}

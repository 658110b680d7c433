package main

import (
	"go/ast"
	"go/token"
	"strings"
)

// count is a counted thing and its name.
type count struct {
	name string
	n    int
}

// complexities returns the cyclomatic complexity of each function of a file:
// one, and one for each branch, loop, case and logical operator. Function
// literals count with the function that holds them.
func complexities(s source) []count {
	var counts []count
	for _, decl := range s.file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		n := 1
		ast.Inspect(f, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
				n++
			case *ast.CaseClause:
				n += min(1, len(node.List))
			case *ast.CommClause:
				if node.Comm != nil {
					n++
				}
			case *ast.BinaryExpr:
				if node.Op == token.LAND || node.Op == token.LOR {
					n++
				}
			}
			return true
		})
		counts = append(counts, count{s.symbol(receiver(f) + f.Name.Name), n})
	}
	return counts
}

// receiver returns the name of a method's type and a dot, or nothing.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	expr := f.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name + "."
		default:
			return ""
		}
	}
}

// methodsOf returns the name of the type of each method of a file.
func methodsOf(s source) (types []string) {
	for _, decl := range s.file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil {
			types = append(types, s.symbol(strings.TrimSuffix(receiver(f), ".")))
		}
	}
	return types
}

// structs returns the number of fields of each named struct of a file.
func structs(s source) []count {
	var counts []count
	ast.Inspect(s.file, func(node ast.Node) bool {
		spec, ok := node.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if t, ok := spec.Type.(*ast.StructType); ok {
			counts = append(counts, count{s.symbol(spec.Name.Name), fields(t)})
		}
		return true
	})
	return counts
}

// fields counts the fields of a struct. An embedded type is one field.
func fields(t *ast.StructType) int {
	n := 0
	for _, field := range t.Fields.List {
		n += max(1, len(field.Names))
	}
	return n
}

// docWords returns the number of words in the doc comment of each exported
// symbol of a file: functions, methods of exported types and of types that
// these embed, types, constants and variables. A comment above a group of constants or variables counts
// once, under the first exported name of the group.
func docWords(s source) []count {
	var counts []count
	embedded := embeddedTypes(s.file)
	add := func(name string, docs ...*ast.CommentGroup) {
		n := 0
		for _, doc := range docs {
			n += len(strings.Fields(doc.Text()))
		}
		counts = append(counts, count{s.symbol(name), n})
	}
	for _, decl := range s.file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if of := receiver(decl); decl.Name.IsExported() && (of == "" || ast.IsExported(of) || embedded[of]) {
				add(of+decl.Name.Name, decl.Doc)
			}
		case *ast.GenDecl:
			group := decl.Doc
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.IsExported() {
						add(spec.Name.Name, group, spec.Doc, spec.Comment)
						group = nil
					}
				case *ast.ValueSpec:
					for i, name := range spec.Names {
						if !name.IsExported() {
							continue
						}
						if i == 0 {
							add(name.Name, group, spec.Doc, spec.Comment)
						} else {
							add(name.Name, group)
						}
						group = nil
					}
				}
			}
		}
	}
	return counts
}

// embeddedTypes returns the names, and a dot, of the types that the exported
// structs of a file embed: their methods are methods of the structs.
func embeddedTypes(file *ast.File) map[string]bool {
	embedded := map[string]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.TypeSpec)
		if !ok || !spec.Name.IsExported() {
			return true
		}
		if t, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range t.Fields.List {
				if of, ok := field.Type.(*ast.Ident); ok && len(field.Names) == 0 {
					embedded[of.Name+"."] = true
				}
			}
		}
		return true
	})
	return embedded
}

// prose counts the words of a file's comments, and their colons and
// semicolons. A colon within a word, as in a URL, does not count.
func prose(s source) (words, marks int) {
	for _, group := range s.file.Comments {
		for _, word := range strings.Fields(group.Text()) {
			words++
			if strings.HasSuffix(word, ":") || strings.HasSuffix(word, ";") {
				marks++
			}
		}
	}
	return words, marks
}

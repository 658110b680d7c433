package docs_test

import (
	"regexp"
	"strings"
)

// layOut prints an expression with one action, and one part of the condition, a
// line, and without redundant parentheses.
func layOut(expression string) string {
	update, condition, conditional := strings.Cut(" "+expression, " IF ")
	clauses := regexp.MustCompile(` (SET|REMOVE|ADD|DELETE) `).ReplaceAllString(update, "\n$1 ")
	var text []string
	for _, clause := range strings.Split(clauses, "\n")[1:] {
		keyword, actions, _ := strings.Cut(clause, " ")
		indent := strings.Repeat(" ", len(keyword)+1)
		text = append(text, "  "+keyword+" "+strings.Join(splitOutside(actions, ", "), ",\n  "+indent))
	}
	if conditional {
		// Its AND separates no conditions.
		condition = regexp.MustCompile(`(BETWEEN \S+) AND `).ReplaceAllString(condition, "$1 and ")
		text = append(text, "  IF "+strings.ReplaceAll(parse(condition).layOut(3), "\n", "\n     "))
	}
	return strings.Join(text, "\n")
}

// condition is an AND, an OR, or a comparison.
type condition struct {
	op   string // "AND", "OR", or "" for a comparison
	kids []condition
	text string
}

// parse reads a condition as the SDK's expression package prints it.
func parse(s string) condition {
	for strings.HasPrefix(s, "(") && len(splitOutside(s, ")")[0]) == len(s)-1 { // the first parenthesis ends with s
		s = s[1 : len(s)-1]
	}
	for _, op := range []string{"OR", "AND"} {
		parts := splitOutside(s, " "+op+" ")
		if len(parts) == 1 {
			continue
		}
		c := condition{op: op}
		for _, part := range parts {
			if kid := parse(part); kid.op == op {
				c.kids = append(c.kids, kid.kids...)
			} else {
				c.kids = append(c.kids, kid)
			}
		}
		return c
	}
	s = strings.ReplaceAll(s, " and ", " AND ")
	return condition{text: regexp.MustCompile(`([a-z]) \(`).ReplaceAllString(s, "$1(")}
}

// layOut prints the condition in one line if it is short, or else each part in a line.
func (c condition) layOut(depth int) string {
	if c.op == "" {
		return c.text
	}
	var parts []string
	for i, kid := range c.kids {
		part, indent := kid.layOut(depth+4), ""
		if i > 0 {
			indent = strings.Repeat(" ", len(c.op)+1)
		}
		if kid.op != "" {
			part, indent = "("+part+")", indent+" "
		}
		parts = append(parts, strings.ReplaceAll(part, "\n", "\n"+indent))
	}
	text := strings.Join(parts, "\n"+c.op+" ")
	line := folded(text)
	if (c.op == "OR" || depth > 3) && len(line)+depth <= 110 || len(line) <= 60 {
		return line
	}
	return text
}

// splitOutside splits s at the separators outside parentheses and braces.
func splitOutside(s, separator string) []string {
	var parts []string
	depth, begin := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '{':
			depth++
		case ')', '}':
			depth--
		}
		if depth == 0 && strings.HasPrefix(s[i:], separator) {
			parts = append(parts, s[begin:i])
			begin = i + len(separator)
		}
	}
	return append(parts, s[begin:])
}

package docs_test

import (
	"regexp"
	"strings"
)

// layOut prints an expression with one action, and one part of the condition, a
// line, and without redundant parentheses.
func layOut(expression string) string {
	update, condition, conditional := strings.Cut(" "+expression, " IF ")
	var lines []string
	for _, clause := range regexp.MustCompile(` (SET|REMOVE|ADD|DELETE) `).Split(update, -1) {
		if clause == "" {
			continue
		}
		keyword := regexp.MustCompile(` (SET|REMOVE|ADD|DELETE) `).FindStringSubmatch(update)[1]
		update = strings.TrimPrefix(update, " "+keyword+" "+clause)
		actions := splitOutside(clause, ", ")
		for i, action := range actions {
			head := strings.Repeat(" ", len(keyword)+1)
			if i == 0 {
				head = keyword + " "
			}
			if i < len(actions)-1 {
				action += ","
			}
			lines = append(lines, "  "+head+action)
		}
	}
	if conditional {
		for i, line := range parse(condition).lines(3) {
			head := "     "
			if i == 0 {
				head = "  IF "
			}
			lines = append(lines, head+line)
		}
	}
	return strings.Join(lines, "\n")
}

// condition is an AND, an OR, or a comparison.
type condition struct {
	op   string // "AND", "OR", or "" for a comparison
	kids []condition
	text string
}

// parse reads a condition as the SDK's expression package prints it.
func parse(s string) condition {
	for strings.HasPrefix(s, "(") && closes(s, 0) == len(s)-1 {
		s = s[1 : len(s)-1]
	}
	for _, op := range []string{"OR", "AND"} {
		parts := splitOutside(s, " "+op+" ")
		if op == "AND" {
			parts = joinBetween(parts)
		}
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
	return condition{text: regexp.MustCompile(`([a-z]) \(`).ReplaceAllString(s, "$1(")}
}

// joinBetween puts the halves of "x BETWEEN a AND b" together again.
func joinBetween(parts []string) []string {
	var joined []string
	for i := 0; i < len(parts); i++ {
		part := parts[i]
		if strings.Contains(part, " BETWEEN ") && !strings.HasPrefix(part, "(") && i+1 < len(parts) {
			i++
			part += " AND " + parts[i]
		}
		joined = append(joined, part)
	}
	return joined
}

// line prints the condition in one line.
func (c condition) line() string {
	if c.op == "" {
		return c.text
	}
	var parts []string
	for _, kid := range c.kids {
		part := kid.line()
		if kid.op != "" {
			part = "(" + part + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " "+c.op+" ")
}

// lines prints the condition in lines of at most 110 characters.
func (c condition) lines(depth int) []string {
	if line := c.line(); c.op == "" || (c.op == "OR" || depth > 3) && len(line)+depth <= 110 || len(line) <= 60 {
		return []string{line}
	}
	var all []string
	for i, kid := range c.kids {
		head, indent := c.op+" ", strings.Repeat(" ", len(c.op)+1)
		if i == 0 {
			head = ""
			indent = ""
		}
		part := kid.lines(depth + 4)
		if kid.op != "" {
			part[0] = "(" + part[0]
			part[len(part)-1] += ")"
			indent += " "
		}
		for j, line := range part {
			if j > 0 {
				head = indent
			}
			all = append(all, head+line)
		}
	}
	return all
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

// closes returns the index of the parenthesis that closes the one at i.
func closes(s string, i int) int {
	depth := 0
	for j := i; j < len(s); j++ {
		switch s[j] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return j
			}
		}
	}
	return -1
}

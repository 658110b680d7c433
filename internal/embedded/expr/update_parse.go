package expr

import (
	"slices"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// UpdateExpression is the name of the parameter, as messages give it.
const UpdateExpression = "UpdateExpression"

var verbs = []string{"SET", "REMOVE", "ADD", "DELETE"}

// ParseUpdate reads an update expression.
func ParseUpdate(src string, scope *Scope) (*Update, error) {
	p, err := newParser(UpdateExpression, src, scope)
	if err != nil {
		return nil, err
	}
	u := &Update{}
	seen := map[string]bool{}
	for p.peek().kind != tokenEnd {
		i := slices.IndexFunc(verbs, func(verb string) bool { return p.peek().isKeyword(verb) })
		if i < 0 {
			p.syntax()
			break
		}
		verb := verbs[i]
		p.next()
		if seen[verb] {
			p.refuse(faultName, "The %q section can only be used once in an update expression;", verb)
		}
		seen[verb] = true
		u.actions = append(u.actions, p.action(verb))
		for p.take(",") {
			u.actions = append(u.actions, p.action(verb))
		}
	}
	for i, a := range u.actions {
		if err := u.tree.add(i, a.path, UpdateExpression); err != nil {
			p.refuseAs(faultOverlap, err)
			break
		}
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	return u, nil
}

func (p *parser) action(verb string) action {
	p.operators++
	a := action{verb: verb, path: p.path()}
	switch verb {
	case "SET":
		p.expect("=")
		a.operand = p.rightHandSide()
	case "ADD", "DELETE":
		if p.peek().kind != tokenValue {
			p.syntax()
			break
		}
		l := p.literal()
		if k := l.Value.Kind; k != "" && !k.IsSet() && !(verb == "ADD" && k == value.Num) {
			p.refuse(faultOperand, "Incorrect operand type for operator or function; operator: %s, operand type: %s, typeSet: ALLOWED_FOR_%s_OPERAND", verb, k.Name(), verb)
		}
		a.operand = l
	}
	return a
}

// rightHandSide is an operand, or the sum or difference of exactly two.
func (p *parser) rightHandSide() Operand {
	left := p.updateOperand()
	minus := p.peek().is("-")
	if !minus && !p.peek().is("+") {
		return left
	}
	operator := p.next().text
	p.operators++
	right := p.updateOperand()
	p.allow(operator, left, value.Num)
	p.allow(operator, right, value.Num)
	return Sum{left, right, minus}
}

func (p *parser) updateOperand() Operand {
	t := p.peek()
	switch {
	case t.is("("):
		var inside Operand
		p.parenthesised(func() { inside = p.rightHandSide() })
		return inside
	case t.kind == tokenValue:
		return p.literal()
	case t.kind == tokenWord && p.peekSecond().is("("):
		p.next()
		p.operators++
		if t.text == "list_append" && p.nested > 0 {
			p.refuse(faultName, "The function is not allowed to be used this way in an expression; function: %s", t.text)
		}
		p.nested++
		args := p.arguments(p.updateOperand)
		p.nested--
		return p.updateFunction(t.text, args)
	}
	return p.path()
}

func (p *parser) updateFunction(name string, args []Operand) Operand {
	switch name {
	case "if_not_exists":
		if p.count(name, args, 2) {
			p.distinct(name, args[0], args[1])
			return IfNotExists{p.requirePath(name, args[0]), args[1]}
		}
	case "list_append":
		if p.count(name, args, 2) {
			p.allow(name, args[0], value.List)
			p.allow(name, args[1], value.List)
			return ListAppend{args[0], args[1]}
		}
	case "size", "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains":
		p.refuse(faultName, "The function is not allowed in an update expression; function: %s", name)
	default:
		p.refuse(faultName, "Invalid function name; function: %s", name)
	}
	return Literal{}
}

package expr

import (
	"reflect"
	"slices"
	"strings"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// The kinds of condition, under the names of their request parameters.
const (
	ConditionExpression    = "ConditionExpression"
	FilterExpression       = "FilterExpression"
	KeyConditionExpression = "KeyConditionExpression"
)

// ParseCondition reads a condition; kind is the parameter it came in.
func ParseCondition(kind, src string, scope *Scope) (Condition, error) {
	p, err := newParser(kind, src, scope)
	if err != nil {
		return nil, err
	}
	c := p.or()
	if err := p.finish(); err != nil {
		return nil, err
	}
	return c, nil
}

func (p *parser) or() Condition {
	c := p.and()
	for p.takeKeyword("OR") {
		p.operators++
		c = Or{c, p.and()}
	}
	return c
}

func (p *parser) and() Condition {
	c := p.not()
	for p.takeKeyword("AND") {
		p.operators++
		c = And{c, p.not()}
	}
	return c
}

func (p *parser) not() Condition {
	if p.takeKeyword("NOT") {
		p.operators++
		return Not{p.not()}
	}
	if p.peek().is("(") && !p.operandInside() {
		var c Condition
		p.parenthesised(func() { c = p.or() })
		return c
	}
	return p.predicate()
}

// operandInside reports whether the parentheses that open here hold an operand:
// an operator follows their end, as in (size(a)) = :n.
func (p *parser) operandInside() bool {
	depth := 0
	for i := p.pos; i < len(p.tokens)-1; i++ {
		switch t := p.tokens[i]; {
		case t.is("("):
			depth++
		case t.is(")"):
			if depth--; depth == 0 {
				after := p.tokens[i+1]
				return isComparison(after)
			}
		}
	}
	return false
}

// isComparison reports whether the token follows the first operand of a comparison.
func isComparison(t token) bool {
	return isComparator(t) || t.isKeyword("BETWEEN") || t.isKeyword("IN")
}

func isComparator(t token) bool {
	return t.kind == tokenPunct && slices.Contains([]string{"=", "<>", "<", "<=", ">", ">="}, t.text)
}

// predicate is a function or a comparison.
func (p *parser) predicate() Condition {
	p.operators++
	var left Operand
	if t := p.peek(); t.kind == tokenWord && p.peekSecond().is("(") && t.text != "size" && !t.isKeyword("NOT") {
		p.next()
		args := p.arguments(p.operand)
		if !isComparison(p.peek()) {
			return p.function(t.text, args)
		}
		p.misplaced(t.text)
		left = Literal{}
	} else {
		left = p.operand()
	}
	return p.comparison(left)
}

// comparison is what follows the first operand of a comparison.
func (p *parser) comparison(left Operand) Condition {
	t := p.peek()
	switch {
	case t.isKeyword("BETWEEN"):
		p.next()
		low := p.operand()
		if !p.takeKeyword("AND") {
			p.syntax()
		}
		return p.between(left, low, p.operand())
	case t.isKeyword("IN"):
		p.next()
		members := p.arguments(p.operand)
		if len(members) > maxMembers {
			p.refuse(faultName, "The IN operator is provided with too many operands; number of operands: %d", len(members))
		}
		p.distinct("IN", left, members...)
		return In{left, members}
	case isComparator(t):
		p.next()
		return p.compare(t.text, left, p.operand())
	}
	if _, ok := left.(Size); ok && p.syntaxErr == nil && (t.kind == tokenEnd || t.is(")") || t.isKeyword("AND") || t.isKeyword("OR")) {
		p.refuse(faultName, "The function is not allowed to be used this way in an expression; function: size")
		return Not{}
	}
	p.syntax()
	return Not{}
}

func (p *parser) operand() Operand {
	t := p.peek()
	switch {
	case t.is("("):
		var inside Operand
		p.parenthesised(func() { inside = p.operand() })
		return inside
	case t.kind == tokenValue:
		return p.literal()
	case t.kind == tokenWord && p.peekSecond().is("("):
		p.next()
		args := p.arguments(p.operand)
		if t.text != "size" {
			p.misplaced(t.text)
			return Literal{}
		}
		if !p.count("size", args, 1) {
			return Literal{}
		}
		p.allow("size", args[0], value.String, value.Binary, value.List, value.Map, value.StringSet, value.NumberSet, value.BinarySet)
		return Size{args[0]}
	}
	return p.path()
}

// misplaced refuses a function where a condition has no place for it.
func (p *parser) misplaced(function string) {
	switch function {
	case "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains":
		p.refuse(faultName, "The function is not allowed to be used this way in an expression; function: %s", function)
	case "if_not_exists", "list_append":
		p.refuse(faultName, "The function is not allowed in a %s expression; function: %s", p.purpose(), function)
	default:
		p.refuse(faultName, "Invalid function name; function: %s", function)
	}
}

// purpose is what messages call this kind of expression in prose.
func (p *parser) purpose() string {
	switch p.kind {
	case FilterExpression:
		return "filter"
	case KeyConditionExpression:
		return "key condition"
	}
	return "condition"
}

func (p *parser) compare(op string, left, right Operand) Condition {
	if op != "=" && op != "<>" {
		p.allowOrdered(op, left)
		p.allowOrdered(op, right)
	}
	p.distinct(op, left, right)
	return Compare{op, left, right}
}

// allowOrdered refuses literals that have no order.
func (p *parser) allowOrdered(op string, operand Operand) {
	p.allow(op, operand, value.String, value.Num, value.Binary)
}

// distinct refuses to compare a path with itself.
func (p *parser) distinct(op string, first Operand, rest ...Operand) {
	path, ok := first.(Path)
	if !ok {
		return
	}
	for _, other := range rest {
		if reflect.DeepEqual(first, other) {
			p.refuse(faultOperand, "The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %s", op, path)
		}
	}
}

func (p *parser) between(of, low, high Operand) Condition {
	for _, operand := range []Operand{of, low, high} {
		p.allowOrdered("BETWEEN", operand)
	}
	p.distinct("BETWEEN", of, low, high)
	lowest, ok := low.(Literal)
	highest, ok2 := high.(Literal)
	if ok && ok2 && lowest.Value.Kind != "" && highest.Value.Kind != "" {
		if lowest.Value.Kind != highest.Value.Kind {
			p.refuse(faultOperand, "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: %s, upper bound operand: %s",
				describe(lowest.Value), describe(highest.Value))
		} else if order, _ := lowest.Value.Compare(highest.Value); order > 0 {
			p.refuse(faultOperand, "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: %s, upper bound operand: %s",
				describe(lowest.Value), describe(highest.Value))
		}
	}
	return Between{of, low, high}
}

// describe is a scalar as messages print it.
func describe(v value.Value) string {
	text := v.Text
	if v.Kind == value.Num {
		text = v.Number.String()
	}
	return "AttributeValue: {" + string(v.Kind) + ":" + text + "}"
}

func (p *parser) function(name string, args []Operand) Condition {
	switch name {
	case "attribute_exists", "attribute_not_exists":
		if p.count(name, args, 1) {
			return Exists{p.requirePath(name, args[0]), name == "attribute_not_exists"}
		}
	case "attribute_type":
		if p.count(name, args, 2) {
			return p.hasType(args)
		}
	case "begins_with":
		if p.count(name, args, 2) {
			p.allow(name, args[0], value.String, value.Binary)
			p.allow(name, args[1], value.String, value.Binary)
			p.distinct(name, args[0], args[1])
			return BeginsWith{args[0], args[1]}
		}
	case "contains":
		if p.count(name, args, 2) {
			p.distinct(name, args[0], args[1])
			return Contains{args[0], args[1]}
		}
	default:
		p.misplaced(name)
	}
	return Not{}
}

var types = []value.Kind{
	value.Binary, value.Null, value.StringSet, value.Bool, value.List,
	value.BinarySet, value.Num, value.NumberSet, value.String, value.Map,
}

func (p *parser) hasType(args []Operand) Condition {
	p.allow("attribute_type", args[1], value.String)
	l, ok := args[1].(Literal)
	if !ok {
		p.refuse(faultOperand, "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: PATH")
		return Not{}
	}
	kind := value.Kind(l.Value.Text)
	if l.Value.Kind == value.String && !slices.Contains(types, kind) {
		names := make([]string, len(types))
		for i, t := range types {
			names[i] = string(t)
		}
		p.refuse(faultOperand, "Invalid attribute type name found; type: %s, valid types: {%s}", kind, strings.Join(names, ","))
	}
	return HasType{args[0], kind}
}

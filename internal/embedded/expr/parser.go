package expr

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// parser parses what all expressions share: tokens, operands and document paths. After a
// syntax error it is at the end of its tokens, so every loop ends. Other faults are kept
// while parsing continues, because DynamoDB checks the whole expression for one class of
// faults after another, and may report a later fault first.
type parser struct {
	kind      string // ConditionExpression, …: how messages call the expression
	src       string
	tokens    []token
	pos       int
	scope     *Scope
	syntaxErr error
	faults    [numFaults]error // the first of each class
	operators int
	nested    int // inside how many functions of an update

	// The last pair of parentheses that was closed, to notice redundant ones.
	opened, closed int
}

// faultClass is when DynamoDB notices a fault, the earliest first.
type faultClass int

const (
	faultForm    faultClass = iota // redundant parentheses
	faultName                      // reserved words, unknown functions
	faultOverlap                   // overlapping paths of an update
	faultOperand                   // undefined placeholders, impossible operands
	numFaults
)

func newParser(kind, src string, scope *Scope) (*parser, error) {
	if len(src) > MaxSize {
		return nil, Error(fmt.Sprintf("Invalid %s: Expression size has exceeded the maximum allowed size; expression size: %d", kind, len(src)))
	}
	p := &parser{kind: kind, src: src, tokens: tokenise(src), scope: scope, opened: -1, closed: -1}
	if p.peek().kind == tokenEnd {
		return nil, Error("Invalid " + kind + ": The expression can not be empty;")
	}
	return p, nil
}

// finish is the outcome of the parse: whatever follows is a syntax error.
func (p *parser) finish() error {
	if p.peek().kind != tokenEnd {
		p.syntax()
	}
	if p.operators > maxOperators {
		p.refuse(faultForm, "The expression contains too many operators; operator count: %d", p.operators)
	}
	if p.syntaxErr != nil {
		return p.syntaxErr
	}
	for _, err := range p.faults {
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) peek() token { return p.tokens[p.pos] }

func (p *parser) peekSecond() token { return p.tokens[min(p.pos+1, len(p.tokens)-1)] }

func (p *parser) next() token {
	t := p.tokens[p.pos]
	if t.kind != tokenEnd {
		p.pos++
	}
	return t
}

// take moves over the punctuation if it comes next.
func (p *parser) take(punct string) bool {
	if p.peek().is(punct) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) takeKeyword(word string) bool {
	if p.peek().isKeyword(word) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expect(punct string) {
	if !p.take(punct) {
		p.syntax()
	}
}

// syntax reports the next token, with its neighbours, and ends the parse.
func (p *parser) syntax() {
	if p.syntaxErr == nil {
		t := p.peek()
		near := p.src[p.tokens[max(p.pos-1, 0)].start:p.peekSecond().end]
		if t.kind == tokenEnd && p.pos > 0 {
			before := p.tokens[p.pos-1]
			near = p.src[before.start:before.end]
		}
		p.syntaxErr = Error(fmt.Sprintf("Invalid %s: Syntax error; token: %q, near: %q", p.kind, t.text, near))
	}
	p.pos = len(p.tokens) - 1
}

// refuse notes the first fault of a class.
func (p *parser) refuse(class faultClass, format string, args ...any) {
	p.refuseAs(class, Error("Invalid "+p.kind+": "+fmt.Sprintf(format, args...)))
}

func (p *parser) refuseAs(class faultClass, err error) {
	if p.faults[class] == nil {
		p.faults[class] = err
	}
}

// parenthesised reads what is between parentheses and refuses a second pair
// directly around the first, as DynamoDB does.
func (p *parser) parenthesised(inside func()) {
	open := p.pos
	p.expect("(")
	inside()
	if p.opened == open+1 && p.closed == p.pos-1 {
		p.refuse(faultForm, "The expression has redundant parentheses;")
	}
	p.opened, p.closed = open, p.pos
	p.expect(")")
}

// path reads a document path, resolving #names.
func (p *parser) path() Path {
	var path Path
	for {
		switch t := p.peek(); t.kind {
		case tokenWord:
			if isReserved(t.text) {
				p.refuse(faultName, "Attribute name is a reserved keyword; reserved keyword: %s", t.text)
			}
			path = append(path, Step{Name: t.text})
		case tokenName:
			name, ok := p.scope.names[t.text]
			if !ok {
				p.refuse(faultOperand, "An expression attribute name used in the document path is not defined; attribute name: %s", t.text)
				name = t.text
			}
			p.scope.usedNames[t.text] = true
			path = append(path, Step{Name: name})
		default:
			p.syntax()
			return Path{{Name: "?"}}
		}
		p.next()
		for p.take("[") {
			t := p.peek()
			index, err := strconv.Atoi(t.text)
			if t.kind != tokenDigits {
				p.syntax()
				return path
			}
			if err != nil || index > 1<<31-1 {
				p.refuse(faultName, "List index is not within the allowable range; index: [%s]", t.text)
				index = 0
			}
			p.next()
			p.expect("]")
			path = append(path, Step{Index: index})
		}
		if !p.take(".") {
			break
		}
	}
	if len(path) > value.MaxNesting {
		p.refuse(faultName, "The document path has too many nesting levels; nesting levels: %d", len(path))
	}
	return path
}

// literal reads a :value.
func (p *parser) literal() Literal {
	t := p.next()
	v, ok := p.scope.values[t.text]
	if !ok {
		p.refuse(faultOperand, "An expression attribute value used in expression is not defined; attribute value: %s", t.text)
		v = value.Value{}
	}
	p.scope.usedValues[t.text] = true
	return Literal{v}
}

// arguments reads the operands between a function's parentheses.
func (p *parser) arguments(operand func() Operand) []Operand {
	p.expect("(")
	args := []Operand{operand()}
	for p.take(",") {
		args = append(args, operand())
	}
	p.expect(")")
	return args
}

// count refuses a function that did not get n operands.
func (p *parser) count(function string, args []Operand, n int) bool {
	if len(args) == n {
		return true
	}
	p.refuse(faultOperand, "Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", function, len(args))
	return false
}

// allow refuses an operand whose type is known and never taken by the operator:
// a literal, or size(…), which is a number.
func (p *parser) allow(operator string, operand Operand, kinds ...value.Kind) {
	var kind value.Kind
	switch operand := operand.(type) {
	case Literal:
		kind = operand.Value.Kind // none if it is undefined, and refused already
	case Size:
		kind = value.Num
	}
	if kind != "" && !slices.Contains(kinds, kind) {
		p.refuse(faultOperand, "Incorrect operand type for operator or function; operator or function: %s, operand type: %s", operator, kind)
	}
}

// requirePath is the operand as a document path; anything else is refused.
func (p *parser) requirePath(function string, operand Operand) Path {
	path, ok := operand.(Path)
	if !ok {
		p.refuse(faultOperand, "Operator or function requires a document path; operator or function: %s", function)
		return Path{{Name: "?"}}
	}
	return path
}

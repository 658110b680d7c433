package expr

import (
	"unicode/utf16"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// Operand is what an operator or function is given: a Path, a Literal, a Size,
// and in updates also a function or a sum.
type Operand interface {
	// Eval is the operand's value for the item; ok is false if it has none.
	Eval(item value.Item) (v value.Value, ok bool)
}

// Eval makes a path an operand: the value found there.
func (p Path) Eval(item value.Item) (value.Value, bool) { return p.Lookup(item) }

// Literal is the value of a :placeholder.
type Literal struct{ Value value.Value }

// Eval is the value itself.
func (l Literal) Eval(value.Item) (value.Value, bool) { return l.Value, true }

// Size is the function size(operand).
type Size struct{ Of Operand }

// Eval returns the length of a string in UTF-16 code units or of a binary in
// bytes, or the number of elements of a set, list or map. Any other type has no
// size, so a comparison with it is false. DynamoDB's documentation says only
// "the length of the string"; github.com/ExtendDB/extenddb/issues/60 and pull
// request 67 measured the unit on the service.
func (s Size) Eval(item value.Item) (value.Value, bool) {
	v, ok := s.Of.Eval(item)
	if !ok {
		return value.Value{}, false
	}
	n := 0
	switch v.Kind {
	case value.String:
		for _, r := range v.Text {
			n += utf16.RuneLen(r)
		}
	case value.Binary:
		n = len(v.Text)
	case value.Map:
		n = len(v.Fields)
	case value.List, value.StringSet, value.NumberSet, value.BinarySet:
		n = len(v.Elems)
	default:
		return value.Value{}, false
	}
	return value.OfNumber(value.Count(n)), true
}

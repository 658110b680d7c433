// Package value holds DynamoDB's attribute values as plain Go data: their wire
// form, exact numbers, equality and order, and the size DynamoDB charges for
// them.
//
// A Value is never changed after it was made. Another one may share the parts that stay the
// same. So an engine can return an old item while the next request replaces it.
package value

import (
	"slices"
	"strings"
)

// Kind is one of the ten attribute types, under its name on the wire.
type Kind string

// The attribute types.
const (
	String    Kind = "S"
	Num       Kind = "N"
	Binary    Kind = "B"
	Bool      Kind = "BOOL"
	Null      Kind = "NULL"
	Map       Kind = "M"
	List      Kind = "L"
	StringSet Kind = "SS"
	NumberSet Kind = "NS"
	BinarySet Kind = "BS"
)

// Value is one attribute value. Kind says which field counts; Text holds the
// characters of a string and the raw bytes of a binary.
type Value struct {
	Kind   Kind
	Text   string
	Number Number
	Bool   bool
	Fields Item    // Map
	Elems  []Value // List, and the members of a set in ascending order
}

// Item is a top-level item, and equally the inside of a map.
type Item map[string]Value

// Invalid is a value that DynamoDB understands and refuses; it becomes a
// ValidationException.
type Invalid string

func (e Invalid) Error() string { return string(e) }

// Malformed is JSON of the wrong shape; it becomes a SerializationException.
type Malformed string

func (e Malformed) Error() string { return string(e) }

// CheckName refuses an attribute name that is empty or longer than 65,535 bytes,
// of an item or of a map in it: docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
func CheckName(name string) error {
	switch {
	case name == "":
		return Invalid("Empty attribute name")
	case len(name) > 65535:
		return Invalid("Attribute name is too large, must be less than 65536 bytes")
	}
	return nil
}

// OfNumber is the value of type N.
func OfNumber(n Number) Value { return Value{Kind: Num, Number: n} }

// OfString is the value of type S.
func OfString(s string) Value { return Value{Kind: String, Text: s} }

// IsSet reports whether k is one of the three set types.
func (k Kind) IsSet() bool { return k == StringSet || k == NumberSet || k == BinarySet }

// Member is the kind of a set's elements.
func (k Kind) Member() Kind {
	switch k {
	case StringSet:
		return String
	case NumberSet:
		return Num
	case BinarySet:
		return Binary
	}
	return ""
}

// Name is the type's long name, as some error messages spell it.
func (k Kind) Name() string {
	switch k {
	case String:
		return "STRING"
	case Num:
		return "NUMBER"
	case Binary:
		return "BINARY"
	case Bool:
		return "BOOLEAN"
	case Map:
		return "MAP"
	case List:
		return "LIST"
	case StringSet:
		return "STRING_SET"
	case NumberSet:
		return "NUMBER_SET"
	case BinarySet:
		return "BINARY_SET"
	}
	return string(k)
}

// Equal reports whether two values are the same. Values of different types
// never are.
func (v Value) Equal(w Value) bool {
	if v.Kind != w.Kind {
		return false
	}
	switch v.Kind {
	case String, Binary:
		return v.Text == w.Text
	case Num:
		return v.Number == w.Number
	case Bool:
		return v.Bool == w.Bool
	case Map:
		return v.Fields.Equal(w.Fields)
	case List, StringSet, NumberSet, BinarySet: // the members of a set are sorted
		return slices.EqualFunc(v.Elems, w.Elems, Value.Equal)
	}
	return true
}

// Equal reports whether two items hold the same attributes.
func (i Item) Equal(j Item) bool {
	if len(i) != len(j) {
		return false
	}
	for name, v := range i {
		if w, ok := j[name]; !ok || !v.Equal(w) {
			return false
		}
	}
	return true
}

// Has reports whether a list or set has an element equal to e.
func (v Value) Has(e Value) bool {
	return slices.ContainsFunc(v.Elems, e.Equal)
}

// Compare orders two strings, numbers or binaries of the same type: strings and
// binaries by their bytes, as DynamoDB does. ok is false for anything else.
func (v Value) Compare(w Value) (order int, ok bool) {
	if v.Kind != w.Kind {
		return 0, false
	}
	switch v.Kind {
	case String, Binary:
		return strings.Compare(v.Text, w.Text), true
	case Num:
		return v.Number.Cmp(w.Number), true
	}
	return 0, false
}

// Union is the set v with the members of w added, in place of neither.
func (v Value) Union(w Value) Value {
	elems := slices.Clone(v.Elems)
	for _, e := range w.Elems {
		if !v.Has(e) {
			elems = append(elems, e)
		}
	}
	slices.SortFunc(elems, order)
	return Value{Kind: v.Kind, Elems: elems}
}

// order is Compare for the members of one set.
func order(v, w Value) int {
	o, _ := v.Compare(w)
	return o
}

// Minus is the set v without the members of w; ok is false when nothing is
// left, for a set may not be empty.
func (v Value) Minus(w Value) (rest Value, ok bool) {
	elems := slices.DeleteFunc(slices.Clone(v.Elems), w.Has)
	return Value{Kind: v.Kind, Elems: elems}, len(elems) > 0
}

// Depth is how deep maps and lists are nested, 0 for an item of
// scalars and sets.
func (i Item) Depth() int {
	depth := 0
	for _, v := range i {
		depth = max(depth, v.depth())
	}
	return depth
}

func (v Value) depth() int {
	switch v.Kind {
	case Map:
		return 1 + v.Fields.Depth()
	case List:
		depth := 0
		for _, e := range v.Elems {
			depth = max(depth, e.depth())
		}
		return 1 + depth
	}
	return 0
}

package expr

import (
	"fmt"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// KeyRange is what a key condition asks: one partition key, and all sort keys
// or those for which a condition holds.
type KeyRange struct {
	Partition  value.Value
	Sort       Condition     // nil: all of them
	SortValues []value.Value // what Sort compares the sort key with
}

// KeyRangeOf is what a parsed key condition asks of a table with the given key
// attributes; sort is empty for a table without a sort key.
func KeyRangeOf(c Condition, partition, sort string) (KeyRange, error) {
	var k KeyRange
	found := map[string]bool{}
	for _, term := range conjuncts(c) {
		term = keyFirst(term)
		name, operands, err := keyTerm(term)
		if err != nil {
			return KeyRange{}, err
		}
		if found[name] {
			return KeyRange{}, Error("KeyConditionExpressions must only contain one condition per key")
		}
		found[name] = true
		switch eq, isCompare := term.(Compare); {
		case name == partition && isCompare && eq.Op == "=":
			k.Partition = operands[0]
		case name == partition:
			return KeyRange{}, Error("Query key condition not supported")
		case name == sort:
			k.Sort, k.SortValues = term, operands
		}
	}
	switch n := len(found); {
	case n > 2:
		return KeyRange{}, Error("Conditions can be of length 1 or 2 only")
	case !found[partition]:
		return KeyRange{}, Error("Query condition missed key schema element: " + partition)
	case n == 2 && !found[sort]:
		if sort == "" {
			return KeyRange{}, Error("Query key condition not supported")
		}
		return KeyRange{}, Error("Query condition missed key schema element: " + sort)
	}
	return k, nil
}

func conjuncts(c Condition) []Condition {
	if and, ok := c.(And); ok {
		return append(conjuncts(and.Left), conjuncts(and.Right)...)
	}
	return []Condition{c}
}

// keyFirst turns :v < key into key > :v.
func keyFirst(c Condition) Condition {
	compare, ok := c.(Compare)
	if _, literal := compare.Left.(Literal); !ok || !literal {
		return c
	}
	mirrored := map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}
	if op, ok := mirrored[compare.Op]; ok {
		compare.Op = op
	}
	compare.Left, compare.Right = compare.Right, compare.Left
	return compare
}

// keyTerm takes one term of a key condition apart: which attribute it is about,
// and the values it is compared with.
func keyTerm(c Condition) (name string, values []value.Value, err error) {
	var of Operand
	var with []Operand
	switch c := c.(type) {
	case Compare:
		if c.Op == "<>" {
			return "", nil, Error("Invalid operator used in KeyConditionExpression: <>")
		}
		of, with = c.Left, []Operand{c.Right}
	case Between:
		of, with = c.Of, []Operand{c.Low, c.High}
	case BeginsWith:
		of, with = c.Of, []Operand{c.Prefix}
	default:
		return "", nil, Error("Invalid operator used in KeyConditionExpression: " + operatorName(c))
	}
	for _, operand := range append(with, of) {
		if _, ok := operand.(Size); ok {
			return "", nil, Error("KeyConditionExpressions cannot contain nested operations")
		}
	}
	path, ok := of.(Path)
	if !ok {
		return "", nil, Error("Invalid condition in KeyConditionExpression: No key attribute specified")
	}
	if len(path) > 1 {
		return "", nil, Error("KeyConditionExpressions cannot have conditions on nested attributes")
	}
	for _, operand := range with {
		l, ok := operand.(Literal)
		if !ok {
			return "", nil, Error("Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition")
		}
		values = append(values, l.Value)
	}
	return path[0].Name, values, nil
}

func operatorName(c Condition) string {
	switch c := c.(type) {
	case Or:
		return "OR"
	case Not:
		return "NOT"
	case In:
		return "IN"
	case Contains:
		return "contains"
	case HasType:
		return "attribute_type"
	case Exists:
		if c.Not {
			return "attribute_not_exists"
		}
		return "attribute_exists"
	}
	return fmt.Sprintf("%T", c)
}

package expr

import (
	"strings"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// Condition is a parsed condition, filter or key condition.
//
// An operand that the item lacks makes every comparison false, but for <>: a
// missing attribute is "not equal" to anything, even to another missing one. The
// documentation does not say so; DynamoDB and DynamoDB Local both do it.
type Condition interface {
	Holds(item value.Item) bool
}

// And, Or and Not are the logical operators.
type (
	And struct{ Left, Right Condition }
	Or  struct{ Left, Right Condition }
	Not struct{ Of Condition }
)

// Compare is one of = <> < <= > >=.
type Compare struct {
	Op          string
	Left, Right Operand
}

// Between holds from the lower to the upper bound, both included.
type Between struct{ Of, Low, High Operand }

// In holds if the operand equals one of the members.
type In struct {
	Of      Operand
	Members []Operand
}

// Exists is attribute_exists, or attribute_not_exists when Not is set.
type Exists struct {
	Path Path
	Not  bool
}

// HasType is attribute_type. The service takes a value for its first operand too,
// although the documentation asks for a path.
type HasType struct {
	Of   Operand
	Kind value.Kind
}

// BeginsWith is begins_with.
type BeginsWith struct{ Of, Prefix Operand }

// Contains is contains: a substring, or an element of a set or list.
type Contains struct{ Of, Part Operand }

// Holds reports whether both do.
func (c And) Holds(item value.Item) bool { return c.Left.Holds(item) && c.Right.Holds(item) }

// Holds reports whether either does.
func (c Or) Holds(item value.Item) bool { return c.Left.Holds(item) || c.Right.Holds(item) }

// Holds reports whether the other does not.
func (c Not) Holds(item value.Item) bool { return !c.Of.Holds(item) }

// Holds compares; see Condition for missing operands.
func (c Compare) Holds(item value.Item) bool {
	left, okLeft := c.Left.Eval(item)
	right, okRight := c.Right.Eval(item)
	if !okLeft || !okRight {
		return c.Op == "<>"
	}
	switch c.Op {
	case "=":
		return left.Equal(right)
	case "<>":
		return !left.Equal(right)
	}
	order, ok := left.Compare(right)
	return ok && ordered(c.Op, order)
}

func ordered(op string, order int) bool {
	switch op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// Holds reports whether low <= operand <= high.
func (c Between) Holds(item value.Item) bool {
	return Compare{">=", c.Of, c.Low}.Holds(item) && Compare{"<=", c.Of, c.High}.Holds(item)
}

// Holds reports whether a member is equal.
func (c In) Holds(item value.Item) bool {
	for _, m := range c.Members {
		if (Compare{"=", c.Of, m}).Holds(item) {
			return true
		}
	}
	return false
}

// Holds reports whether the path leads to a value, or to none.
func (c Exists) Holds(item value.Item) bool {
	_, ok := c.Path.Lookup(item)
	return ok != c.Not
}

// Holds reports whether the operand is a value of the type.
func (c HasType) Holds(item value.Item) bool {
	v, ok := c.Of.Eval(item)
	return ok && v.Kind == c.Kind
}

// Holds is for strings and binaries; anything else begins with nothing.
func (c BeginsWith) Holds(item value.Item) bool {
	v, ok := c.Of.Eval(item)
	prefix, okPrefix := c.Prefix.Eval(item)
	return ok && okPrefix && v.Kind == prefix.Kind && isText(v) && strings.HasPrefix(v.Text, prefix.Text)
}

// Holds reports whether the part is inside.
func (c Contains) Holds(item value.Item) bool {
	v, ok := c.Of.Eval(item)
	part, okPart := c.Part.Eval(item)
	switch {
	case !ok || !okPart:
		return false
	case isText(v):
		return v.Kind == part.Kind && strings.Contains(v.Text, part.Text)
	case v.Kind == value.List || v.Kind.Member() == part.Kind:
		return v.Has(part)
	}
	return false
}

func isText(v value.Value) bool { return v.Kind == value.String || v.Kind == value.Binary }

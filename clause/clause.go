// Package clause describes conditional writes of one item as plain values.
//
// A [Write] has conditions, all of which must hold, and changes. From it follow the expressions of the request
// ([Write.Builder]), and what the write does to an item ([Write.Apply]). So no rule
// is written a second time, in another language. A [Reader] reads what a write has left.
//
// The package is of the protocol and may change in any version.
//
// It sends nothing, has no clock and keeps no state. The semantics are those of DynamoDB: a comparison with an
// attribute that is missing or of another type is false, right sides read the item as it was, and a change of a path
// whose parent is missing makes the whole request invalid.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
package clause

import (
	"cmp"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is an item, or a map in one, in the SDK's form.
type Item = map[string]types.AttributeValue

// Value is the value of an attribute.
type Value = types.AttributeValue

// Names are the names of attributes that a user chooses.
type Names struct {
	Key     string // partition key, or another attribute that each item has
	Expires string // TTL attribute of the table; empty: changes of it are left out
	Prefix  string // of all other attributes
}

// The names of attributes that Names replaces.
const (
	key     = "\x00key"
	expires = "\x00expires"
)

func (n Names) of(attribute string) string {
	switch attribute {
	case key:
		return n.Key
	case expires:
		return n.Expires
	}
	return n.Prefix + attribute
}

// Path leads to an attribute of the item, to an entry of a map, or to a field of such an entry.
type Path struct {
	attribute, id, field string
	depth                uint8 // 0: an attribute, 1: an entry, 2: a field
}

// At returns the path of an attribute.
func At(attribute string) Path { return Path{attribute: attribute} }

// The partition key, which is missing exactly if there is no item, and the TTL attribute of the table.
var (
	Key     = Path{attribute: key}
	Expires = Path{attribute: expires}
)

// Entry returns the path of the entry with that id in the map p.
func (p Path) Entry(id string) Path { return Path{attribute: p.attribute, id: id, depth: 1} }

// Field returns the path of a field of the entry p.
func (p Path) Field(name string) Path { return Path{p.attribute, p.id, name, 2} }

// Operand is what an attribute is compared with, or set to.
type Operand struct {
	kind  operandKind
	path  *Path // nil: a literal, or a sum
	value Value
	of    *Operand // the alternative of OrIfAbsent, the first term of Plus
}

type operandKind uint8

const (
	literal  operandKind = iota
	pathOf               // the attribute as it was
	ifAbsent             // the attribute as it was, or of
	sum                  // of + value
)

// V returns a value as an operand.
func V(v Value) Operand { return Operand{value: v} }

// Was returns the attribute as it was before the write.
func (p Path) Was() Operand { return Operand{kind: pathOf, path: &p} }

// Or returns the attribute as it was, or o if it was absent.
func (p Path) Or(o Operand) Operand { return Operand{kind: ifAbsent, path: &p, of: &o} }

// Plus returns the sum of o and a number.
func (o Operand) Plus(n Value) Operand { return Operand{kind: sum, of: &o, value: n} }

// Cond is a condition.
type Cond struct {
	name string
	test test
	path Path
	to   Operand
	more []Operand // of OneOf, and the upper bound of Between
	of   []Cond
}

type test uint8

const (
	exists test = iota + 1
	absent
	hasType
	equal
	less
	atMost
	atLeast
	between
	oneOf
	beginsWith
	sizeEqual
	sizeLess
	all
	any_
)

// Exists and the other methods of Path return conditions on its attribute.
func (p Path) Exists() Cond { return Cond{test: exists, path: p} }

// Absent returns the condition that there is no p.
func (p Path) Absent() Cond { return Cond{test: absent, path: p} }

// Equal returns the condition that p = o.
func (p Path) Equal(o Operand) Cond { return Cond{test: equal, path: p, to: o} }

// Less returns the condition that p < o.
func (p Path) Less(o Operand) Cond { return Cond{test: less, path: p, to: o} }

// AtMost returns the condition that p <= o.
func (p Path) AtMost(o Operand) Cond { return Cond{test: atMost, path: p, to: o} }

// AtLeast returns the condition that p >= o.
func (p Path) AtLeast(o Operand) Cond { return Cond{test: atLeast, path: p, to: o} }

// OneOf returns the condition that p is one of at least one.
func (p Path) OneOf(of ...Operand) Cond { return Cond{test: oneOf, path: p, to: of[0], more: of[1:]} }

// Between returns the condition that low <= p <= high.
func (p Path) Between(low, high Operand) Cond {
	return Cond{test: between, path: p, to: low, more: []Operand{high}}
}

// BeginsWith returns the condition that p is a string with that prefix.
func (p Path) BeginsWith(prefix Operand) Cond {
	return Cond{test: beginsWith, path: p, to: prefix}
}

// Type returns the condition that p has that type of DynamoDB's, such as "M".
func (p Path) Type(t string) Cond {
	return Cond{test: hasType, path: p, to: V(&types.AttributeValueMemberS{Value: t})}
}

// SizeEqual returns the condition that the size of p is o.
func (p Path) SizeEqual(o Operand) Cond { return Cond{test: sizeEqual, path: p, to: o} }

// SizeLess returns the condition that the size of p is less than o.
func (p Path) SizeLess(o Operand) Cond { return Cond{test: sizeLess, path: p, to: o} }

// All returns the condition that all conditions hold.
func All(of ...Cond) Cond { return Cond{test: all, of: of} }

// Any returns the condition that one of the conditions holds.
func Any(of ...Cond) Cond { return Cond{test: any_, of: of} }

// As returns the condition with a name, by which people and tests refer to it.
func (c Cond) As(name string) Cond {
	c.name = name
	return c
}

// Name returns the name that As has given; "" without one.
func (c Cond) Name() string { return c.name }

// Change changes one attribute.
type Change struct {
	kind changeKind
	path Path
	to   Operand
}

type changeKind uint8

const (
	set changeKind = iota
	remove
	add     // elements to a set
	delete_ // elements of a set
)

// Set sets p.
func (p Path) Set(o Operand) Change { return Change{set, p, o} }

// Remove removes p.
func (p Path) Remove() Change { return Change{kind: remove, path: p} }

// Add adds the elements of a set to the set p.
func (p Path) Add(v Value) Change { return Change{add, p, V(v)} }

// Delete removes the elements of a set from the set p.
func (p Path) Delete(v Value) Change { return Change{delete_, p, V(v)} }

// Kind is the kind of request.
type Kind uint8

// The kinds. Check changes nothing: it is part of a transaction.
const (
	Update Kind = iota
	Put
	Delete
	Check
)

// Repeat says who may send a write again that had no answer.
type Repeat uint8

// A write is Freely repeated, as it is, by the SDK too, if it is refused or changes nothing when it is applied to what
// it left; but a beat may count twice. Any other is repeated BySender alone, which changes it, or judges what the first
// attempt may have done.
const (
	Freely Repeat = iota
	BySender
)

// Write is one conditional write.
type Write struct {
	Name   string // in the words of the protocol: "CLAIM"
	Kind   Kind
	If     []Cond
	Do     []Change
	Item   Item   // of a Put: the whole item
	Repeat Repeat // of a write by itself; a transaction is repeated as its sender says

	// What a refusal means: Made if the item that refused meets these conditions, as far as there are any, else Else.
	Made []Cond
	Else Refusal
}

// Refusal is what it means for its sender that a write was refused.
type Refusal uint8

// The refusals. One that is Contradicted is none that the item can explain: it meets every condition.
const (
	Open         Refusal = iota // the sender decides what it does next, by the item that refused
	Made                        // what the write does has been done: by an attempt without an answer, or a later write
	Lost                        // the sender has lost what it writes for: the lock, or its row
	Contradicted                // sending it again would have no end
)

// Refused returns what it means that the item refused the write.
func (w Write) Refused(n Names, item Item) Refusal {
	made := len(w.Made) > 0 && Write{If: w.Made}.Refuses(n, item) == nil
	switch {
	case w.Refuses(n, item) == nil:
		return Contradicted
	case made:
		return Made
	}
	return w.Else
}

// Without returns the write without the condition of that name, and whether it has one.
func (w Write) Without(name string) (Write, bool) {
	kept, found := without(w.If, name)
	w.If = kept
	return w, found
}

func without(conds []Cond, name string) (kept []Cond, found bool) {
	for _, c := range conds {
		if c.name == name {
			found = true
			continue
		}
		if c.test == all || c.test == any_ {
			of, inside := without(c.of, name)
			if found = found || inside; inside && len(of) == 0 {
				continue
			}
			c.of = of
		}
		kept = append(kept, c)
	}
	return kept, found
}

// Conditions returns the names of all named conditions, in order.
func (w Write) Conditions() (names []string) {
	var walk func([]Cond)
	walk = func(conds []Cond) {
		for _, c := range conds {
			if c.name != "" {
				names = append(names, c.name)
			}
			walk(c.of)
		}
	}
	walk(w.If)
	return names
}

// Changes returns what an update changes, for people: "sets granted", "adds 1 to holders.#id.beat".
func (w Write) Changes() (all []string) {
	for _, c := range w.Do {
		verb := [...]string{set: "sets", remove: "removes", add: "adds times to", delete_: "deletes times from"}[c.kind]
		switch {
		case c.to.kind == sum:
			verb = "adds 1 to"
		case c.to.kind == ifAbsent:
			verb = "sets, if absent,"
		}
		all = append(all, verb+" "+c.path.String())
	}
	return all
}

// String returns the path with #id for an id, without the names that a user chooses.
func (p Path) String() string {
	name := map[string]string{key: "the key", expires: "the TTL attribute"}[p.attribute]
	name = cmp.Or(name, p.attribute)
	if p.depth > 0 {
		name += ".#id"
	}
	if p.depth > 1 {
		name += "." + p.field
	}
	return name
}

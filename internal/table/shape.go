package table

import (
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Expressions are those of one request, with their names and values.
type Expressions struct {
	update, condition, key *string // nil: none
	names                  map[string]string
	values                 map[string]types.AttributeValue
	err                    error // of building them; the request returns it
}

// Build builds the expressions of one request.
func Build(b expression.Builder) Expressions {
	e, err := b.Build()
	if err != nil {
		return Expressions{err: NotApplied(err)}
	}
	return Expressions{e.Update(), e.Condition(), e.KeyCondition(), e.Names(), e.Values(), nil}
}

// Shape is a kind of request that is sent often. Its expressions are built once, and each request fills in its Slots.
// Shapes are keys of a map, so they are comparable and contain no part of a single request.
type Shape interface {
	// Build returns the expressions of a request with those slots. Nothing but the shape may decide which they are: the
	// slots that it receives may be dummies.
	Build(Slots) expression.Builder
}

// Slots are what differs between the requests of one shape.
type Slots struct {
	Name   string // a name in paths
	Values []types.AttributeValue
}

// Value returns the value with that index.
func (s Slots) Value(i int) expression.ValueBuilder { return expression.Value(s.Values[i]) }

// After returns the slots without the first n values.
func (s Slots) After(n int) Slots { return Slots{s.Name, s.Values[n:]} }

// Fill returns the expressions of a request of that shape.
func (s *Store) Fill(shape Shape, slots Slots) Expressions {
	built, ok := s.templates.Load(shape)
	if !ok {
		t := newTemplate(shape, len(slots.Values))
		if t.err != nil {
			return t.Expressions
		}
		built, _ = s.templates.LoadOrStore(shape, t)
	}
	return built.(*template).fill(slots)
}

// template is a shape with dummies in its slots.
type template struct {
	Expressions
	name  string         // the placeholder of Slots.Name
	slots map[string]int // the placeholders of Slots.Values, and the index of each
}

// slotName is the dummy of Slots.Name. No attribute of the library has that name.
const slotName = "\x00"

func newTemplate(shape Shape, values int) *template {
	dummies := make([]types.AttributeValue, values)
	for i := range dummies {
		dummies[i] = String(strconv.Itoa(i))
	}
	t := &template{Expressions: Build(shape.Build(Slots{slotName, dummies})), slots: map[string]int{}}
	for placeholder, name := range t.names {
		if name == slotName {
			t.name = placeholder
		}
	}
	for placeholder, value := range t.values {
		if i := slices.Index(dummies, value); i >= 0 { // the pointers are compared
			t.slots[placeholder] = i
		}
	}
	return t
}

func (t *template) fill(s Slots) Expressions {
	e := t.Expressions
	e.names, e.values = maps.Clone(e.names), maps.Clone(e.values)
	if t.name != "" {
		e.names[t.name] = s.Name
	}
	for placeholder, i := range t.slots {
		e.values[placeholder] = s.Values[i]
	}
	return e
}

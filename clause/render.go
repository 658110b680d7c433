package clause

import (
	"slices"
	"strconv"

	x "github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// Builder returns the expressions of the write.
func (w Write) Builder(n Names) x.Builder {
	r := renderer{names: n, name: func(id string) string { return id }, value: func(v Value) Value { return v }}
	return r.write(w)
}

// Shape appends a key to b that two writes share exactly if their expressions differ in nothing but ids and values. It
// returns those in the order in which Template numbers them.
func (w Write) Shape(b []byte, n Names) (_ []byte, ids []string, values []Value) {
	s := shape{b: b, values: make([]Value, 0, 16)}
	s.text(n.Key)
	s.text(n.Expires)
	s.text(n.Prefix)
	s.b = append(s.b, byte(w.Kind))
	for i := range w.If {
		s.cond(&w.If[i])
	}
	s.b = append(s.b, '|')
	for i := range w.Do {
		s.change(n, &w.Do[i])
	}
	return s.b, s.ids, s.values
}

// Template returns the expressions of all writes of w's shape. name and value return what stands for the id and for the
// value with that number.
func (w Write) Template(n Names, name func(int) string, value func(int) Value) x.Builder {
	var ids []string
	values := 0
	r := renderer{names: n,
		name: func(id string) string {
			i := slices.Index(ids, id)
			if i < 0 {
				i, ids = len(ids), append(ids, id)
			}
			return name(i)
		},
		value: func(Value) Value {
			values++
			return value(values - 1)
		},
	}
	return r.write(w)
}

// renderer makes expressions. It visits ids and values in the same order as shape.
type renderer struct {
	names Names
	name  func(string) string
	value func(Value) Value
}

func (r *renderer) write(w Write) x.Builder {
	b := x.NewBuilder()
	conds := make([]x.ConditionBuilder, 0, len(w.If))
	for i := range w.If {
		conds = append(conds, r.cond(&w.If[i]))
	}
	switch len(conds) {
	case 0:
	case 1:
		b = b.WithCondition(conds[0])
	default:
		b = b.WithCondition(x.And(conds[0], conds[1], conds[2:]...))
	}
	if w.Kind != Update {
		return b
	}
	var u x.UpdateBuilder
	for i := range w.Do {
		u = r.change(u, &w.Do[i])
	}
	return b.WithUpdate(u)
}

func (r *renderer) path(p Path) x.NameBuilder {
	n := x.NameNoDotSplit(r.names.of(p.attribute))
	if p.depth > 0 {
		n = n.AppendName(x.NameNoDotSplit(r.name(p.id)))
	}
	if p.depth > 1 {
		n = n.AppendName(x.NameNoDotSplit(p.field))
	}
	return n
}

func (r *renderer) literal(v Value) x.ValueBuilder { return x.Value(r.value(v)) }

func (r *renderer) operand(o *Operand) x.OperandBuilder {
	switch o.kind {
	case pathOf:
		return r.path(*o.path)
	case ifAbsent:
		p := r.path(*o.path)
		return p.IfNotExists(r.operand(o.of))
	case sum:
		of := r.operand(o.of)
		return x.Plus(of, r.literal(o.value))
	}
	return r.literal(o.value)
}

func (r *renderer) cond(c *Cond) x.ConditionBuilder {
	if c.test == all || c.test == any_ {
		return r.join(c)
	}
	p, to := r.path(c.path), r.operands(c)
	switch c.test {
	case exists:
		return p.AttributeExists()
	case absent:
		return p.AttributeNotExists()
	case hasType:
		return p.AttributeType(x.DynamoDBAttributeType(stringOf(c.to.value)))
	case equal:
		return x.Equal(p, to[0])
	case less:
		return x.LessThan(p, to[0])
	case atMost:
		return x.LessThanEqual(p, to[0])
	case atLeast:
		return x.GreaterThanEqual(p, to[0])
	case between:
		return x.Between(p, to[0], to[1])
	case oneOf:
		return x.In(p, to[0], to[1:]...)
	case beginsWith:
		return p.BeginsWith(stringOf(c.to.value))
	case sizeEqual:
		return x.Equal(p.Size(), to[0])
	}
	return x.LessThan(p.Size(), to[0])
}

func (r *renderer) operands(c *Cond) (to []x.OperandBuilder) {
	if !c.hasOperands() {
		return nil
	}
	to = append(to, r.operand(&c.to))
	for i := range c.more {
		to = append(to, r.operand(&c.more[i]))
	}
	return to
}

func (r *renderer) join(c *Cond) x.ConditionBuilder {
	of := make([]x.ConditionBuilder, 0, len(c.of))
	for i := range c.of {
		of = append(of, r.cond(&c.of[i]))
	}
	switch {
	case len(of) == 1:
		return of[0]
	case c.test == all:
		return x.And(of[0], of[1], of[2:]...)
	}
	return x.Or(of[0], of[1], of[2:]...)
}

func (r *renderer) change(u x.UpdateBuilder, c *Change) x.UpdateBuilder {
	if c.path.attribute == expires && r.names.Expires == "" {
		return u
	}
	p := r.path(c.path)
	switch c.kind {
	case remove:
		return u.Remove(p)
	case add:
		return u.Add(p, r.literal(c.to.value))
	case delete_:
		return u.Delete(p, r.literal(c.to.value))
	}
	return u.Set(p, r.operand(&c.to))
}

// shape writes all of a write but its ids and values.
type shape struct {
	b      []byte
	ids    []string
	values []Value
}

func (s *shape) text(t string) { s.b = append(strconv.AppendQuote(s.b, t), ',') }

func (s *shape) path(p Path) {
	s.b = append(s.b, p.depth)
	s.text(p.attribute)
	if p.depth > 0 {
		i := slices.Index(s.ids, p.id)
		if i < 0 {
			i, s.ids = len(s.ids), append(s.ids, p.id)
		}
		s.b = append(s.b, byte(i)) // at most 40 ids are in one write
	}
	s.text(p.field)
}

func (s *shape) operand(o *Operand) {
	s.b = append(s.b, byte(o.kind))
	if o.kind == pathOf || o.kind == ifAbsent {
		s.path(*o.path)
	}
	if o.of != nil {
		s.operand(o.of)
	}
	if o.kind == literal || o.kind == sum {
		s.values = append(s.values, o.value)
	}
}

func (s *shape) cond(c *Cond) {
	s.b = append(s.b, byte(c.test), byte(len(c.of)), byte(len(c.more)))
	if c.test == all || c.test == any_ {
		for i := range c.of {
			s.cond(&c.of[i])
		}
		return
	}
	s.path(c.path)
	switch {
	case c.isText():
		s.text(stringOf(c.to.value))
	case c.hasOperands():
		s.operand(&c.to)
		for i := range c.more {
			s.operand(&c.more[i])
		}
	}
}

// isText reports whether the operand is a word of the expression, and no value beside it.
func (c *Cond) isText() bool { return c.test == hasType || c.test == beginsWith }

func (c *Cond) hasOperands() bool { return c.test >= equal && c.test < all && !c.isText() }

func (s *shape) change(n Names, c *Change) {
	if c.path.attribute == expires && n.Expires == "" {
		return
	}
	s.b = append(s.b, byte(c.kind))
	s.path(c.path)
	if c.kind != remove {
		s.operand(&c.to)
	}
}

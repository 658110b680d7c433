package clause

import (
	"bytes"
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Fate is what the table does with a write.
type Fate uint8

// The fates. Invalid is a request that DynamoDB refuses as malformed, such as a change below a missing map.
const (
	Refused Fate = iota
	Applied
	Invalid
)

// Apply returns the item after the write, or the item as it was if the write is not applied. A missing item is nil. The
// item is not changed. Of an update that makes an item, the caller adds the key.
func (w Write) Apply(n Names, item Item) (Item, Fate) {
	if w.Refuses(n, item) != nil {
		return item, Refused
	}
	switch w.Kind {
	case Put:
		return w.Item, Applied
	case Delete:
		return nil, Applied
	case Check:
		return item, Applied
	}
	is := maps.Clone(item)
	if is == nil {
		is = Item{}
	}
	for _, c := range w.Do {
		if c.path.attribute == expires && n.Expires == "" {
			continue
		}
		if !c.apply(n, item, is) {
			return item, Invalid
		}
	}
	return is, Applied
}

// Refuses returns the first condition that the item does not meet; nil if it meets all.
func (w Write) Refuses(n Names, item Item) *Cond {
	for i := range w.If {
		if !w.If[i].Holds(n, item) {
			return &w.If[i]
		}
	}
	return nil
}

// Holds reports whether the item meets the condition.
func (c Cond) Holds(n Names, item Item) bool {
	switch c.test {
	case all:
		return !slices.ContainsFunc(c.of, func(c Cond) bool { return !c.Holds(n, item) })
	case any_:
		return slices.ContainsFunc(c.of, func(c Cond) bool { return c.Holds(n, item) })
	}
	v, there := c.path.get(n, item)
	switch {
	case c.test == absent:
		return !there
	case !there:
		return false
	case c.test == exists:
		return true
	}
	if c.test == sizeEqual || c.test == sizeLess {
		if v, there = size(v); !there {
			return false
		}
	}
	return c.compares(n, item, v)
}

// compares reports whether the value v of the path compares as the test wants.
func (c Cond) compares(n Names, item Item, v Value) bool {
	to, there := c.to.eval(n, item)
	if c.test == oneOf {
		return there && same(v, to) || slices.ContainsFunc(c.more, func(o Operand) bool {
			one, there := o.eval(n, item)
			return there && same(v, one)
		})
	}
	if !there {
		return false
	}
	atLeastTo := func(i int) bool { return i >= 0 }
	atMostTo := func(i int) bool { return i <= 0 }
	switch c.test {
	case hasType:
		return TypeOf(v) == stringOf(to)
	case beginsWith:
		s, ok := v.(*types.AttributeValueMemberS)
		return ok && strings.HasPrefix(s.Value, stringOf(to))
	case equal, sizeEqual:
		return same(v, to)
	case less, sizeLess:
		return ordered(v, to, func(i int) bool { return i < 0 })
	case atMost:
		return ordered(v, to, atMostTo)
	case atLeast:
		return ordered(v, to, atLeastTo)
	}
	high, there := c.more[0].eval(n, item)
	return there && ordered(v, to, atLeastTo) && ordered(v, high, atMostTo)
}

func (o *Operand) eval(n Names, item Item) (Value, bool) {
	switch o.kind {
	case pathOf:
		return o.path.get(n, item)
	case ifAbsent:
		if v, there := o.path.get(n, item); there {
			return v, true
		}
		return o.of.eval(n, item)
	case sum:
		v, there := o.of.eval(n, item)
		a, b := numberOf(v), numberOf(o.value)
		if !there || a == nil || b == nil {
			return nil, false
		}
		return &types.AttributeValueMemberN{Value: decimal(new(big.Rat).Add(a, b))}, true
	}
	return o.value, true
}

func (p Path) get(n Names, item Item) (Value, bool) {
	v, ok := item[n.of(p.attribute)]
	for _, name := range []string{p.id, p.field}[:p.depth] {
		if !ok {
			break
		}
		m, isMap := v.(*types.AttributeValueMemberM)
		if !isMap {
			return nil, false
		}
		v, ok = m.Value[name]
	}
	return v, ok
}

// apply makes the change in is. It reports false if the request is invalid. was is the item before the write.
func (c *Change) apply(n Names, was, is Item) bool {
	value, there := Value(nil), true
	switch c.kind {
	case set:
		value, there = c.to.eval(n, was)
	case add, delete_:
		old, _ := c.path.get(n, was)
		value, there = changeSet(old, c.to.value, c.kind == add)
	}
	if !there {
		return false
	}
	return c.path.put(n, is, value)
}

// put sets p, or removes it if the value is nil. It reports false if the parent is missing. Maps on the way are copied.
func (p Path) put(n Names, item Item, v Value) bool {
	names := []string{n.of(p.attribute), p.id, p.field}[:p.depth+1]
	for ; len(names) > 1; names = names[1:] {
		m, isMap := item[names[0]].(*types.AttributeValueMemberM)
		if !isMap {
			return false
		}
		inner := maps.Clone(m.Value)
		if inner == nil {
			inner = Item{}
		}
		item[names[0]] = &types.AttributeValueMemberM{Value: inner}
		item = inner
	}
	if v == nil {
		delete(item, names[0])
	} else {
		item[names[0]] = v
	}
	return true
}

// changeSet adds numbers to a set or deletes them from it. A set without elements is removed. It reports false if old
// is no set of numbers.
func changeSet(old, elements Value, adding bool) (Value, bool) {
	var have []string
	if old != nil {
		s, ok := old.(*types.AttributeValueMemberNS)
		if !ok {
			return nil, false
		}
		have = slices.Clone(s.Value)
	}
	for _, e := range elements.(*types.AttributeValueMemberNS).Value {
		have = slices.DeleteFunc(have, func(h string) bool { return same(number(h), number(e)) })
		if adding {
			have = append(have, e)
		}
	}
	if len(have) == 0 {
		return nil, true
	}
	return &types.AttributeValueMemberNS{Value: have}, true
}

func number(s string) Value { return &types.AttributeValueMemberN{Value: s} }

// ordered reports whether two values of one type that has an order compare as is says.
func ordered(a, b Value, is func(int) bool) bool {
	switch a := a.(type) {
	case *types.AttributeValueMemberN:
		if b, ok := b.(*types.AttributeValueMemberN); ok {
			return orderedNumbers(a.Value, b.Value, is)
		}
		return false
	case *types.AttributeValueMemberS:
		b, ok := b.(*types.AttributeValueMemberS)
		return ok && is(strings.Compare(a.Value, b.Value))
	case *types.AttributeValueMemberB:
		b, ok := b.(*types.AttributeValueMemberB)
		return ok && is(bytes.Compare(a.Value, b.Value))
	}
	return false
}

func orderedNumbers(a, b string, is func(int) bool) bool {
	i, errA := strconv.ParseInt(a, 10, 64)
	j, errB := strconv.ParseInt(b, 10, 64)
	if errA == nil && errB == nil { // as almost always
		return is(cmp.Compare(i, j))
	}
	x, y := numberOf(number(a)), numberOf(number(b))
	return x != nil && y != nil && is(x.Cmp(y))
}

// same reports whether two values are equal for DynamoDB.
func same(a, b Value) bool {
	if TypeOf(a) != TypeOf(b) {
		return false
	}
	switch a := a.(type) {
	case *types.AttributeValueMemberBOOL:
		return a.Value == b.(*types.AttributeValueMemberBOOL).Value
	case *types.AttributeValueMemberNULL:
		return true
	case *types.AttributeValueMemberM:
		return maps.EqualFunc(a.Value, b.(*types.AttributeValueMemberM).Value, same)
	case *types.AttributeValueMemberL:
		return slices.EqualFunc(a.Value, b.(*types.AttributeValueMemberL).Value, same)
	case *types.AttributeValueMemberSS:
		return sameSet(a.Value, b.(*types.AttributeValueMemberSS).Value, func(x, y string) bool { return x == y })
	case *types.AttributeValueMemberNS:
		equal := func(x, y string) bool { return same(number(x), number(y)) }
		return sameSet(a.Value, b.(*types.AttributeValueMemberNS).Value, equal)
	case *types.AttributeValueMemberBS:
		return sameSet(a.Value, b.(*types.AttributeValueMemberBS).Value, bytes.Equal)
	}
	return ordered(a, b, func(i int) bool { return i == 0 })
}

func sameSet[T any](a, b []T, same func(T, T) bool) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(x T) bool {
		return !slices.ContainsFunc(b, func(y T) bool { return same(x, y) })
	})
}

// size returns what DynamoDB's size function does. Values of other types have none.
func size(v Value) (Value, bool) {
	n := 0
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		n = len(v.Value)
	case *types.AttributeValueMemberL:
		n = len(v.Value)
	case *types.AttributeValueMemberS:
		n = utf8.RuneCountInString(v.Value)
	case *types.AttributeValueMemberB:
		n = len(v.Value)
	case *types.AttributeValueMemberSS:
		n = len(v.Value)
	case *types.AttributeValueMemberNS:
		n = len(v.Value)
	case *types.AttributeValueMemberBS:
		n = len(v.Value)
	default:
		return nil, false
	}
	return number(strconv.Itoa(n)), true
}

// TypeOf returns the type of a value as DynamoDB names it.
func TypeOf(v Value) string {
	switch v.(type) {
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberN:
		return "N"
	case *types.AttributeValueMemberB:
		return "B"
	case *types.AttributeValueMemberBOOL:
		return "BOOL"
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberM:
		return "M"
	case *types.AttributeValueMemberL:
		return "L"
	case *types.AttributeValueMemberSS:
		return "SS"
	case *types.AttributeValueMemberNS:
		return "NS"
	case *types.AttributeValueMemberBS:
		return "BS"
	}
	return ""
}

func stringOf(v Value) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// numberOf returns a number; nil if v is none.
func numberOf(v Value) *big.Rat {
	s, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return nil
	}
	if n, err := strconv.ParseInt(s.Value, 10, 64); err == nil {
		return new(big.Rat).SetInt64(n)
	}
	n, ok := new(big.Rat).SetString(s.Value)
	if !ok {
		return nil
	}
	return n
}

// decimal prints a number as DynamoDB does, without a fraction if it is whole.
func decimal(n *big.Rat) string {
	if n.IsInt() {
		return n.Num().String()
	}
	places, _ := n.FloatPrec()
	return n.FloatString(places)
}

package ticket

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
)

// Master is an atomic counter that issues numbers: one attribute of one item, with the last number issued. It makes
// writes, and says what follows if DynamoDB refuses one. It sends nothing.
type Master struct {
	Attribute string       // of the counter, without the prefix of Names
	Names     clause.Names // of the item's attributes; Key is needed
	// Host says that the item is the user's, and has other attributes. Create lets a missing one be created.
	Host, Create bool
	// Beside are all attributes that may be beside the counter on a Host, its own included. An item with one of them is
	// not made a counter.
	Beside []string
}

// Rider goes with an increment in the same request. The zero Rider adds nothing.
type Rider struct {
	Name string                                    // of the write in the protocol, in place of NUMBER
	More uint64                                    // how many numbers are taken beside the one that is issued last
	If   []clause.Cond                             // of a counter that exists
	Do   func(last clause.Operand) []clause.Change // last is the number before those that are taken
}

func (r Rider) changes(last clause.Operand) []clause.Change {
	if r.Do == nil {
		return nil
	}
	return r.Do(last)
}

var (
	// ErrSeeded says that the counter was seeded before: by another client, or by an attempt without an answer. Nothing
	// was written: take again.
	ErrSeeded = errors.New("the counter was seeded by another client first")
	// ErrNoItem says that the item of the counter is missing. Nothing was written.
	ErrNoItem = errors.New("the counter's item is missing")
	// ErrRefused says that a condition of the Rider was false. Nothing was written.
	ErrRefused = errors.New("a condition beside the counter was false")
)

// Take is one attempt to take a number.
type Take struct {
	clause.Write
	master Master
	rider  Rider
	base   Number
	seeds  bool
}

// Take takes the next number. A counter that is missing begins after base, by the same request:
//
//	SET ticketNumber = if_not_exists(ticketNumber, :base) + 1
//
// The request must not be repeated by the SDK, as each repetition issues a number. A number whose answer was lost is
// skipped. Two who take never get the same number, whatever is lost, late or applied twice.
func (m Master) Take(r Rider, base Number) Take {
	return Take{Write: m.increment(r, true, base), master: m, rider: r, base: base}
}

// TakeThenSeed takes the next number of a counter that exists. One that is missing refuses, and is seeded by a second
// request. It is for engines that refuse a function within a function.
func (m Master) TakeThenSeed(r Rider, base Number) Take {
	return Take{Write: m.increment(r, false, base), master: m, rider: r, base: base}
}

// Refused returns what follows after DynamoDB has refused t and has returned the item as it is, nil if there is none.
// If the error is nil, it is the write to send next: a seed.
//
//	| refused | by                        | what follows                        |
//	|---------|---------------------------|-------------------------------------|
//	| a take  | no item, or a Host without a counter | seed it; ErrNoItem if it may not be |
//	| a seed  | the seed of another       | ErrSeeded: take again               |
//	| a seed  | no item                   | ErrNoItem: it was deleted meanwhile |
//	| either  | the counter at its end    | ErrExhausted                        |
//	| either  | an item that is no number | an error that says what it is       |
//	| a take  | a condition of the Rider  | ErrRefused                          |
func (t Take) Refused(item clause.Item) (Take, error) {
	m := t.master
	switch fresh := item == nil || m.Host && m.fresh(item); {
	case item == nil && (t.seeds || m.Host && !m.Create):
		return t, ErrNoItem
	case fresh && !t.seeds:
		t.seeds = true
		t.Write = m.seed(t.rider, t.base)
		return t, nil
	}
	last, err := m.Number(item)
	switch {
	case err != nil:
		return t, err
	case Max.Minus(1 + t.rider.More).Less(last):
		return t, ErrExhausted
	case t.seeds:
		return t, ErrSeeded
	}
	return t, ErrRefused
}

// Number returns the last number that the counter of an item has issued: the caller's, after a [Take] that was applied.
func (m Master) Number(item clause.Item) (Number, error) {
	return FromAttribute(item[m.Names.Prefix+m.Attribute])
}

// fresh reports whether the item has no attribute of the counter, or of its riders.
func (m Master) fresh(item clause.Item) bool {
	return !slices.ContainsFunc(m.Beside, func(name string) bool { _, ok := item[m.Names.Prefix+name]; return ok })
}

var zero = clause.V(Number{}.Attribute())

// count is how many numbers the increment takes.
func (r Rider) count() types.AttributeValue { return Number{}.Plus(1 + r.More).Attribute() }

// most is the highest number that leaves room for the increment.
func (r Rider) most() clause.Operand { return clause.V(Max.Minus(1 + r.More).Attribute()) }

func (m Master) number() clause.Path { return clause.At(m.Attribute) }

// increment is the write of a take. With create, a counter that is missing begins after base.
func (m Master) increment(r Rider, create bool, base Number) clause.Write {
	last := m.number().Was()
	// A comparison with an attribute that is missing or no number is false.
	condition := clause.All(append([]clause.Cond{m.number().Between(zero, r.most()).As("counter")}, r.If...)...)
	if create {
		last, condition = m.number().Or(clause.V(base.Attribute())), clause.Any(m.missing(), condition)
	}
	return clause.Write{
		Name:   cmp.Or(r.Name, "NUMBER"),
		Repeat: clause.BySender, // a second application issues a second number
		If:     []clause.Cond{condition},
		Do:     append([]clause.Change{m.number().Set(last.Plus(r.count()))}, r.changes(last)...),
	}
}

// seed begins a counter that is missing with the number after base.
func (m Master) seed(r Rider, base Number) clause.Write {
	first := base.Plus(1 + r.More) // base is far below Max
	return clause.Write{
		Name:   cmp.Or(r.Name, "NUMBER") + " that seeds",
		Repeat: clause.BySender, // as the increment that it is for: its refusal proves that the rider was not applied
		If:     []clause.Cond{m.missing()},
		Do: append([]clause.Change{m.number().Set(clause.V(first.Attribute()))},
			r.changes(clause.V(base.Attribute()))...),
	}
}

// Raise raises a counter that is lower to a number. It is for one that was deleted or restored, and issues numbers that
// were used before.
//
//	SET ticketNumber = :n if ticketNumber < :n
func (m Master) Raise(to Number) clause.Write {
	n := clause.V(to.Attribute())
	return clause.Write{
		Name: "RAISE",
		If:   []clause.Cond{m.number().Less(n).As("lower")},
		Do:   []clause.Change{m.number().Set(n)},
		Else: clause.Made,
	}
}

// missing asks that there is no counter, and that one may be created. For a counter with an item of its own it is not
// enough that ticketNumber is absent: an item of another program must not become a counter.
func (m Master) missing() clause.Cond {
	if !m.Host {
		return clause.Key.Absent().As("no item")
	}
	conds := []clause.Cond{m.number().Absent()}
	for _, name := range m.Beside {
		if name != m.Attribute {
			conds = append(conds, clause.At(name).Absent())
		}
	}
	if !m.Create {
		conds = append([]clause.Cond{clause.Key.Exists()}, conds...)
	}
	return clause.All(conds...).As("no counter")
}

// rate is how many numbers there are for each second. One item takes about a thousand writes a second, so a counter
// never catches up with the time. For 28,000 years numbers stay below 2^53, and exact in JavaScript.
const rate = 10_000

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Base returns the number after which a counter begins at a time: ten thousand for each second since 2026, and zero
// before. So a counter that was deleted begins above its earlier numbers, unless the clock went back since the last
// one. A clock that is ahead does no harm.
func Base(t time.Time) Number {
	return FromUint64(uint64(max(0, t.UnixMilli()-epoch.UnixMilli())) * (rate / 1000))
}

// FromAttribute returns the number of an attribute, in any form in which an engine prints it.
func FromAttribute(v types.AttributeValue) (Number, error) {
	typed, ok := v.(*types.AttributeValueMemberN)
	switch {
	case v == nil:
		return Number{}, errors.New("is missing, a number is needed")
	case !ok || typed == nil:
		return Number{}, fmt.Errorf("is %s, a number is needed", clause.TypeName(v))
	}
	if n, err := Parse(typed.Value); err == nil {
		return n, nil
	}
	if whole, ok := clause.Whole(typed.Value); ok {
		if n, err := Parse(whole.String()); err == nil {
			return n, nil
		}
	}
	return Number{}, fmt.Errorf("is %.64s, a whole number from 0 to 10^38-1 is needed", typed.Value)
}

// Read reads the number of an attribute.
func Read(r *clause.Reader, attribute string) Number {
	n, err := FromAttribute(r.Item[attribute])
	if err != nil {
		r.Fail(attribute, "%v", err)
	}
	if r.Err != nil {
		return Number{}
	}
	return n
}

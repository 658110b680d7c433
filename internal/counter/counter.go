// Package counter issues ticket numbers by atomic increments of a counter in one item.
// Package serving adds its own attributes to the increment, so that taking a number and
// being served at once are one request.
//
// # Promises
//
// No two callers get the same number, and a later increment gives a higher one. The
// counter is never reset, and is never read and then written. One that is deleted begins
// again at DynamoDB's time, above all its earlier numbers. The deletion must come later
// after the last increment than the estimates of that time are wide, and requests are late.
//
// # Does not promise
//
// Numbers may stay unused: an increment whose answer was lost burns one. Package serving
// decides the order in which tickets are served.
//
//	| failure                         | outcome                                   |
//	|---------------------------------|-------------------------------------------|
//	| the item is missing             | created by the same request               |
//	| another client seeded it first  | ErrSeeded: take again                     |
//	| the answer is lost              | a number may be burnt; see MayHaveTaken   |
//	| the item is not a counter       | *table.MalformedError; nothing is written |
//	| the counter is at 10^38-1       | ticket.ErrExhausted; nothing is written   |
package counter

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Counter is one counter, as an attribute of an item.
type Counter struct {
	Store     *table.Store
	Key       table.Item // primary key of the item
	Names     clause.Names
	Attribute string // of the counter in the item, without the prefix of Names
	What      string // names the item in errors
	// Host reports that the item is the user's and has other attributes. Create lets
	// Take create a missing item.
	Host, Create bool
	// Beside are all attributes that may be beside the counter on a Host, its own
	// included. An item with one of them is not made a counter.
	Beside []string
}

// Rider goes with an increment in the same request. The zero Rider adds nothing.
type Rider struct {
	Name string                                    // of the write in the protocol, in place of NUMBER
	If   []clause.Cond                             // of a counter that exists
	Do   func(last clause.Operand) []clause.Change // last is the number before the one that is issued
}

func (r Rider) changes(last clause.Operand) []clause.Change {
	if r.Do == nil {
		return nil
	}
	return r.Do(last)
}

// ErrSeeded reports that the counter was missing and another client seeded it first.
// Nothing was written, and another Take will succeed. The item that was in the way is
// returned too. It may be the caller's own, from an attempt whose answer was lost.
var ErrSeeded = errors.New("the counter was seeded by another client first")

// ErrNoItem reports that the user's item of the counter is missing. Nothing was
// written.
var ErrNoItem = errors.New("there is no such item")

var (
	zero = clause.V(table.Int(0))
	most = clause.V(ticket.Max.Previous().Attribute()) // the last number after which there is another
)

func (c Counter) number() clause.Path { return clause.At(c.Attribute) }

// Take issues a number and returns the item with it:
//
//	SET ticketNumber = if_not_exists(ticketNumber, :base) + 1
//
// if there is no counter, or one whose number is not the last. The caller has asked for
// DynamoDB's time (table.Queue.Date), from which :base follows. A client of an engine that
// refuses functions within functions, which riders need, takes from an existing counter
// only, and seeds a missing one by a second request. The SDK's retries are off, because a
// retried increment would issue a second number. Take may be called again after an
// error, with another rider if the first one left a mark of its own. Returns
//
//   - ErrSeeded, with the item, if another client seeded the counter first.
//   - *table.Refused, with the item, if the rider's condition was false.
//   - ErrNoItem if a Host is missing that must not be created.
//   - *table.MalformedError or ticket.ErrExhausted if the item can issue no number.
//
// After any other error MayHaveTaken reports whether a number may have been issued.
func (c Counter) Take(ctx context.Context, rider Rider) (table.Item, error) {
	create := c.Store.Nests()
	item, err := c.increment(ctx, rider, create)
	if create && c.Store.RefusesNesting(err) {
		create = false
		item, err = c.increment(ctx, rider, create)
	}
	refused, ok := errors.AsType[*table.Refused](err)
	if !ok {
		return item, err
	}
	switch {
	case refused.Item == nil && c.Host && !c.Create:
		return nil, ErrNoItem
	case refused.Item == nil, c.Host && c.fresh(refused.Item):
		return c.seed(ctx, rider)
	}
	return c.inTheWay(refused.Item, err)
}

// base returns the number before the first of a new counter: the earliest that DynamoDB's
// time can be. Of an engine without dates it is the host's time.
func (c Counter) base() ticket.Number {
	now := time.Now()
	if earliest, _, known := c.Store.Clock().At(now); known {
		return baseAt(earliest)
	}
	return baseAt(now)
}

// rate is how many numbers are there for each second. One item takes about a thousand
// writes a second, so a counter never catches up with the time. Numbers stay below 2^53,
// up to which JSON and JavaScript keep them exactly, for 28,000 years.
const rate = 10_000

// Epoch is when the numbers of new counters begin. Before it they begin at 1. Tests that
// run in real time and compare tickets set it to a later time.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// baseAt returns the base of a counter that begins at a time. A counter that was deleted,
// and begins again, so continues above its earlier numbers.
func baseAt(t time.Time) ticket.Number {
	return ticket.FromUint64(uint64(max(0, t.UnixMilli()-Epoch.UnixMilli())) * (rate / 1000))
}

// increment takes a number of the counter, which it creates if asked to.
func (c Counter) increment(ctx context.Context, rider Rider, create bool) (table.Item, error) {
	return c.update(ctx, c.Increment(rider, create, c.base()))
}

func (c Counter) update(ctx context.Context, w clause.Write) (table.Item, error) {
	return c.Store.Update(ctx, c.Key, c.Store.Express(w, c.Names))
}

// Increment takes a number of the counter, which it creates if asked to.
func (c Counter) Increment(rider Rider, create bool, base ticket.Number) clause.Write {
	last := c.number().Was()
	// A comparison with an attribute that is missing or no number is false.
	condition := clause.All(append([]clause.Cond{c.number().Between(zero, most).As("counter")}, rider.If...)...)
	if create {
		last, condition = c.number().Or(clause.V(base.Attribute())), clause.Any(c.missing(), condition)
	}
	return clause.Write{
		Name:   cmp.Or(rider.Name, "NUMBER"),
		Repeat: clause.BySender, // a second application issues a second number
		If:     []clause.Cond{condition},
		Do:     append([]clause.Change{c.number().Set(last.Plus(table.Int(1)))}, rider.changes(last)...),
	}
}

// inTheWay returns the item that refused a write, and err. An item that can issue no
// number is an error of its own, because it would be tried without end.
func (c Counter) inTheWay(item table.Item, err error) (table.Item, error) {
	r := table.Reader{What: c.What, Item: item}
	last := r.Ticket(c.Names.Prefix + c.Attribute)
	switch {
	case r.Err != nil:
		return nil, table.NotApplied(r.Err)
	case last == ticket.Max:
		return nil, table.NotApplied(ticket.ErrExhausted)
	}
	return item, err
}

// fresh reports whether the item has no attribute of the counter, or of its riders.
func (c Counter) fresh(item table.Item) bool {
	return !slices.ContainsFunc(c.Beside, func(name string) bool { _, ok := item[c.Names.Prefix+name]; return ok })
}

// Seed begins a counter with the number after base.
func (c Counter) Seed(rider Rider, base, first ticket.Number) clause.Write {
	return clause.Write{
		Name:   cmp.Or(rider.Name, "NUMBER") + " that seeds",
		Repeat: clause.BySender, // as the increment that it stands for: its refusal proves that the rider was not applied
		If:     []clause.Cond{c.missing()},
		Do:     append([]clause.Change{c.number().Set(clause.V(first.Attribute()))}, rider.changes(clause.V(base.Attribute()))...),
	}
}

// seed writes a new counter if there is none.
func (c Counter) seed(ctx context.Context, rider Rider) (table.Item, error) {
	base := c.base()
	first, err := base.Next()
	if err != nil {
		return nil, err
	}
	item, err := c.update(ctx, c.Seed(rider, base, first))
	refused, ok := errors.AsType[*table.Refused](err)
	if !ok {
		return item, err
	}
	if refused.Item == nil {
		return nil, ErrNoItem // deleted in between
	}
	return c.inTheWay(refused.Item, ErrSeeded)
}

// missing asks that there is no counter, and that one may be created. Of
// an item of the counter's own it is not "no ticketNumber": an item of another program
// must not become a counter.
func (c Counter) missing() clause.Cond {
	if !c.Host {
		return clause.Key.Absent().As("no item")
	}
	conds := []clause.Cond{c.number().Absent()}
	for _, name := range c.Beside {
		if name != c.Attribute {
			conds = append(conds, clause.At(name).Absent())
		}
	}
	if !c.Create {
		conds = append([]clause.Cond{clause.Key.Exists()}, conds...)
	}
	return clause.All(conds...).As("no counter")
}

// MayHaveTaken reports whether a Take that failed with err may have issued a number,
// or may still do so if it arrives late.
func MayHaveTaken(err error) bool {
	if errors.Is(err, ErrSeeded) || errors.Is(err, ticket.ErrExhausted) || errors.Is(err, ErrNoItem) {
		return false
	}
	return table.Applied(err) // also of an answer that cannot be read
}

// Next issues a number of a counter in an item of its own: NUMBER of the protocol. One
// request, and more if it seeds the counter. Calling again is safe after any error: a
// number whose answer was lost is skipped, and no client waits for it.
func (c Counter) Next(ctx context.Context) (ticket.Number, error) {
	for {
		item, err := c.Take(ctx, Rider{})
		switch {
		case errors.Is(err, ErrSeeded) && ctx.Err() == nil:
			continue
		case err != nil:
			return ticket.Number{}, err
		}
		r := &table.Reader{What: c.What, Item: item}
		n := r.Ticket(c.Names.Prefix + c.Attribute)
		return n, r.Err
	}
}

// MaxRaise is how far above the number that it has just issued a counter may be
// raised. A counter that an older version began at 1 is within it of those that began by
// time until the year 2917. One that is raised by mistake is still far below 2^53.
const MaxRaise = 1 << 48

// ErrFar reports that a counter was not raised, because the number was more than
// MaxRaise above the one that it had issued: no waiter can have been given it.
var ErrFar = errors.New("the number is too far above those that the counter issues")

// Raise raises a counter to a number if it is lower:
//
//	SET ticketNumber = :n if ticketNumber < :n
//
// It is for a counter that was deleted or restored, and has issued a number that was
// used before. issued is that number. A counter that is higher or missing is left
// alone, which is a success. One request; none for ErrFar. Calling again is safe.
func (c Counter) Raise(ctx context.Context, issued, to ticket.Number) error {
	if to.After(issued) > MaxRaise {
		return ErrFar
	}
	err := c.Store.Apply(ctx, c.Key, c.Store.Express(c.raise(to), c.Names))
	if refused, ok := errors.AsType[*table.Refused](err); ok && refused.Means == clause.Made {
		return nil
	}
	return err
}

func (c Counter) raise(to ticket.Number) clause.Write {
	n := clause.V(to.Attribute())
	return clause.Write{
		Name: "RAISE",
		If:   []clause.Cond{c.number().Less(n).As("lower")},
		Do:   []clause.Change{c.number().Set(n)},
		Else: clause.Made,
	}
}

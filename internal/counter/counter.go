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
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Counter is one counter, as an attribute of an item.
type Counter struct {
	Store     *table.Store
	Key       table.Item // primary key of the item
	Attribute string     // name of the counter in the item
	What      string     // names the item in errors
	// Host reports that the item is the user's and has other attributes. Create lets
	// Take create a missing item.
	Host, Create bool
	// Names are all attributes that may be beside the counter on a Host, its own
	// included. An item with one of them is not made a counter.
	Names []string
}

// Rider goes with an increment in the same request. The zero Rider adds nothing.
type Rider struct {
	Shape  RiderShape
	Values []types.AttributeValue // of the shape's slots
}

// RiderShape is a part of a table.Shape.
type RiderShape interface {
	// Update adds to the increment. last is the number before the one that is issued.
	Update(u expression.UpdateBuilder, last expression.OperandBuilder, slots table.Slots) expression.UpdateBuilder
	// Condition adds to the condition of a counter that exists.
	Condition(expression.ConditionBuilder) expression.ConditionBuilder
}

// ErrSeeded reports that the counter was missing and another client seeded it first.
// Nothing was written, and another Take will succeed. The item that was in the way is
// returned too. It may be the caller's own, from an attempt whose answer was lost.
var ErrSeeded = errors.New("the counter was seeded by another client first")

// ErrNoItem reports that the user's item of the counter is missing. Nothing was
// written.
var ErrNoItem = errors.New("there is no such item")

var one = expression.Value(table.Int(1))

// Take issues a number and returns the item with it:
//
//	SET ticketNumber = if_not_exists(ticketNumber, :base) + 1
//
// if there is no counter, or one whose number is not the last. A client that does not
// know DynamoDB's time yet, and so no :base, takes from an existing counter only, and
// seeds a missing one by a second request. So does a client of an engine that refuses
// functions within functions, which riders need. The SDK's retries are off, because a
// retried increment would issue a second number. Take may be called again after an
// error, with another rider if the first one left a mark of its own. Returns
//
//   - ErrSeeded if another client seeded the counter first, with the item unless it was
//     deleted since.
//   - *table.Refused, with the item, if the rider's condition was false.
//   - ErrNoItem if a Host is missing that must not be created.
//   - *table.MalformedError or ticket.ErrExhausted if the item can issue no number.
//
// After any other error MayHaveTaken reports whether a number may have been issued.
func (c Counter) Take(ctx context.Context, rider Rider) (table.Item, error) {
	base, create := c.base()
	create = create && c.Store.Nests()
	item, err := c.increment(ctx, rider, create, base)
	if create && c.Store.RefusesNesting(err) {
		create = false
		item, err = c.increment(ctx, rider, create, base)
	}
	refused, ok := errors.AsType[*table.Refused](err)
	if !ok {
		return item, err
	}
	if create || c.Host && !c.Create {
		switch item, err := refused.Read(ctx); {
		case err != nil:
			return nil, err
		case item == nil && c.Host && !c.Create:
			return nil, ErrNoItem
		}
	}
	if refused.Item == nil || c.Host && c.fresh(refused.Item) {
		return c.seed(ctx, rider)
	}
	return c.inTheWay(refused.Item, err)
}

// base returns the number before the first of a new counter: the earliest that DynamoDB's
// time can be. Without any date it is the host's time, and false is returned if the next
// answer may have one.
func (c Counter) base() (ticket.Number, bool) {
	now := time.Now()
	earliest, _, known := c.Store.Clock().At(now)
	if !known {
		return baseAt(now), c.Store.Clock().Undated()
	}
	return baseAt(earliest), true
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
func (c Counter) increment(ctx context.Context, rider Rider, create bool, base ticket.Number) (table.Item, error) {
	shape := incrementShape{c.Attribute, c.Store.Layout().PK, create, rider.Shape}
	slots := table.Slots{Values: append([]types.AttributeValue{base.Attribute()}, rider.Values...)}
	if c.Host {
		return c.Store.Update(ctx, c.Key, table.Build(shape.with(c.missing(), slots)), table.Once())
	}
	return c.Store.Update(ctx, c.Key, c.Store.Fill(shape, slots), table.Once())
}

// incrementShape is the shape of Take in an item of the counter's own.
type incrementShape struct {
	attribute, pk string
	create        bool
	rider         RiderShape
}

// Build implements table.Shape. The first slot is the base.
func (i incrementShape) Build(slots table.Slots) expression.Builder {
	return i.with(noItem(i.pk), slots)
}

func (i incrementShape) with(missing expression.ConditionBuilder, slots table.Slots) expression.Builder {
	number := expression.NameNoDotSplit(i.attribute)
	last := expression.OperandBuilder(number)
	// A comparison with an attribute that is missing or no number is false.
	condition := number.Between(expression.Value(table.Int(0)), expression.Value(ticket.Max.Previous().Attribute()))
	if i.rider != nil {
		condition = i.rider.Condition(condition)
	}
	if i.create {
		last, condition = number.IfNotExists(slots.Value(0)), missing.Or(condition)
	}
	update := set(number, expression.Plus(last, one), last, i.rider, slots.After(1))
	return expression.NewBuilder().WithUpdate(update).WithCondition(condition)
}

// set sets the counter, and what rides with it.
func set(number expression.NameBuilder, next, last expression.OperandBuilder, rider RiderShape, slots table.Slots) expression.UpdateBuilder {
	update := expression.Set(number, next)
	if rider != nil {
		update = rider.Update(update, last, slots)
	}
	return update
}

// inTheWay returns the item that refused a write, and err. An item that can issue no
// number is an error of its own, because it would be tried without end.
func (c Counter) inTheWay(item table.Item, err error) (table.Item, error) {
	r := table.Reader{What: c.What, Item: item}
	last := r.Ticket(c.Attribute)
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
	return !slices.ContainsFunc(c.Names, func(name string) bool { _, ok := item[name]; return ok })
}

// seed writes a new counter if there is none.
func (c Counter) seed(ctx context.Context, rider Rider) (table.Item, error) {
	base, _ := c.base()
	first, err := base.Next()
	if err != nil {
		return nil, err
	}
	update := set(expression.NameNoDotSplit(c.Attribute), expression.Value(first.Attribute()), expression.Value(base.Attribute()),
		rider.Shape, table.Slots{Values: rider.Values})
	e := table.Build(expression.NewBuilder().WithUpdate(update).WithCondition(c.missing()))
	item, err := c.Store.Update(ctx, c.Key, e, table.Once())
	refused, ok := errors.AsType[*table.Refused](err)
	if !ok {
		return item, err
	}
	there, err := refused.Read(ctx)
	switch {
	case err != nil:
		return nil, err
	case there == nil && c.Host && !c.Create:
		return nil, ErrNoItem // deleted in between
	case there == nil, c.Host && c.fresh(there):
		return nil, ErrSeeded // and deleted since
	}
	return c.inTheWay(there, ErrSeeded)
}

// noItem returns the condition that there is no item.
func noItem(pk string) expression.ConditionBuilder {
	return expression.AttributeNotExists(expression.NameNoDotSplit(pk))
}

// missing returns the condition that there is no counter, and that one may be created. Of
// an item of the counter's own it is not "no ticketNumber": an item of another program
// must not become a counter.
func (c Counter) missing() expression.ConditionBuilder {
	if !c.Host {
		return noItem(c.Store.Layout().PK)
	}
	condition := expression.AttributeNotExists(expression.NameNoDotSplit(c.Attribute))
	for _, name := range c.Names {
		if name != c.Attribute {
			condition = condition.And(expression.AttributeNotExists(expression.NameNoDotSplit(name)))
		}
	}
	if !c.Create {
		key := slices.Sorted(maps.Keys(c.Key))[0]
		condition = expression.AttributeExists(expression.NameNoDotSplit(key)).And(condition)
	}
	return condition
}

// MayHaveTaken reports whether a Take that failed with err may have issued a number,
// or may still do so if it arrives late.
func MayHaveTaken(err error) bool {
	if errors.Is(err, ErrSeeded) || errors.Is(err, ticket.ErrExhausted) || errors.Is(err, ErrNoItem) {
		return false
	}
	return table.Applied(err, true) // also of an answer that cannot be read
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
		n := r.Ticket(c.Attribute)
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
	number, value := expression.NameNoDotSplit(c.Attribute), expression.Value(to.Attribute())
	e := table.Build(expression.NewBuilder().WithUpdate(expression.Set(number, value)).WithCondition(number.LessThan(value)))
	err := c.Store.Apply(ctx, c.Key, e)
	if _, refused := errors.AsType[*table.Refused](err); refused {
		return nil
	}
	return err
}

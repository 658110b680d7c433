package counter

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Counter is one counter, as an attribute of an item.
type Counter struct {
	Store     *table.Store
	Key       table.Item // primary key of the item
	Attribute string     // name of the counter in the item
	What      string     // names the item in errors
	// Host reports that the item is the user's and has other attributes. The counter
	// is then seeded by an update that leaves them alone. Create lets that update
	// create a missing item.
	Host, Create bool
	// Names are all attributes that may be beside the counter on a Host, its own
	// included. An item with one of them is not seeded.
	Names []string
}

// Rider goes with an increment in the same request. The zero Rider adds nothing.
type Rider struct {
	Update    func(expression.UpdateBuilder) expression.UpdateBuilder
	Condition *expression.ConditionBuilder
	Seed      table.Item // attributes of a new counter's item
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
//	SET ticketNumber = ticketNumber + 1 if there is one, and it is not the last
//
// A second request seeds a missing counter with ticket 1. The SDK's retries are off,
// because a retried increment would issue a second number. Take may be called again
// after an error, with another rider if the first one left a mark of its own. Returns
//
//   - ErrSeeded, with the item, if another client seeded the counter first.
//   - *table.Refused, with the item, if the rider's condition was false.
//   - ErrNoItem if a Host is missing that must not be created.
//   - *table.MalformedError or ticket.ErrExhausted if the item can issue no number.
//
// After any other error MayHaveTaken reports whether a number may have been issued.
func (c Counter) Take(ctx context.Context, rider Rider) (table.Item, error) {
	number := expression.NameNoDotSplit(c.Attribute)
	update := expression.Set(number, expression.Plus(number, one))
	if rider.Update != nil {
		update = rider.Update(update)
	}
	// A comparison with an attribute that is missing or no number is false.
	condition := number.Between(expression.Value(table.Int(0)), expression.Value(ticket.Max.Previous().Attribute()))
	if rider.Condition != nil {
		condition = condition.And(*rider.Condition)
	}
	item, err := c.Store.Update(ctx, c.Key, update, condition, table.Once())
	refused, ok := errors.AsType[*table.Refused](err)
	if !ok {
		return item, err
	}
	if c.Host && !c.Create {
		switch item, err := refused.Read(ctx); {
		case err != nil:
			return nil, err
		case item == nil:
			return nil, ErrNoItem
		}
	}
	switch {
	case c.Host && c.fresh(refused.Item):
		return c.seedHost(ctx, rider)
	case refused.Item == nil:
		return c.seed(ctx, rider)
	}
	return nil, cmp.Or(c.problem(refused.Item), err)
}

// problem returns why the item can issue no number; nil if it can.
func (c Counter) problem(item table.Item) error {
	r := table.Reader{What: c.What, Item: item}
	if last := r.Ticket(c.Attribute); r.Err == nil && last == ticket.Max {
		return table.NotApplied(ticket.ErrExhausted)
	} else if r.Err != nil {
		return table.NotApplied(r.Err)
	}
	return nil
}

// seed writes the counter with ticket 1 if there is no item.
func (c Counter) seed(ctx context.Context, rider Rider) (table.Item, error) {
	item := table.Item{c.Attribute: ticket.FromUint64(1).Attribute()}
	maps.Copy(item, rider.Seed)
	maps.Copy(item, c.Key)
	// Not "no ticketNumber": an item of another program must not be overwritten.
	missing := expression.AttributeNotExists(expression.NameNoDotSplit(c.Store.Layout().PK))
	err := c.Store.Put(ctx, item, missing, table.Once())
	refused, ok := errors.AsType[*table.Refused](err)
	switch {
	case err == nil:
		return item, nil
	case !ok:
		return nil, err
	}
	there, err := refused.Read(ctx)
	switch {
	case err != nil:
		return nil, err
	case there == nil:
		return nil, ErrSeeded // and deleted since
	}
	return c.seeded(there)
}

// seeded returns ErrSeeded with the item that was in the way. An item that will never
// be a counter is an error of its own, because it would be tried without end.
func (c Counter) seeded(there table.Item) (table.Item, error) {
	if problem := c.problem(there); problem != nil {
		return nil, problem
	}
	return there, ErrSeeded
}

// fresh reports whether the item has no attribute of the counter, or of its riders.
func (c Counter) fresh(item table.Item) bool {
	return !slices.ContainsFunc(c.Names, func(name string) bool { _, ok := item[name]; return ok })
}

// seedHost adds the counter, with ticket 1, to the user's item:
//
//	SET ticketNumber = 1, … if attribute_exists(key)
//	   AND attribute_not_exists(ticketNumber) AND …
//
// The first condition is left out if a missing item may be created.
func (c Counter) seedHost(ctx context.Context, rider Rider) (table.Item, error) {
	number := expression.NameNoDotSplit(c.Attribute)
	update, condition := expression.Set(number, one), expression.AttributeNotExists(number)
	for _, name := range slices.Sorted(maps.Keys(rider.Seed)) {
		update = update.Set(expression.NameNoDotSplit(name), expression.Value(rider.Seed[name]))
	}
	for _, name := range c.Names {
		if name != c.Attribute {
			condition = condition.And(expression.AttributeNotExists(expression.NameNoDotSplit(name)))
		}
	}
	if !c.Create {
		key := slices.Sorted(maps.Keys(c.Key))[0]
		condition = expression.AttributeExists(expression.NameNoDotSplit(key)).And(condition)
	}
	item, err := c.Store.Update(ctx, c.Key, update, condition, table.Once())
	refused, ok := errors.AsType[*table.Refused](err)
	if !ok {
		return item, err
	}
	there, err := refused.Read(ctx)
	switch {
	case err != nil:
		return nil, err
	case there == nil && !c.Create:
		return nil, ErrNoItem // deleted in between
	case c.fresh(there):
		return nil, ErrSeeded // and deleted since
	}
	return c.seeded(there)
}

// MayHaveTaken reports whether a Take that failed with err may have issued a number,
// or may still do so if it arrives late.
func MayHaveTaken(err error) bool {
	switch {
	case err == nil:
		return true
	case errors.Is(err, ErrSeeded), errors.Is(err, ticket.ErrExhausted), errors.Is(err, ErrNoItem):
		return false
	}
	return table.Applied(err, true) // also of an answer that cannot be read
}

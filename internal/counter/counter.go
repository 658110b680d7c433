package counter

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Master issues the numbers of one counter.
type Master struct {
	Store *table.Store
	Key   table.Item // primary key of the item that holds the counter
	// Attribute is the counter's name in the item.
	Attribute string
	What      string // names that item in errors
	// Host says that the item is the user's own, and has other attributes
	// beside the counter: it is seeded by an update that leaves them alone. Create
	// lets one that is missing be created.
	Host, Create bool
	// Names are all attributes that may stand beside the counter on a Host, its
	// own included: with one of them there, it is not seeded.
	Names []string
}

// Rider is what goes with an increment in the same request. The zero Rider is
// a plain counter.
type Rider struct {
	// Update adds actions to the increment's; nil adds none.
	Update func(expression.UpdateBuilder) expression.UpdateBuilder
	// Condition must hold as well; nil asks nothing more.
	Condition *expression.ConditionBuilder
	// Seed adds attributes to a new counter's item.
	Seed table.Item
}

// ErrSeeded says that the counter was missing, and somebody seeded it before
// this call could: nothing was written, and taking again will succeed. The
// item in the way is returned beside it; it may be this caller's own, written
// by an attempt whose answer was lost.
var ErrSeeded = errors.New("the counter was seeded by somebody else first")

var one = expression.Value(table.Int(1))

// Take issues a number: SET ticketNumber = ticketNumber + 1, if there is one
// and it is not the last. It returns the item as it is after that; its
// ticketNumber is the ticket.
//
// A missing counter is seeded with ticket 1, by a second request. Where its item
// is the user's own and is missing, it is ErrNoItem: one request, or two (see
// table.Refused.Read). Refused by the rider's condition, it returns *table.Refused
// with the item; or ErrSeeded with it, if only the seed's refusal has shown it.
//
// The SDK client's own retries are off: a retried increment would issue a
// second number to one caller, and ride twice. After an error, MayHaveTaken
// says whether a number was issued all the same. Calling again is safe, with
// another rider if the first left a mark of its own.
func (m Master) Take(ctx context.Context, rider Rider) (table.Item, error) {
	attrNumber := expression.NameNoDotSplit(m.Attribute)
	update := expression.Set(attrNumber, expression.Plus(attrNumber, one))
	if rider.Update != nil {
		update = rider.Update(update)
	}
	// A comparison with an attribute that is missing or no number is false,
	// so this asks for existence and type as well.
	condition := attrNumber.Between(expression.Value(table.Int(0)), expression.Value(ticket.Max.Previous().Attribute()))
	if rider.Condition != nil {
		condition = condition.And(*rider.Condition)
	}
	item, err := m.Store.Update(ctx, m.Key, update, condition, table.Once())
	refused, ok := errors.AsType[*table.Refused](err)
	if !ok {
		return item, err
	}
	if m.Host && !m.Create {
		switch item, err := refused.Read(ctx); {
		case err != nil:
			return nil, err
		case item == nil:
			return nil, ErrNoItem
		}
	}
	switch {
	case m.Host && m.fresh(refused.Item):
		return m.seedHost(ctx, rider)
	case refused.Item == nil:
		return m.seed(ctx, rider)
	}
	if problem := m.problem(refused.Item); problem != nil {
		return nil, table.NotApplied(problem)
	}
	return nil, err
}

// problem is why no number can be issued by the item that refused, if there is
// a reason of its own.
func (m Master) problem(item table.Item) error {
	r := table.Reader{What: m.What, Item: item}
	if last := r.Ticket(m.Attribute); r.Err == nil && last == ticket.Max {
		return ticket.ErrExhausted
	}
	return r.Err
}

// seed writes the counter with ticket 1, if there is none. If the refused increment
// has not shown whether there is one, its own condition finds out.
func (m Master) seed(ctx context.Context, rider Rider) (table.Item, error) {
	item := table.Item{m.Attribute: ticket.FromUint64(1).Attribute()}
	for name, value := range rider.Seed {
		item[name] = value
	}
	for name, value := range m.Key {
		item[name] = value
	}
	// Not "no ticketNumber": an item of some other program must not be
	// overwritten either.
	missing := expression.AttributeNotExists(expression.NameNoDotSplit(m.Store.Layout().PK))
	err := m.Store.Put(ctx, item, missing, table.Once())
	refused, ok := errors.AsType[*table.Refused](err)
	switch {
	case err == nil:
		return item, nil
	case !ok:
		return nil, err
	}
	// Without a look at it, an item that will never be a counter is taken for one
	// that was seeded, and tried for ever.
	there, err := refused.Read(ctx)
	if err != nil {
		return nil, err
	}
	if there != nil {
		if problem := m.problem(there); problem != nil {
			return nil, table.NotApplied(problem)
		}
	}
	return there, ErrSeeded
}

// MayHaveTaken reports whether a Take that failed with err may have issued a
// number, or may yet do so when it arrives late.
func MayHaveTaken(err error) bool {
	switch {
	case err == nil:
		return true
	case errors.Is(err, ErrSeeded), errors.Is(err, ticket.ErrExhausted), errors.Is(err, ErrNoItem):
		return false
	}
	return table.Applied(err, true) // also of what came back, and cannot be read
}

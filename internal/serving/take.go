package serving

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/table"
)

// Take takes a number and, if the queue is idle and nobody is in it, is served
// with it at once: TAKE of the protocol.
//
//	SET servingAfter = if_not_exists(servingAfter, ticketNumber),
//	    granted      = if_not_exists(granted, 0),
//	    holders      = if_not_exists(holders, {id: entry}),
//	    holdMode     = if_not_exists(holdMode, "exclusive" or "shared"),
//	    evicted      = if_not_exists(evicted, {id, ticket: 0}),
//	    ticketNumber = ticketNumber + 1
//
// Right-hand sides read the item as it was, so servingAfter becomes the number
// before the one that is issued. It asks that the item is a record, so that
// nobody is served by one that some other program wrote, that no wider counter
// issues its tickets, and that it is the record of a lock, or of a semaphore of
// so many permits, as the entry's mode says; a semaphore has no holdMode. With
// idleOnly it asks as well that there is room for one more, so that a busy lock
// costs one request and burns no ticket.
//
// A *MismatchError says that the queue is of another kind.
//
// On success it returns the record: served if the entry's id is in it;
// otherwise the caller's ticket is its TicketNumber. One request, two for the
// first use of a queue.
//
// Refused by idleOnly, or by another's seed, it returns ErrRefused with the
// record that is there, or ErrSeeded of package ticket if that is not known;
// then take again. After any other error counter.MayHaveTaken says whether the
// entry may be in the record, or may get there later. Each call needs a new
// id: a repeated one could be served a second time by the late arrival of the
// first request.
func Take(ctx context.Context, q table.Queue, e Entry, idleOnly bool) (Record, error) {
	n := namesOf(q)
	me, mode := table.Map(table.Item{e.ID: table.Map(e.item())}), table.String(e.Mode.String())
	rider := counter.Rider{
		Update: func(u expression.UpdateBuilder) expression.UpdateBuilder {
			u = u.
				Set(n.servingAfter, n.servingAfter.IfNotExists(n.ticketNumber)).
				Set(n.granted, n.granted.IfNotExists(zero)).
				Set(n.holders, n.holders.IfNotExists(expression.Value(me))).
				Set(n.evicted, n.evicted.IfNotExists(expression.Value(firstMark(e))))
			if e.Mode.Permits == 0 {
				u = u.Set(n.holdMode, n.holdMode.IfNotExists(expression.Value(mode)))
			}
			return u
		},
		Seed: table.Item{
			q.Attr(table.AttrServingAfter): table.Int(0),
			q.Attr(table.AttrGranted):      table.Int(0),
			q.Attr(table.AttrHolders):      me,
			q.Attr(table.AttrEvicted):      firstMark(e),
		},
	}
	if e.Mode.Permits == 0 {
		rider.Seed[q.Attr(table.AttrHoldMode)] = mode
	} else {
		rider.Seed[q.Attr(table.AttrPermits)] = table.Int(int64(e.Mode.Permits))
	}
	condition := n.wellFormed().And(n.scope.AttributeNotExists()).And(n.fits(e.Mode))
	if idleOnly {
		condition = condition.And(n.holders.AttributeNotExists().Or(n.admits(e.Mode)))
	}
	rider.Condition = &condition
	master := counter.Master{
		Store: q.Record(), Key: q.RecordKey(), Attribute: q.Attr(table.AttrTicketNumber),
		What: "serving record of \"" + q.String() + "\"",
		Host: q.Home != nil, Create: q.Home != nil && q.Home.Create, Names: q.RecordNames(),
	}
	item, err := master.Take(ctx, rider)
	refused, wasRefused := errors.AsType[*table.Refused](err)
	switch {
	case err == nil:
		return Decode(q, item)
	case wasRefused:
		item = refused.Item
	case !errors.Is(err, counter.ErrSeeded):
		return Record{}, err
	}
	// Somebody's record is there. Without idleOnly, taking again settles it.
	if item == nil && !idleOnly {
		return Record{}, err
	}
	if item == nil {
		if item, err = q.Record().Get(ctx, q.RecordKey()); err != nil {
			return Record{}, table.NotMade(err)
		}
	}
	rec, err := Decode(q, item)
	if err != nil {
		return Record{}, table.NotMade(err)
	}
	if err := rec.refuses(q, e.Mode, ScopeQueue); err != nil {
		return Record{}, table.NotMade(err)
	}
	return rec, ErrRefused
}

// wellFormed asks of an item what Decode does, as far as a condition can: it
// cannot ask for whole numbers, nor look into the entries of holders. The
// counter's own condition sees to ticketNumber. A record that wellFormed refuses
// must be malformed to Decode too, or a waiter would try it for ever.
func (n names) wellFormed() expression.ConditionBuilder {
	idle := n.holders.AttributeNotExists().And(n.servingAfter.AttributeNotExists())
	serving := n.holders.AttributeType(expression.Map).
		And(n.servingAfter.GreaterThanEqual(zero)).
		And(n.servingAfter.LessThan(n.ticketNumber)).
		And(n.granted.AttributeExists())
	granted := n.granted.GreaterThanEqual(zero).And(n.granted.LessThanEqual(n.ticketNumber))
	mode := n.holdMode.In(expression.Value(table.String(ModeExclusive)), expression.Value(table.String(ModeShared)))
	return idle.Or(serving).
		And(n.granted.AttributeNotExists().Or(granted)).
		And(n.holdMode.AttributeNotExists().Or(mode))
}

package serving

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/table"
)

// Take takes a number and is served at once if no ticket is outstanding: TAKE of the
// protocol.
//
//	SET servingAfter = if_not_exists(servingAfter, ticketNumber),
//	    granted      = if_not_exists(granted, 0),
//	    holders      = if_not_exists(holders, {id: entry}),
//	    holdMode     = if_not_exists(holdMode, "exclusive" or "shared"),
//	    evicted      = if_not_exists(evicted, {id, ticket: 0}),
//	    ticketNumber = ticketNumber + 1
//
// Right-hand sides read the item as it was, so servingAfter becomes the number
// before the one that is issued. The condition asks that the item is a record, that
// no wider counter issues its tickets, and that it is of the entry's kind. With
// idleOnly it also asks for room for one more holder, so that a busy lock costs one
// request and no ticket.
//
// The entry's id is in the record if it was served. Otherwise TicketNumber is the
// caller's ticket. The first use of a queue costs two requests. Returns
//
//   - ErrRefused, with the record, if idleOnly refused it or another client seeded
//     the record first: take again.
//   - counter.ErrSeeded if the record in the way is not known: take again.
//   - *MismatchError if the queue is of another kind.
//
// After any other error counter.MayHaveTaken reports whether the entry may be in the
// record. Each call needs a new id: a late copy of a request could otherwise be
// served a second time.
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
	tickets := counter.Counter{
		Store: q.Record(), Key: q.RecordKey(), Attribute: q.Attr(table.AttrTicketNumber),
		What: "serving record of \"" + q.String() + "\"",
		Host: q.Home != nil, Create: q.Home != nil && q.Home.Create, Names: q.RecordNames(),
	}
	item, err := tickets.Take(ctx, rider)
	refused, wasRefused := errors.AsType[*table.Refused](err)
	switch {
	case err == nil:
		return Decode(q, item)
	case wasRefused:
		there, readErr := refused.Read(ctx)
		if readErr != nil {
			return Record{}, readErr
		}
		item = there
	case !errors.Is(err, counter.ErrSeeded):
		return Record{}, err
	}
	// Another client's record is there. Without idleOnly, taking again decides.
	if item == nil && !idleOnly {
		return Record{}, err
	}
	if item == nil {
		if item, err = q.Record().Get(ctx, q.RecordKey()); err != nil {
			return Record{}, table.Unread(err)
		}
	}
	rec, err := Decode(q, item)
	if err != nil {
		return Record{}, table.NotApplied(err)
	}
	if err := rec.refuses(q, e.Mode, ScopeQueue); err != nil {
		return Record{}, table.NotApplied(err)
	}
	return rec, ErrRefused
}

// wellFormed returns the condition that an item is a record. It cannot ask for whole
// numbers, nor look into entries. The counter's own condition covers ticketNumber.
// Decode must refuse every record that wellFormed refuses, or a waiter would try
// such a record for ever.
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

package serving

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Take takes a number and is served at once if no ticket is outstanding: TAKE of
// docs/expressions.md. Right-hand sides read the item as it was, so servingAfter becomes
// the number before the one that is issued. With idleOnly the condition also asks for
// room for one more holder, so that a busy lock costs one request and no ticket.
//
// The entry's id is in the record if it was served. Otherwise TicketNumber is the
// caller's ticket. The first use of a queue creates its record: see counter.Counter.Take.
// Returns
//
//   - ErrRefused, with the record, if idleOnly refused it or another client seeded
//     the record first: take again.
//   - counter.ErrSeeded if the record in the way is not known: take again.
//   - *MismatchError if the queue is of another kind.
//
// After any other error counter.MayHaveTaken reports whether the entry may be in the
// record. Each call needs a new id: a late copy could otherwise be served a second time.
func Take(ctx context.Context, q table.Queue, e Entry, idleOnly bool) (Record, error) {
	rider := counter.Rider{Shape: takeShape{q.Attr(""), expiresOf(q), e.Mode, idleOnly}, Values: e.takeSlots().Values}
	tickets := counter.Counter{
		Store: q.Record(), Key: q.RecordKey(), Attribute: q.Attr(table.AttrTicketNumber),
		What: "serving record of \"" + q.String() + "\"",
		Host: q.Home != nil, Create: q.Home != nil && q.Home.Create, Names: q.RecordNames(),
	}
	sent := time.Now()
	item, err := tickets.Take(ctx, rider)
	switch {
	case err == nil:
		rec, err := Decode(q, item)
		return rec.Timed(sent), err
	case item == nil && !(idleOnly && errors.Is(err, counter.ErrSeeded)):
		return Record{}, err // after ErrSeeded, taking again decides
	case item == nil:
		if item, err = q.Record().Get(ctx, q.RecordKey()); err != nil {
			return Record{}, table.Unread(err)
		}
	}
	rec, err := Decode(q, item)
	if err == nil {
		err = rec.refuses(q, e.Mode, ticket.ScopeQueue)
	}
	if err != nil {
		return Record{}, table.NotApplied(err)
	}
	return rec.Timed(sent), ErrRefused
}

// takeShape is the shape of what Take adds to the increment. Its slots are those of Entry.takeSlots.
type takeShape struct {
	prefix, expires string
	mode            Mode
	idleOnly        bool
}

// Update implements counter.RiderShape.
func (t takeShape) Update(u expression.UpdateBuilder, last expression.OperandBuilder, slots table.Slots) expression.UpdateBuilder {
	return named(t.prefix).serve(keep(u, t.expires), t.mode, slots, last)
}

// Condition implements counter.RiderShape.
func (t takeShape) Condition(c expression.ConditionBuilder) expression.ConditionBuilder {
	n := named(t.prefix)
	return c.And(n.wellFormed().And(n.scope.AttributeNotExists()).And(n.fits(t.mode, t.idleOnly)))
}

// serve adds what makes an entry the holder of a record without holders. The slots are those of
// Entry.takeSlots. before is the number before its ticket.
func (n names) serve(u expression.UpdateBuilder, m Mode, slots table.Slots, before expression.OperandBuilder) expression.UpdateBuilder {
	u = u.
		Set(n.servingAfter, n.servingAfter.IfNotExists(before)).
		Set(n.granted, n.granted.IfNotExists(integer(0))).
		Set(n.holders, n.holders.IfNotExists(slots.Value(0))).
		Set(n.evicted, n.evicted.IfNotExists(slots.Value(1)))
	if m.Permits > 0 {
		return u.Set(n.permits, integer(int64(m.Permits))) // no change, unless the record is new
	}
	return u.Set(n.holdMode, n.holdMode.IfNotExists(text(m.String())))
}

// takeSlots returns holders with the entry alone, and the mark that the first request for a ticket writes.
func (e Entry) takeSlots() table.Slots {
	alone := table.Map(table.Item{e.ID: table.Map(e.item())})
	return table.Slots{Values: []types.AttributeValue{alone, Evicted{ID: e.ID}.attribute()}}
}

// wellFormed returns the condition that an item is a record. It cannot ask for whole
// numbers, nor look into entries. The counter's own condition covers ticketNumber.
// Decode must refuse every record that wellFormed refuses, or a waiter would try
// such a record for ever.
func (n names) wellFormed() expression.ConditionBuilder {
	idle := n.holders.AttributeNotExists().And(n.servingAfter.AttributeNotExists())
	serving := n.holders.AttributeType(expression.Map).
		And(n.servingAfter.GreaterThanEqual(integer(0))).
		And(n.servingAfter.LessThan(n.ticketNumber)).
		And(n.granted.AttributeExists())
	granted := n.granted.GreaterThanEqual(integer(0)).And(n.granted.LessThanEqual(n.ticketNumber))
	return idle.Or(serving).
		And(n.granted.AttributeNotExists().Or(granted)).
		And(n.holdMode.AttributeNotExists().Or(n.holdMode.In(text(ModeExclusive), text(ModeShared))))
}

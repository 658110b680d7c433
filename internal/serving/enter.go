package serving

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Enter enters ticket t, which a wider counter has issued, into a queue, and is
// served at once if no ticket is outstanding there: ENTER of the protocol, which takes
// the place of TAKE in the wider scopes.
//
//	SET servingAfter = if_not_exists(servingAfter, t - 1),
//	    granted      = if_not_exists(granted, 0),
//	    holders      = if_not_exists(holders, {id: entry}),
//	    holdMode     = if_not_exists(holdMode, "exclusive" or "shared"),
//	    evicted      = if_not_exists(evicted, {id, ticket: 0}),
//	    ticketNumber = t, scope = "entity" or "shared"
//	if there is no item, or one that is a record of that scope and of the
//	   entry's mode, with ticketNumber between 0 and t - 1
//
// A semaphore has permits in place of holdMode. ticketNumber is then the highest
// ticket that has entered. Later tickets have no rows yet, because a waiter puts its
// row after the answer to ENTER. With idleOnly the condition also asks for room for
// one more holder.
//
// The entry's id is in the record if it was served. Otherwise t may be put into the
// queue. Returns
//
//   - ErrRefused. The caller's own id in the record: it was served. ticketNumber
//     below t, with idleOnly: there is no room. Otherwise a later ticket has entered
//     first, and t may be put into the queue if it is above the floor.
//   - *MismatchError if the queue is of another kind.
//   - *table.MalformedError if there is no record, or one without holdMode that a
//     shared holder cannot join.
//
// Any number of calls with one ticket is safe, with any id: once ticketNumber is t or
// more, no other ENTER of t is ever applied. A new id for each call shows whose lease
// is in the record. After another error the entry may be in the record until a call
// has returned a record with ticketNumber t or more.
func Enter(ctx context.Context, q table.Queue, e Entry, t ticket.Number, scope Scope, idleOnly bool) (Record, error) {
	n := namesOf(q)
	me := table.Map(table.Item{e.ID: table.Map(e.item())})
	// A comparison with an attribute that is missing or no number is false.
	known := n.ticketNumber.Between(zero, number(t.Previous())).
		And(n.scope.Equal(scope.value())).
		And(n.wellFormed()).
		And(n.fits(e.Mode))
	if idleOnly {
		known = known.And(n.holders.AttributeNotExists().Or(n.admits(e.Mode)))
	}
	update := expression.
		Set(n.servingAfter, n.servingAfter.IfNotExists(number(t.Previous()))).
		Set(n.granted, n.granted.IfNotExists(zero)).
		Set(n.holders, n.holders.IfNotExists(expression.Value(me))).
		Set(n.evicted, n.evicted.IfNotExists(expression.Value(firstMark(e)))).
		Set(n.ticketNumber, number(t)).
		Set(n.scope, scope.value())
	if e.Mode.Permits == 0 {
		update = update.Set(n.holdMode, n.holdMode.IfNotExists(expression.Value(table.String(e.Mode.String()))))
	} else {
		update = update.Set(n.permits, expression.Value(table.Int(int64(e.Mode.Permits))))
	}
	rec, err := grant(ctx, q, update,
		expression.NameNoDotSplit(q.Record().Layout().PK).AttributeNotExists().Or(known))
	if errors.Is(err, ErrRefused) {
		if err := rec.refuses(q, e.Mode, scope); err != nil {
			return Record{}, table.NotApplied(err)
		}
	}
	return rec, err
}

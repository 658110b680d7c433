package serving

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Register tells a queue of ticket t, which a wider counter has issued, and is
// served with it at once if the queue is idle and nobody is in it: REGISTER of
// the protocol, which takes the place of TAKE in the wider scopes.
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
// A semaphore has permits in the place of holdMode.
//
// So ticketNumber is the highest ticket that was registered. All after it were
// not: they have no row yet, as nobody puts one before its REGISTER was answered.
// For that, a queue in which no ticket up to ticketNumber is outstanding has
// nobody in it. With idleOnly it is asked as well that there is room for one more.
//
// On success it returns the record: served if the entry's id is in it, otherwise
// t may be put into the queue. Refused, ErrRefused and the record. The caller's
// own id in it: served. A ticketNumber below t: with idleOnly there is no room. Else a later ticket came first: t may be put into the queue if it is
// above the floor, and is worth nothing if not. A *MismatchError says that the
// queue is of another kind, and a *table.MalformedError that there is no record,
// or one with holders that does not say, to one who shares, how they hold.
//
// One request; no second for the first use of a queue. The SDK client's own
// retries are off, as for TAKE. But calling again with the same ticket is safe
// with any id: once a REGISTER of t was applied, ticketNumber is t or more for
// good, so no other REGISTER of t is ever applied, however late it lands. A new
// id for each call only tells whose lease it is that stands. After any other
// error the entry may be in the record, or may get there late, until a call has
// returned a record with ticketNumber t or more.
func Register(ctx context.Context, q table.Queue, e Entry, t ticket.Number, scope Scope, idleOnly bool) (Record, error) {
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
			return Record{}, table.NotMade(err)
		}
	}
	return rec, err
}

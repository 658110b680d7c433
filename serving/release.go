package serving

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Release ends the turn of the holder id, served with ticket t: RELEASE of the
// protocol. With idle the caller believes that nobody has queued, and the fast
// form is tried first; a wrong belief costs one request. It returns the record
// it left, and whether Quieten would now be granted: a hand-off in a queue that
// turned out to be empty.
//
// One request, or two. If both forms are refused, it returns ErrRefused: an
// earlier attempt whose answer was lost had released, or the holder had been
// taken out. Which, is for the caller to tell: with table.Once it knows whether an
// attempt was not answered. Calling again is safe. After
// any other error the holder's lease ends the turn.
func Release(ctx context.Context, q table.Queue, id string, t ticket.Number, turn Turn, idle bool, opts ...table.Option) (rec Record, quiet bool, err error) {
	if idle {
		rec, err = ReleaseFast(ctx, q, id, t, turn, opts...)
		if err == nil || !errors.Is(err, ErrRefused) {
			return rec, false, err
		}
		if _, held := rec.Mine(id); !held {
			return rec, false, err // the hand-off would be refused as well
		}
	}
	rec, err = HandOff(ctx, q, id, turn, opts...)
	// After a refused fast form somebody holds a ticket, and will go on.
	return rec, err == nil && !idle && rec.Present && len(rec.Holders) == 0 && rec.Quiet(t), err
}

// ReleaseFast ends a turn when nobody has queued: the record is left without
// holders, and the next TAKE is served at once.
//
//	SET granted = ticketNumber REMOVE holders, servingAfter, holdMode
//	if attribute_exists(holders.#id) AND size(holders) = 1
//	   AND (ticketNumber = granted OR ticketNumber = t)
//
// The last condition asks that no ticket is outstanding: all up to the last
// one issued were granted, or it was the caller's own. It asks what *is*
// issued, not what the caller last saw.
//
// On success it returns the record. Refused, ErrRefused and the record: if the
// id is in it, HandOff; if not, an earlier attempt had released, or the holder
// was taken out: see Release. One request. Calling again is
// safe.
func ReleaseFast(ctx context.Context, q table.Queue, id string, t ticket.Number, turn Turn, opts ...table.Option) (Record, error) {
	update, condition := fastForm(q, id, t, turn)
	return write(ctx, q, update, condition, opts...)
}

func fastForm(q table.Queue, id string, t ticket.Number, turn Turn) (expression.UpdateBuilder, expression.ConditionBuilder) {
	n := namesOf(q)
	return n.leave(q, n.quiet(), turn), n.isHolder(id).And(n.alone()).And(n.noneOutstanding(t))
}

// HandOff ends a turn and leaves holders as {}: whoever waits may claim.
//
//	REMOVE holders.#id if attribute_exists(holders.#id)
//
// On success it returns the record; ErrRefused and the record as for
// ReleaseFast. One request. Calling again is safe.
func HandOff(ctx context.Context, q table.Queue, id string, turn Turn, opts ...table.Option) (Record, error) {
	update, condition := handOffForm(q, id, turn)
	return write(ctx, q, update, condition, opts...)
}

func handOffForm(q table.Queue, id string, turn Turn) (expression.UpdateBuilder, expression.ConditionBuilder) {
	n := namesOf(q)
	return n.leave(q, expression.Remove(n.entry(id)), turn), n.isHolder(id)
}

// leave adds how long turns take, for those who wait. An item of the user's own
// does not carry that.
func (n names) leave(q table.Queue, update expression.UpdateBuilder, turn Turn) expression.UpdateBuilder {
	if q.Home != nil {
		return update
	}
	return update.Set(n.turn, expression.Value(table.Map(turn.attribute())))
}

// Quieten puts a queue that is idle, and in which no ticket is outstanding,
// back on the path where the next TAKE is served at once: QUIET of the
// protocol.
//
//	SET granted = ticketNumber REMOVE holders, servingAfter, holdMode
//	if size(holders) = 0 AND (ticketNumber = granted OR ticketNumber = t)
//
// t must be a ticket that was granted to the caller: with one that was not, a
// live waiter would be overtaken. It is safe at any delay. On success it
// returns the record, else ErrRefused and the record. One request.
func Quieten(ctx context.Context, q table.Queue, t ticket.Number) (Record, error) {
	n := namesOf(q)
	return write(ctx, q, n.quiet(), n.nobody().And(n.noneOutstanding(t)))
}

// Remove takes ids, at most MaxEvicted, out of the record, if one of them is
// there: what LEAVE does for the ids whose TAKE, seed or CLAIM had an unknown
// outcome, and a holder after a loss. It returns the record, and whether Quieten
// with the ticket after servingAfter would now be granted. ErrRefused and the
// record if none is there. One request. Calling again is safe.
func Remove(ctx context.Context, q table.Queue, ids ...string) (rec Record, quiet bool, err error) {
	n := namesOf(q)
	var update expression.UpdateBuilder
	var condition expression.ConditionBuilder
	for i, id := range ids {
		update = update.Remove(n.entry(id))
		if i == 0 {
			condition = n.isHolder(id)
		} else {
			condition = condition.Or(n.isHolder(id))
		}
	}
	rec, err = write(ctx, q, update, condition)
	return rec, err == nil && rec.Present && len(rec.Holders) == 0 && rec.Quiet(rec.firstServed()), err
}

func (n names) quiet() expression.UpdateBuilder {
	return expression.Set(n.granted, n.ticketNumber).Remove(n.holders).Remove(n.servingAfter).Remove(n.holdMode)
}

func (n names) noneOutstanding(t ticket.Number) expression.ConditionBuilder {
	return n.ticketNumber.Equal(n.granted).Or(n.ticketNumber.Equal(number(t)))
}

package serving

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Release sends RELEASE in that form. If it is refused, Record.Outcome says what became of the turn. If FormFast is
// applied, the record is not returned. Returns a *clause.MalformedError, and the record, if the ticket of the holder's entry
// cannot be read: no RELEASE will be applied, and no other client removes the entry.
func Release(ctx context.Context, q table.Queue, f queue.Form, e queue.Ending) (queue.Record, error) {
	rec, err := release(ctx, q, f, e)
	return rec, explain(rec, e, err)
}

// explain returns the error of a RELEASE that ended with err. A refusal is the problem of the holder's entry if its ticket
// cannot be read.
func explain(rec queue.Record, e queue.Ending, err error) error {
	if problem := rec.Hides(e.ID, e.Ticket); errors.Is(err, ErrRefused) && problem != nil && !e.Lost && !rec.Holds(e.ID, e.Ticket) {
		return table.NotApplied(problem)
	}
	return err
}

func release(ctx context.Context, q table.Queue, f queue.Form, e queue.Ending) (queue.Record, error) {
	if f != queue.FormFast {
		return sendExpressions(ctx, q, ending(q, f, e))
	}
	err := q.Record().Apply(ctx, q.RecordKey(), ending(q, f, e))
	if err == nil {
		return queue.Record{}, nil
	}
	return written(q, nil, err)
}

// ending is RELEASE. Hold times are not written to a user's item.
func ending(q table.Queue, f queue.Form, e queue.Ending) table.Expressions {
	if q.Home != nil {
		e.HoldTime = queue.HoldTime{}
	}
	return q.Record().Express(e.Release(f, forgetting(q)), q.Names())
}

// UpdateAndRelease applies a form of RELEASE and the user's own update of the item that
// carries the record in one write, on both conditions. users has an update, and may
// have a condition. If it is refused and the holder is in the record, the form was not possible (Fast)
// or the user's condition was false. At most one of any number of calls is applied. Returns a *clause.MalformedError as
// Release does.
func UpdateAndRelease(ctx context.Context, q table.Queue, f queue.Form, e queue.Ending,
	users expression.Expression) (queue.Record, error) {
	rec, err := sendExpressions(ctx, q, table.Join(ending(q, f, e), users))
	return rec, explain(rec, e, err)
}

// Reset sends RESET. t must be a ticket that was granted to the caller. The request may be late by any time.
func Reset(ctx context.Context, q table.Queue, t ticket.Number) (queue.Record, error) {
	return send(ctx, q, queue.Reset(t, forgetting(q)))
}

// MakeIdle is Reset for a client that was granted nothing, after it has removed holders from the record r. The first
// ticket that was served since holders became present was granted, and a ticket behind it may be outstanding. If the
// record is of a wider scope, the table's TTL must not delete it.
func MakeIdle(ctx context.Context, q table.Queue, r queue.Record) (queue.Record, error) {
	if r.Scope != ticket.ScopeQueue {
		q.Forget = 0
	}
	return Reset(ctx, q, r.FirstServed())
}

// forgetting returns when the table's TTL may delete a record that is idle from now on; zero if that must not happen, or
// the time is not known.
func forgetting(q table.Queue) time.Time {
	_, latest, known := q.Clock().At(time.Now())
	if !known || q.Forget == 0 {
		return time.Time{}
	}
	return latest.Add(q.Forget)
}

// Evict sends EVICT of at most queue.MaxEvicted holders whose leases have ended, all or none. If it is refused, one of them
// has changed: judge again.
func Evict(ctx context.Context, q table.Queue, holders ...queue.Holder) (queue.Record, error) {
	return send(ctx, q, queue.Evict(markEvicted(q, holders[len(holders)-1]), holders...))
}

// EvictFailClosed removes a fail-closed holder without a lease on behalf of an operator.
// ErrRefused: the holder is not there, has a lease, or has made a fenced transaction
// since it was read.
func EvictFailClosed(ctx context.Context, q table.Queue, h queue.Holder) (queue.Record, error) {
	return send(ctx, q, queue.EvictFailClosed(markEvicted(q, h), h))
}

// markEvicted is the mark of a holder's eviction now.
func markEvicted(q table.Queue, h queue.Holder) queue.Eviction {
	mark := queue.Eviction{ID: h.ID, Ticket: h.Ticket, Made: h.Made}
	if _, latest, known := q.Clock().At(time.Now()); known {
		mark.At = latest // no transaction of the holder began later
	}
	return mark
}

// Remove sends CLEAN UP of ids, at most queue.MaxEvicted. A waiter that leaves does
// so for ids whose TAKE, seed or CLAIM had an unknown outcome, and a holder after a
// loss. Returns ErrRefused if none of the ids is there.
func Remove(ctx context.Context, q table.Queue, ids ...string) (queue.Record, error) {
	return send(ctx, q, queue.Remove(ids...))
}

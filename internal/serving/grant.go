package serving

import (
	"context"
	"errors"
	"time"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Take sends TAKE: it takes a number, and is served at once if no ticket is outstanding. The entry's id is in the record if
// it was served. Otherwise TicketNumber is the caller's ticket. The first use of a queue creates its record: see
// ticket.Master. Returns
//
//   - ErrRefused, with the record, if noWait refused it or another client seeded
//     the record first: take again.
//   - *queue.MismatchError if the queue is of another kind.
//
// After any other error counter.MayHaveTaken reports whether the entry may be in the
// record. Each call needs a new id: a late copy could otherwise be served a second time.
func Take(ctx context.Context, q table.Queue, e queue.Entry, noWait bool) (queue.Record, error) {
	tickets := counter.Counter{
		Store: q.Record(), Key: q.RecordKey(), What: "serving record of \"" + q.String() + "\"",
		Master: ticket.Master{
			Attribute: queue.AttrTicketNumber, Names: q.Names(),
			Host: q.Home != nil, Create: q.Home != nil && q.Home.Create, Beside: queue.RecordNames(),
		},
	}
	sent := time.Now()
	item, err := tickets.Take(ctx, queue.Take(e, noWait))
	switch {
	case err == nil:
		rec, err := queue.DecodeRecord(q.Items, item)
		return rec.Timed(sent, time.Now()), err
	case item == nil:
		return queue.Record{}, err
	}
	rec, err := queue.DecodeRecord(q.Items, item)
	if err == nil {
		err = rec.Refuses(q.Items, e.Mode, ticket.ScopeQueue)
	}
	if err != nil {
		return queue.Record{}, table.NotApplied(err)
	}
	return rec.Timed(sent, time.Now()), ErrRefused
}

// Enter sends ENTER, which takes the place of TAKE if a wider counter has issued ticket t. Returns
//
//   - ErrMade, with the record, if t has entered, or a later ticket has. An earlier id of
//     the caller in the record: it was served. Otherwise t may be put into the queue if
//     it is above the floor.
//   - ErrRefused, with the record, if there is no room, with noWait.
//   - *queue.MismatchError if the queue is of another kind.
//   - *clause.MalformedError if there is no record, or one without holdMode that a
//     shared holder cannot join.
//
// Any number of calls with one ticket is safe, with any id: once ticketNumber is t or
// more, no other ENTER of t is ever applied. A new id for each call shows whose lease
// is in the record. After another error the entry may be in the record until a call
// has returned a record with ticketNumber t or more.
func Enter(ctx context.Context, q table.Queue, e queue.Entry, t ticket.Number, scope ticket.Scope,
	noWait bool) (queue.Record, error) {
	rec, err := grant(ctx, q, queue.Enter(e, t, scope, noWait))
	if errors.Is(err, ErrMade) || errors.Is(err, ErrRefused) {
		if err := rec.Refuses(q.Items, e.Mode, scope); err != nil {
			return queue.Record{}, table.NotApplied(err)
		}
	}
	return rec, err
}

// Claim sends CLAIM. If it is refused and the caller's own id is in the record, an earlier answer was lost. After another
// error the caller looks for the id, or removes it.
func Claim(ctx context.Context, q table.Queue, e queue.Entry, t ticket.Number) (queue.Record, error) {
	return grant(ctx, q, queue.Claim(e, t))
}

// Resume sends RESUME. If it is refused and the caller's own id is in the record, an earlier answer was lost.
func Resume(ctx context.Context, q table.Queue, old queue.Holder, e queue.Entry) (queue.Record, error) {
	return grant(ctx, q, queue.Resume(e, old, markEvicted(q, old)))
}

// Confirm sends CONFIRM. since is the time of the grant on DynamoDB's clock, or zero. ErrLost: the grant never comes back,
// and a confirmation under way is refused too.
func Confirm(ctx context.Context, q table.Queue, id string, t ticket.Number, since time.Time) (queue.Record, error) {
	rec, err := send(ctx, q, queue.Confirm(id, t, since))
	if errors.Is(err, ErrMade) {
		return rec, nil
	}
	return rec, err
}

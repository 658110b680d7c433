package serving

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Take takes a number and is served at once if no ticket is outstanding: TAKE of
// docs/writes.md. Right-hand sides read the item as it was, so servingAfter becomes
// the number before the one that is issued. With idleOnly the condition also asks for
// room for one more holder, so that a busy lock costs one request and no ticket.
//
// The entry's id is in the record if it was served. Otherwise TicketNumber is the
// caller's ticket. The first use of a queue creates its record: see counter.Counter.Take.
// Returns
//
//   - ErrRefused, with the record, if idleOnly refused it or another client seeded
//     the record first: take again.
//   - *MismatchError if the queue is of another kind.
//
// After any other error counter.MayHaveTaken reports whether the entry may be in the
// record. Each call needs a new id: a late copy could otherwise be served a second time.
func Take(ctx context.Context, q table.Queue, e Entry, idleOnly bool) (Record, error) {
	tickets := counter.Counter{
		Store: q.Record(), Key: q.RecordKey(), Attribute: table.AttrTicketNumber, Names: q.Names(),
		What: "serving record of \"" + q.String() + "\"",
		Host: q.Home != nil, Create: q.Home != nil && q.Home.Create, Beside: table.RecordNames(),
	}
	sent := time.Now()
	item, err := tickets.Take(ctx, counter.Rider{Name: "TAKE", If: takes(e.Mode, idleOnly), Do: e.serve})
	switch {
	case err == nil:
		rec, err := Decode(q, item)
		return rec.Timed(sent), err
	case item == nil:
		return Record{}, err
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

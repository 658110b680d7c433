package serving

import (
	"context"
	"errors"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Enter enters ticket t, which a wider counter has issued, into a queue, and is served
// at once if no ticket is outstanding there: ENTER of docs/writes.md, which takes
// the place of TAKE in the wider scopes. ticketNumber becomes the highest ticket that has
// entered. Later tickets have no rows yet, because a waiter puts its row after the answer
// to ENTER. With idleOnly the condition also asks for room for one more holder.
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
func Enter(ctx context.Context, q table.Queue, e Entry, t ticket.Number, scope ticket.Scope,
	idleOnly bool) (Record, error) {
	rec, err := grant(ctx, q, e.enter(t, scope, idleOnly))
	if errors.Is(err, ErrRefused) {
		if err := rec.refuses(q, e.Mode, scope); err != nil {
			return Record{}, table.NotApplied(err)
		}
	}
	return rec, err
}

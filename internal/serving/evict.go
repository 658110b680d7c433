package serving

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/table"
)

// MaxEvicted is the largest number of holders of one Evict. The request then stays
// below DynamoDB's limits of 4 KB for an expression and 300 operators.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const MaxEvicted = 40

// Evict removes holders whose leases have ended, all or none, each only if its beat is
// still the one that was judged. The mark names the last of them. The condition asks for
// its ticket and its last fenced transaction as they were read. If it is refused, one of
// them has changed: judge again.
func Evict(ctx context.Context, q table.Queue, holders ...Holder) (Record, error) {
	return send(ctx, q, evict(markEvicted(q, holders[len(holders)-1]), holders...))
}

// EvictFailClosed removes a fail-closed holder without a lease on behalf of an operator.
// ErrRefused: the holder is not there, has a lease, or has made a fenced transaction
// since it was read.
func EvictFailClosed(ctx context.Context, q table.Queue, h Holder) (Record, error) {
	return send(ctx, q, evictFailClosed(markEvicted(q, h), h))
}

// markEvicted is the mark of a holder's eviction now. The condition of the write must include asRead.
func markEvicted(q table.Queue, h Holder) Evicted {
	mark := Evicted{ID: h.ID, Ticket: h.Ticket, Made: h.Made}
	if _, latest, known := q.Clock().At(time.Now()); known {
		mark.At = latest // no transaction of the holder began later
	}
	return mark
}

// Remove removes ids, at most MaxEvicted, from the record. A waiter that leaves does
// so for ids whose TAKE, seed or CLAIM had an unknown outcome, and a holder after a
// loss. Returns ErrRefused if none of the ids is there.
func Remove(ctx context.Context, q table.Queue, ids ...string) (Record, error) {
	return send(ctx, q, remove(ids...))
}

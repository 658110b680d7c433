package serving

import (
	"context"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

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
// has changed: judge again. The mark is of the last that is no closed entry.
func Evict(ctx context.Context, q table.Queue, holders ...queue.Holder) (queue.Record, error) {
	last := slices.ContainsFunc(holders, func(h queue.Holder) bool { return !h.Closed })
	if i := len(holders) - 1; last && holders[i].Closed {
		holders = slices.Concat(slices.DeleteFunc(slices.Clone(holders), func(h queue.Holder) bool { return !h.Closed }), queue.Turns(holders))
	}
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

package serving

import (
	"context"
	"errors"
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Renewal is what a holder's heartbeat writes. Times are on DynamoDB's clock, and
// zero if it is not known.
type Renewal struct {
	Until time.Time     // new end of the lease
	Since time.Time     // time of the grant, if the entry does not contain it yet
	TTL   time.Duration // new length of the lease; zero: it stays
}

// Heartbeat renews the lease of a holder that still holds the lock:
//
//	SET holders.#id.beat = holders.#id.beat + 1, holders.#id.until = :until
//	if … AND (attribute_not_exists(holders.#id.until) OR holders.#id.until <= :until)
//
// The last condition refuses a late heartbeat. It would set until back, and let
// other clients evict a holder that relies on a later one. So until must never
// decrease from call to call (heartbeat.Renewals). ErrMade: a later heartbeat was applied first.
// ErrLost is a loss. The Problem of an entry that cannot be read is returned in place of either.
func Heartbeat(ctx context.Context, q table.Queue, id string, t ticket.Number, r Renewal) (Record, error) {
	rec, err := send(ctx, q, r.heartbeat(id, t))
	if !errors.Is(err, ErrMade) && !errors.Is(err, ErrRefused) {
		return rec, err
	}
	if problem := rec.hides(id, t); problem != nil {
		return rec, problem
	}
	return rec, err
}

// hides returns the Problem of the entry of a holder that cannot be read, which may be why a write of the holder was
// refused. Nil if the lock would be lost without it.
func (r Record) hides(id string, t ticket.Number) error {
	h, _ := r.Mine(id)
	other := !h.Ticket.IsZero() && h.Ticket != t // which can be read
	if !h.Unreadable() || other || !r.meets(clause.Write{If: current(id, t)}) {
		return nil
	}
	return h.Problem
}

// change sends a write to the entry of a holder that still holds the lock. It succeeds if that was made before.
// ErrLost is a loss.
func change(ctx context.Context, q table.Queue, w clause.Write) (Record, error) {
	rec, err := send(ctx, q, w)
	if errors.Is(err, ErrMade) {
		return rec, nil
	}
	return rec, err
}

// Confirm makes the grant of a fail-closed holder endless. Its entry has a short lease
// until then. EVICT asks for the beat too, so one of the two is applied first and refuses
// the other, whatever clocks say. The ticket refuses a late confirmation of an orphaned
// entry. since is the time of the grant on DynamoDB's clock, or zero. ErrLost: the
// grant never comes back, and a confirmation under way is refused too.
func Confirm(ctx context.Context, q table.Queue, id string, t ticket.Number, since time.Time) (Record, error) {
	return change(ctx, q, confirm(id, t, since))
}

// Downgrade lets an exclusive holder share its lock from now on, with no holder in
// between. next is the number of its next fenced transaction (NextCall), which a late
// Downgrade does not follow: others would join before it is visible. ErrLost is a loss.
func Downgrade(ctx context.Context, q table.Queue, id string, t ticket.Number, next int64) (Record, error) {
	return change(ctx, q, downgrade(id, t, next))
}

// SetData replaces the data of a holder. Empty data is removed. call numbers the calls of
// one holder, from 1. A call that arrives after a later one would restore older data: it is
// refused by the table, and succeeds. ErrLost is a loss.
func SetData(ctx context.Context, q table.Queue, id string, t ticket.Number, call int64, data []byte) (Record, error) {
	return change(ctx, q, setData(id, t, call, data))
}

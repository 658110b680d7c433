package serving

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Renewal is what a holder's heartbeat writes. Times are on DynamoDB's clock, and
// zero if it is not known.
type Renewal struct {
	Until time.Time // new end of the lease
	Since time.Time // time of the grant, if the entry does not contain it yet
}

// held returns the condition that the holder id still holds the lock with ticket t.
// It asks that no later ticket was granted, unless holders share or have permits. It
// asks for the ticket because a TAKE that arrives again after the release puts its
// id back with a later one. An entry without a ticket has the one after servingAfter.
func (n names) held(id string, t ticket.Number) expression.ConditionBuilder {
	latest := n.latest(t).Or(n.isShared()).Or(n.permits.AttributeExists())
	return n.isHolder(id).And(latest).And(n.served(id, t))
}

// latest returns the condition that no ticket after t was granted.
func (n names) latest(t ticket.Number) expression.ConditionBuilder {
	return n.granted.LessThanEqual(number(t))
}

// served returns the condition that the entry was granted with ticket t.
func (n names) served(id string, t ticket.Number) expression.ConditionBuilder {
	own := n.field(id, table.AttrTicket)
	return own.Equal(number(t)).Or(own.AttributeNotExists().And(n.servingAfter.Equal(number(t.Previous()))))
}

// ErrOutrun reports that the holder is in the record, and that a later renewal of
// its own was applied first. It is not a loss.
var ErrOutrun = errors.New("a later heartbeat was applied first")

// Heartbeat renews the lease of a holder:
//
//	SET holders.#id.beat = holders.#id.beat + 1, holders.#id.until = :until
//	if attribute_exists(holders.#id) AND (granted <= t OR holdMode = "shared" OR attribute_exists(permits))
//	   AND (holders.#id.ticket = t OR attribute_not_exists(holders.#id.ticket) AND servingAfter = t - 1)
//	   AND (attribute_not_exists(holders.#id.until) OR holders.#id.until <= :until)
//
// The last condition refuses a late heartbeat. It would set until back, and let
// other clients evict a holder that relies on a later one. So until must never
// decrease from call to call (lease.Renewals).
//
// ErrRefused is a loss: the holder was evicted.
func Heartbeat(ctx context.Context, q table.Queue, id string, t ticket.Number, r Renewal) (Record, error) {
	n := namesOf(q)
	beat, until, since := n.field(id, table.AttrBeat), n.field(id, table.AttrUntil), n.field(id, table.AttrSince)
	update, condition := expression.Set(beat, beat.Plus(one)), n.held(id, t)
	if !r.Until.IsZero() {
		end := expression.Value(table.Int(r.Until.UnixMilli()))
		update = update.Set(until, end)
		condition = condition.And(until.AttributeNotExists().Or(until.LessThanEqual(end)))
	}
	if !r.Since.IsZero() {
		update = update.Set(since, since.IfNotExists(expression.Value(table.Int(r.Since.UnixMilli()))))
	}
	rec, err := write(ctx, q, update, condition)
	if errors.Is(err, ErrRefused) {
		if h, held := rec.Held(id, t); held && h.Unreadable() {
			return rec, h.Problem // it may be the reason
		} else if held {
			return rec, ErrOutrun
		}
	}
	return rec, err
}

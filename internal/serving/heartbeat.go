package serving

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Renewal is what a holder's heartbeat writes. Times are on DynamoDB's clock
// and zero if it is not known.
type Renewal struct {
	Until time.Time // new end of the lease
	Since time.Time // when it was granted, where the entry does not say yet
}

// held is the condition under which the holder id, served with ticket t, still
// holds the lock: it is in the record with that ticket, and no later ticket was
// granted, unless holders share or have a permit each. It is the heartbeat's
// condition. It asks for the ticket too, because a TAKE that arrives once more after its lock was released puts
// its id into the record again, with a later ticket. An entry without a ticket
// of its own has the one after servingAfter.
func (n names) held(id string, t ticket.Number) expression.ConditionBuilder {
	latest := n.latest(t).Or(n.isShared()).Or(n.permits.AttributeExists())
	return n.isHolder(id).And(latest).And(n.served(id, t))
}

// latest says that no later ticket than t was granted.
func (n names) latest(t ticket.Number) expression.ConditionBuilder {
	return n.granted.LessThanEqual(number(t))
}

// served says that the entry is there by the grant of ticket t.
func (n names) served(id string, t ticket.Number) expression.ConditionBuilder {
	own := n.field(id, table.AttrTicket)
	return own.Equal(number(t)).Or(own.AttributeNotExists().And(n.servingAfter.Equal(number(t.Previous()))))
}

// ErrOutrun says that the holder is in the record, and a later renewal of its
// own was applied first. It is no loss.
var ErrOutrun = errors.New("a later heartbeat was applied first")

// Heartbeat renews the lease of a holder that is still in the record:
//
//	SET holders.#id.beat = holders.#id.beat + 1, holders.#id.until = :until
//	if attribute_exists(holders.#id) AND (granted <= t OR holdMode = "shared" OR attribute_exists(permits))
//	   AND (holders.#id.ticket = t OR attribute_not_exists(holders.#id.ticket) AND servingAfter = t - 1)
//	   AND (attribute_not_exists(holders.#id.until) OR holders.#id.until <= :until)
//
// The last condition refuses a heartbeat that arrives late: it would set until
// back, and let others evict a holder that was told to rely on a later one. So
// until must never fall from call to call (lease.Renewals).
//
// On success it returns the record. ErrRefused is a loss: the holder was
// evicted. One request. Calling again is safe, also when the first is still
// under way.
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
			return rec, h.Problem // which may be why it was refused
		} else if held {
			return rec, ErrOutrun
		}
	}
	return rec, err
}

package serving

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Confirm makes the grant of a fail-closed holder, whose entry has a short
// lease until then, one that never ends by itself:
//
//	SET holders.#id.beat = 1 REMOVE holders.#id.until, holders.#id.ttl
//	if the holder holds the lock as HEARTBEAT asks AND holders.#id.beat = 0
//
// EVICT asks for the beat as well, so one of the two comes first, whatever
// clocks say, and the other is refused. The ticket keeps a confirmation that
// comes late from confirming a ghost: an id that a TAKE which arrived twice has
// put there again, and that nobody owns. since is when it was granted, on
// DynamoDB's clock, where the entry does not say yet; zero if it is not known.
//
// On success it returns the record, also if an earlier call of the same holder's
// had done it. ErrRefused and the record: the grant is gone, and will never come
// back; a confirmation that is still under way is refused too. One request.
// Calling again is safe. After any other error the holder may be confirmed, or
// may yet be.
func Confirm(ctx context.Context, q table.Queue, id string, t ticket.Number, since time.Time) (Record, error) {
	n := namesOf(q)
	beat, attrSince := n.field(id, table.AttrBeat), n.field(id, table.AttrSince)
	update := expression.Set(beat, one).Remove(n.field(id, table.AttrUntil)).Remove(n.field(id, table.AttrTTL))
	if !since.IsZero() {
		update = update.Set(attrSince, attrSince.IfNotExists(expression.Value(table.Int(since.UnixMilli()))))
	}
	rec, err := write(ctx, q, update, n.held(id, t).And(beat.Equal(zero)))
	if errors.Is(err, ErrRefused) {
		if h, held := rec.Held(id, t); held && h.Lease.Endless() {
			return rec, nil
		}
	}
	return rec, err
}

// Dismiss removes a fail-closed holder that has no lease, as an operator wants
// it: EVICT for those whom nobody else may evict.
//
//	REMOVE holders.#id SET evicted = {id, ticket, made, at}
//	if holders.#id.failClosed = true AND attribute_not_exists(holders.#id.ttl)
//	   AND holders.#id has the ticket, and made, as it was read
//
// On success it returns the record. ErrRefused and the record: the holder is not
// there, has a lease, or has made a fenced transaction since it was read. One
// request. Calling again is safe.
func Dismiss(ctx context.Context, q table.Queue, h Holder) (Record, error) {
	n := namesOf(q)
	return write(ctx, q, n.evict(q, expression.Remove(n.entry(h.ID)), h),
		n.field(h.ID, table.AttrFailClosed).Equal(expression.Value(&types.AttributeValueMemberBOOL{Value: true})).
			And(n.field(h.ID, table.AttrTTL).AttributeNotExists()).
			And(n.asRead(h)))
}

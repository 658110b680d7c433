package serving

import (
	"context"
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

// Held is the condition under which the holder id, served with ticket t, still
// holds the lock: it is in the record, and no later ticket was granted. It is
// the fence for the user's own transaction, and the heartbeat's condition.
func Held(id string, t ticket.Number) expression.ConditionBuilder {
	return isHolder(id).And(attrGranted.LessThanEqual(number(t)))
}

// Heartbeat renews the lease of a holder that is still in the record:
//
//	SET holders.#id.beat = holders.#id.beat + 1, holders.#id.until = …
//	if attribute_exists(holders.#id) AND granted <= t
//
// On success it returns the record. ErrRefused is a loss: the holder was
// evicted. One request. Calling again is safe, also when the first is still
// under way: a beat more does no harm, and until only rises with the caller's
// clock.
func Heartbeat(ctx context.Context, q table.Queue, id string, t ticket.Number, r Renewal) (Record, error) {
	beat := field(id, table.AttrBeat)
	update := expression.Set(beat, beat.Plus(one))
	if !r.Until.IsZero() {
		update = update.Set(field(id, table.AttrUntil), expression.Value(table.Int(r.Until.UnixMilli())))
	}
	if since := field(id, table.AttrSince); !r.Since.IsZero() {
		update = update.Set(since, since.IfNotExists(expression.Value(table.Int(r.Since.UnixMilli()))))
	}
	return write(ctx, q, update, Held(id, t))
}

package serving

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Heartbeat sends HEARTBEAT. The end of the lease must never fall from call to call (heartbeat.Renewals). ErrMade: a later
// heartbeat was applied first. ErrLost is a loss. The Problem of an entry that cannot be read is returned in place of
// either.
func Heartbeat(ctx context.Context, q table.Queue, id string, t ticket.Number, r queue.Renewal) (queue.Record, error) {
	rec, err := send(ctx, q, r.Heartbeat(id, t))
	if !errors.Is(err, ErrMade) && !errors.Is(err, ErrRefused) {
		return rec, err
	}
	if problem := rec.Hides(id, t); problem != nil {
		return rec, problem
	}
	return rec, err
}

// change sends a write to the entry of a holder that still holds the lock. It succeeds if that was made before.
// ErrLost is a loss.
func change(ctx context.Context, q table.Queue, w clause.Write) (queue.Record, error) {
	rec, err := send(ctx, q, w)
	if errors.Is(err, ErrMade) {
		return rec, nil
	}
	return rec, err
}

// Confirm sends CONFIRM. since is the time of the grant on DynamoDB's clock, or zero. ErrLost: the grant never comes back,
// and a confirmation under way is refused too.
func Confirm(ctx context.Context, q table.Queue, id string, t ticket.Number, since time.Time) (queue.Record, error) {
	return change(ctx, q, queue.Confirm(id, t, since))
}

// Downgrade sends DOWNGRADE. ErrLost is a loss.
func Downgrade(ctx context.Context, q table.Queue, id string, t ticket.Number, next int64) (queue.Record, error) {
	return change(ctx, q, queue.Downgrade(id, t, next))
}

// SetData sends SETDATA. A call that arrives after a later one is refused by the table, and succeeds. ErrLost is a loss.
func SetData(ctx context.Context, q table.Queue, id string, t ticket.Number, call int64, data []byte) (queue.Record, error) {
	return change(ctx, q, queue.SetData(id, t, call, data))
}

// Fence returns FENCE as a check for a transaction of the caller. It sends nothing.
func Fence(q table.Queue, id string, t ticket.Number, alone bool) (types.ConditionCheck, error) {
	return q.Record().Check(q.RecordKey(), queue.Fence(id, t, alone), q.Names())
}

// NumberedFence returns FENCE for the holder's transaction number call (queue.NextTransaction). If it is
// refused, the reason contains the record, and Record.Made says whether an earlier
// attempt was applied. It sends nothing.
func NumberedFence(q table.Queue, id string, t ticket.Number, alone bool, call int64) (types.Update, error) {
	return q.Record().InTransaction(q.RecordKey(), queue.NumberedFence(id, t, alone, call), q.Names())
}

// Settle sends SETTLE, which decides a fenced transaction whose outcome is unknown. It returns MadeYes or
// MadeNever, or MadeUnknown with the record if the holder is gone and the record does not
// say.
func Settle(ctx context.Context, q table.Queue, id string, t ticket.Number, call int64) (queue.Made, queue.Record, error) {
	rec, err := send(ctx, q, queue.Settle(id, t, call))
	switch {
	case err == nil:
		return queue.MadeNever, rec, nil
	case errors.Is(err, ErrRefused):
		return rec.Made(id, t, call), rec, nil
	}
	return queue.MadeUnknown, rec, err
}

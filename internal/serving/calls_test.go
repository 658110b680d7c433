package serving_test

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// The writes of a holder, as a Hold sends them.

func heartbeat(ctx context.Context, q table.Queue, id string, t ticket.Number, r queue.Renewal) (queue.Record, error) {
	rec, _, err := serving.Send(ctx, q, r.Heartbeat(id, t))
	return rec, err
}

// change succeeds if the change was made before.
func change(rec queue.Record, reply queue.Reply, err error) (queue.Record, error) {
	if reply == queue.ReplyMade {
		return rec, nil
	}
	return rec, err
}

func setData(ctx context.Context, q table.Queue, id string, t ticket.Number, call int64, data []byte) (queue.Record, error) {
	return change(serving.Send(ctx, q, queue.SetData(id, t, call, data)))
}

func downgrade(ctx context.Context, q table.Queue, id string, t ticket.Number, next int64) (queue.Record, error) {
	return change(serving.Send(ctx, q, queue.Downgrade(id, t, next)))
}

func sendRelease(ctx context.Context, q table.Queue, f queue.Form, e queue.Ending) (rec queue.Record, err error) {
	w := e.Release(f, time.Time{})
	if f == queue.FormFast {
		rec, _, err = serving.SendBlind(ctx, q, w)
		return rec, err
	}
	rec, _, err = serving.Send(ctx, q, w)
	return rec, err
}

func settle(ctx context.Context, q table.Queue, id string, t ticket.Number, call int64) (queue.Made, queue.Record, error) {
	rec, reply, err := serving.Send(ctx, q, queue.Settle(id, t, call))
	switch {
	case reply == queue.ReplyApplied:
		return queue.MadeNever, rec, nil
	case errors.Is(err, serving.ErrRefused):
		return rec.Made(id, t, call), rec, nil
	}
	return queue.MadeUnknown, rec, err
}

func fence(q table.Queue, id string, t ticket.Number, alone bool) (types.ConditionCheck, error) {
	return q.Record().Check(q.RecordKey(), queue.Fence(id, t, alone), q.Names())
}

func numberedFence(q table.Queue, id string, t ticket.Number, alone bool, call int64) (types.Update, error) {
	return q.Record().InTransaction(q.RecordKey(), queue.NumberedFence(id, t, alone, call), q.Names())
}

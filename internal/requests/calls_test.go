package requests_test

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// The writes of a holder, as a Hold sends them.

func sendHeartbeat(ctx context.Context, q table.Queue, id string, t ticket.Number, r queue.Renewal) (queue.Record, error) {
	rec, _, err := requests.Send(ctx, q, r.Heartbeat(id, t))
	return rec, err
}

func sendRelease(ctx context.Context, q table.Queue, f queue.Form, e queue.Ending) (rec queue.Record, err error) {
	w := e.Release(f, time.Time{})
	if f == queue.FormFast {
		rec, _, err = requests.SendBlind(ctx, q, w)
		return rec, err
	}
	rec, _, err = requests.Send(ctx, q, w)
	return rec, err
}

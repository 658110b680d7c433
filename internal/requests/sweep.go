package requests

import (
	"context"
	"errors"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/sweeper"
)

// Sweeper returns a sweeper of the queue. It repeats a request without an answer for that long, zero: not at all.
func Sweeper(q table.Queue, observer *heartbeat.Observer, within time.Duration) sweeper.Sweeper {
	return sweeper.Sweeper{Table: swept{q, within}, Items: q.Items, Clock: q.Clock(), Observer: observer, Forget: q.Forget}
}

// swept is a queue that is swept.
type swept struct {
	q      table.Queue
	within time.Duration
}

func (s swept) policy() retry.Policy {
	if s.within == 0 {
		return retry.Policy{}
	}
	return retry.Policy{Retryable: table.Unanswered}.Within(s.within)
}

func (s swept) Look(ctx context.Context) (queue.Snapshot, error) { return LookAll(ctx, s.q) }

func (s swept) Record(ctx context.Context) (queue.Record, error) {
	return retry.Answer(ctx, s.policy(), func(ctx context.Context) (queue.Record, error) { return Get(ctx, s.q) })
}

func (s swept) Write(ctx context.Context, w clause.Write) (rec queue.Record, applied bool, err error) {
	rec, err = retry.Answer(ctx, s.policy(), func(ctx context.Context) (queue.Record, error) {
		rec, _, err := Send(ctx, s.q, w)
		return rec, err
	})
	if errors.Is(err, ErrRefused) {
		return rec, false, nil
	}
	return rec, err == nil, err
}

func (s swept) Remove(ctx context.Context, row queue.Waiter, w clause.Write) (applied bool, err error) {
	reply, _, err := sendRow(ctx, s.q, row.KeyAsRead(s.q.Items), w)
	return reply == machine.ReplyApplied, err
}

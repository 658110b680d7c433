package sweeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// Request is what a holder is asked by Revoke.
type Request struct {
	By, Why  string
	Deadline time.Duration // from now; zero: none
	Timeout  time.Duration // for which failures are retried
}

// Revoke asks a holder to give way, by one request: that of the id and the ticket that were read, and no other. ring is
// called with its bell unless the holder is gone, so that it may look at once. Returns [*EvictError] if the holder is gone.
func Revoke(ctx context.Context, q table.Queue, h queue.Holder, r Request, observer *heartbeat.Observer, ring func(bell string)) error {
	refused := func(rec queue.Record) error {
		now := time.Now()
		return &EvictError{Holder: h, Serving: observer.Holders(q.Items, rec, now, q.Clock().Middle(now))}
	}
	if h.Closed {
		return refused(queue.Record{})
	}
	policy := retry.Policy{Retryable: table.Unanswered}
	rec, err := retry.Answer(ctx, policy.Within(r.Timeout), func(ctx context.Context) (queue.Record, error) {
		rec, _, err := serving.Send(ctx, q, queue.Revoke(h.ID, h.Ticket, r.mark(q)))
		return rec, err
	})
	if errors.Is(err, serving.ErrRefused) {
		return refused(rec)
	}
	if ring(h.Bell); err != nil {
		return fmt.Errorf("it may have been asked: %w", err)
	}
	return nil
}

// mark is what the entry says of the request.
func (r Request) mark(q table.Queue) queue.Revocation {
	mark := queue.Revocation{By: r.By, Why: r.Why}
	_, latest, known := q.Clock().At(time.Now())
	if mark.At = q.Clock().Middle(time.Now()); known && r.Deadline > 0 {
		mark.Deadline = latest.Add(r.Deadline)
	}
	return mark
}

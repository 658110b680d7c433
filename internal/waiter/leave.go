package waiter

import (
	"context"
	"errors"
	"time"

	"github.com/queuelock/queuelock/internal/grace"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
)

// leaveLimit limits the requests of CLEAN UP, after the answers under way were awaited. A
// lease ends what they do not remove.
const leaveLimit = 3 * time.Second

// Leave leaves the queue: CLEAN UP of the protocol. It must follow an error of Number,
// Enter or Await, and may replace Await. It waits until the row is deleted, and removes
// ids whose requests were not answered from the record. It returns when all requests were
// answered or given up.
func (w *Waiter) Leave(ctx context.Context) {
	if w.turn != nil {
		w.turn.leave()
	}
	w.places.Wait()
	if w.turn != nil && w.turn.place != nil {
		w.requests.unanswered(w.turn.place.undeleted)
	}
	unknown := w.claimant.attempts.unknown()
	if len(unknown) == 0 {
		return
	}
	if _, err := w.claimant.remove(ctx, unknown...); err != nil {
		w.requests.unanswered(err)
		w.orphan = w.claimant.abandon(unknown, err)
	}
}

// remove removes own ids that may be in the record, and resets a queue without another
// ticket. It returns the record.
func (c *claimant) remove(ctx context.Context, ids ...string) (serving.Record, error) {
	var rec serving.Record
	err := detached(ctx, func(ctx context.Context) (err error) {
		rec, err = serving.Remove(ctx, c.queue, ids...)
		return err
	})
	switch {
	case errors.Is(err, serving.ErrRefused):
		return rec, nil
	case err != nil:
		return rec, err
	}
	c.local.Wake(c.queue)
	if first := rec.FirstServed(); rec.Resettable(first) {
		after, err := serving.Reset(context.WithoutCancel(ctx), c.queue, first)
		if err == nil || errors.Is(err, serving.ErrRefused) {
			rec = after
		}
	}
	return rec, nil
}

// Remove removes a grant that its owner could not release. It is repeated until it is
// answered, for RetryTimeout at most, until end, when other clients may evict it, or until
// leaveLimit after the end of ctx.
func (w *Waiter) Remove(ctx context.Context, id string, end time.Time) error {
	ctx, cancel := grace.Context(ctx, leaveLimit)
	defer cancel()
	ctx, cancelEnd := context.WithDeadline(ctx, end)
	defer cancelEnd()
	err := retry.Policy{Retryable: table.Transient, Timeout: w.cfg.RetryTimeout}.Do(ctx, func(ctx context.Context) error {
		_, err := serving.Remove(ctx, w.cfg.Queue, id)
		return err
	})
	switch {
	case err == nil:
		w.cfg.Local.Wake(w.cfg.Queue)
	case errors.Is(err, serving.ErrRefused), !time.Now().Before(end):
		return nil // it is gone, or ends without help
	}
	return err
}

// detached sends a request of CLEAN UP, which does not end with the caller's context.
func detached(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	return retry.Policy{Retryable: table.Transient, Timeout: leaveLimit}.Do(ctx, request)
}

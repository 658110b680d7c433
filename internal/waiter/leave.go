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

// leaveLimit bounds the requests of leaving a queue, after the answers under way
// were awaited. What does not get through in that time, a lease ends.
const leaveLimit = 3 * time.Second

// Leave gives everything back that is not held: LEAVE of the protocol. It must
// follow an error of Number, Enter or Await, and may replace Await. The rows are
// deleted by their places. The ids whose requests were not answered are removed
// from the record, in case one of them is there. It returns when all has been
// answered, or given up.
func (w *Waiter) Leave(ctx context.Context) {
	w.leaveTurn()
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

// remove takes ids of the waiter's own out of the record, in case one is there,
// and puts the queue back on the one-request path if no ticket is outstanding. It
// returns the record.
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

// Remove takes a grant out of the record whose owner could not release it, and is
// not to have it any more. It is tried until it is answered, until end, when other
// clients may remove it, until the retry timeout has passed, or until leaveLimit
// after the end of ctx.
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

// detached makes a request of leaving apart from the caller's context, and repeats
// it if it fails transiently.
func detached(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	return retry.Policy{Retryable: table.Transient, Timeout: leaveLimit}.Do(ctx, request)
}

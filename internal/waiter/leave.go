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

// leaveLimit bounds the requests of leaving a queue, after the answers still
// out were awaited. What does not get through in that time, a lease ends.
const leaveLimit = 3 * time.Second

// leave gives everything back: LEAVE of the protocol. The rows are deleted by
// their places, which were told to; the ids whose requests were never answered
// are taken out of the record, in case one of them got there. One that took over
// a lock with a lock delay is left to it.
func (w *Waiter) leave(ctx context.Context) {
	w.places.Wait()
	if w.row != nil {
		w.unanswered(w.row.undeleted)
	}
	var unknown []string
	for _, a := range w.attempts {
		if a.unknown && a.confirming.IsZero() && !a.delayed() {
			unknown = append(unknown, a.id)
		}
	}
	for _, a := range w.attempts {
		if a.unknown && !a.confirming.IsZero() {
			unknown = append(unknown, a.id) // last: no lease would end it
		}
	}
	if len(unknown) == 0 {
		return
	}
	// A waiter stops long before it has that many requests unanswered; those
	// sent last are the likeliest to be still under way.
	unknown = unknown[max(0, len(unknown)-serving.MaxEvicted):]
	if _, err := w.remove(ctx, unknown...); err != nil {
		w.unanswered(err)
		w.abandon(unknown, err)
	}
}

// unanswered notes the failure of a request, if it shows that the table does not
// answer and no earlier one did.
func (w *Waiter) unanswered(err error) {
	if w.failure == nil && table.Unanswered(err) {
		w.failure = err
	}
}

// remove takes ids of the waiter's own out of the record, in case one is there,
// and puts the queue back on the one-request path if nobody else holds a
// ticket. It returns the record.
func (w *Waiter) remove(ctx context.Context, ids ...string) (rec serving.Record, err error) {
	quiet := false
	err = w.retried(ctx, func(ctx context.Context) error {
		rec, quiet, err = serving.Remove(ctx, w.Queue, ids...)
		return err
	})
	switch {
	case errors.Is(err, serving.ErrRefused):
		return rec, nil
	case err != nil:
		return rec, err
	}
	w.Lines.Wake(w.Queue)
	if next, err := rec.ServingAfter.Next(); quiet && err == nil {
		after, err := serving.Quieten(context.WithoutCancel(ctx), w.Queue, next)
		if err == nil || errors.Is(err, serving.ErrRefused) {
			rec = after
		}
	}
	return rec, nil
}

// Remove takes a grant out of the record whose owner could not release it, and is
// not to have it any more. It is tried until it is answered, until end, when others
// may remove it, until patience is over, or until leaveLimit after the end of ctx.
func (w *Waiter) Remove(ctx context.Context, id string, end time.Time) error {
	ctx, cancel := grace.Context(ctx, leaveLimit)
	defer cancel()
	ctx, cancelEnd := context.WithDeadline(ctx, end)
	defer cancelEnd()
	err := repeated(ctx, w.Patience, func(ctx context.Context) error {
		_, _, err := serving.Remove(ctx, w.Queue, id)
		return err
	})
	switch {
	case err == nil:
		w.Lines.Wake(w.Queue)
	case errors.Is(err, serving.ErrRefused), !time.Now().Before(end):
		return nil // it is gone, or ends without help
	}
	return err
}

// retried runs a request of leaving, detached from the caller's context, and
// again if it failed in passing.
func (w *Waiter) retried(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	return repeated(ctx, leaveLimit, request)
}

// repeated runs a request until it does not fail transiently, ctx ends, or patience
// is over.
func repeated(ctx context.Context, patience time.Duration, request func(context.Context) error) error {
	for retries := retry.For(patience); ; {
		err := request(ctx)
		if err == nil || !table.Transient(err) || !retries.Pause(ctx) {
			return err
		}
	}
}

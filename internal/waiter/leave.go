package waiter

import (
	"context"
	"errors"
	"time"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/serving"
)

// leaveLimit bounds the requests of leaving a queue, after the answers still
// out were awaited. What does not get through in that time, a lease ends.
const leaveLimit = 3 * time.Second

// leave gives everything back: LEAVE of the protocol. The rows are deleted by
// their places, which were told to; each id whose request was never answered
// is taken out of the record, in case it got there.
func (w *Waiter) leave(ctx context.Context) {
	w.places.Wait()
	for _, a := range w.attempts {
		if !a.unknown {
			continue
		}
		rec, err := w.remove(ctx, a)
		switch {
		case errors.Is(err, serving.ErrRefused):
		case err != nil:
			w.Log.Warn("queuelock: a holder id of unknown outcome could not be removed; its lease will end it",
				"queue", w.Queue.String(), "id", a.id, "ttl", w.Holder.TTL, "error", err)
		default:
			w.quieten(ctx, a, rec)
		}
	}
}

// remove takes an attempt's id out of the record.
func (w *Waiter) remove(ctx context.Context, a *attempt) (rec serving.Record, err error) {
	err = retried(ctx, func(ctx context.Context) error {
		rec, err = serving.Remove(ctx, w.Queue, a.id)
		return err
	})
	return rec, err
}

// quieten puts the queue back on the one-request path after an id of the
// waiter's own was removed, if nobody else holds a ticket. A TAKE's id was
// granted the ticket after servingAfter; a CLAIM's, granted.
func (w *Waiter) quieten(ctx context.Context, a *attempt, rec serving.Record) {
	t := rec.Granted
	if !a.claimed {
		next, err := rec.ServingAfter.Next()
		if err != nil {
			return
		}
		t = next
	}
	w.Lines.Wake(w.Queue)
	if !rec.Present || len(rec.Holders) > 0 || !rec.Quiet(t) {
		return
	}
	if _, err := serving.Quieten(context.WithoutCancel(ctx), w.Queue, t); err != nil && !errors.Is(err, serving.ErrRefused) {
		w.Log.Debug("queuelock: an idle queue was not put back on the short path", "queue", w.Queue.String(), "error", err)
	}
}

// retried runs a request of leaving, detached from the caller's context, and
// again if it failed in passing.
func retried(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	retry := retries(leaveLimit)
	for {
		err := request(ctx)
		if err == nil || !table.Transient(err) || sleep(ctx, retry.NextBackOff()) != nil {
			return err
		}
	}
}

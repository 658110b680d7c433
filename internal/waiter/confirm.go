package waiter

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/grace"
	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Grace is the lease of a fail-closed grant until it is confirmed. It must
// outlast the answer of the request that was granted and a few attempts at the
// confirmation, each of which may take requestTimeout: one that the table
// throttles, or that is lost, must not cost the grant, or a queue of fail-closed
// waiters would evict each other for ever where the network is slow. And no more
// than that: it is how long others wait for one that dies in between. Nothing is
// at stake but time, as the table decides whether an eviction or the confirmation
// comes first.
func Grace(requestTimeout time.Duration) time.Duration {
	return min(max(4*requestTimeout, minGrace), lease.Max)
}

// minGrace leaves room for the uncertainty of DynamoDB's clock, which is known to
// about a second, where requests are given less.
const minGrace = 2 * time.Second

// Orphan is a fail-closed grant that was to be confirmed, and was given up
// without an answer: it may stand in the record, and nobody owns it.
type Orphan struct {
	Ticket ticket.Number
	Err    error // why it could not be removed
}

// Orphan is what a Run that failed may have left, if it is more than a lease
// ends; nil: nothing.
func (w *Waiter) Orphan() *Orphan { return w.orphan }

// granted acquires, and confirms the grant if it is to be fail-closed.
func (w *Waiter) granted(ctx context.Context, noWait bool) (Grant, error) {
	for {
		grant, err := w.acquire(ctx, noWait)
		grant, err = w.confirmed(ctx, grant, err, noWait)
		if !errors.Is(err, errTakeAnew) {
			return grant, err
		}
	}
}

// confirmed is what came of waiting for a ticket, once the grant is confirmed, if
// it is to be fail-closed.
func (w *Waiter) confirmed(ctx context.Context, grant Grant, err error, noWait bool) (Grant, error) {
	if err != nil || !w.Holder.FailClosed {
		return grant, err
	}
	return w.confirm(ctx, grant, noWait)
}

// confirm sends CONFIRM until it is answered. It returns errTakeAnew if the grant
// is gone. After any other error, also of a ctx that has ended before, the grant
// is among those of unknown outcome, and nobody's.
func (w *Waiter) confirm(ctx context.Context, grant Grant, noWait bool) (Grant, error) {
	a := w.attemptOf(grant.ID)
	a.unknown = true
	for retries := retry.For(w.patience(noWait)); ; {
		if ctx.Err() != nil {
			return Grant{}, ctx.Err()
		}
		a.confirming = grant.Ticket
		patient, cancel := grace.Context(ctx, answerGrace)
		rec, err := serving.Confirm(patient, w.Queue, grant.ID, grant.Ticket, lease.Middle(w.Queue.Clock(), grant.Sent))
		cancel()
		switch {
		case err == nil:
			a.unknown, w.failure = false, nil
			me, _ := rec.Mine(grant.ID)
			grant.Record, grant.Lease = rec, me.Lease
			return grant, nil
		case errors.Is(err, serving.ErrRefused):
			// Evicted meanwhile: this process, or the table, was slow. An id that
			// is there all the same is a ghost, which is not to be adopted.
			w.Log.Warn("queuelock: a fail-closed grant was not confirmed in time", "queue", w.Queue.String(), "ticket", grant.Ticket)
			a.left, a.confirming, w.careful = true, ticket.Number{}, true
			if _, a.unknown = rec.Mine(a.id); a.unknown {
				if _, err := w.remove(ctx, a.id); err == nil {
					a.unknown = false
				}
			}
			return Grant{}, errTakeAnew
		case !table.Transient(err):
			if ctx.Err() != nil && w.failure == nil {
				w.failure = err // no answer came, in all that time
			}
			return Grant{}, err
		}
		if err := w.again(ctx, retries, "confirm", err); err != nil {
			return Grant{}, err
		}
	}
}

// attemptOf is the attempt with that id.
func (w *Waiter) attemptOf(id string) *attempt {
	for _, a := range w.attempts {
		if a.id == id {
			return a
		}
	}
	return nil
}

// abandon tells of ids that could not be removed from the record: a lease ends
// them, unless one of them was to be confirmed.
func (w *Waiter) abandon(ids []string, err error) {
	for _, a := range w.attempts {
		if a.unknown && !a.confirming.IsZero() {
			ids = slices.DeleteFunc(ids, func(id string) bool { return id == a.id })
			w.orphan = &Orphan{Ticket: a.confirming, Err: err}
			w.Log.Error("queuelock: a fail-closed grant of unknown outcome could not be removed; if it stands, an operator must evict it",
				"queue", w.Queue.String(), "ticket", a.confirming, "id", a.id, "error", err)
		}
	}
	if len(ids) == 0 {
		return
	}
	w.Log.Warn("queuelock: holder ids of unknown outcome could not be removed; their lease will end them",
		"queue", w.Queue.String(), "ids", ids, "ttl", w.Holder.TTL, "error", err)
}

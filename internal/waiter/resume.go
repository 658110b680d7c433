package waiter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/queuelock/queuelock/internal/linger"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/serving"
	"github.com/queuelock/queuelock/ticket"
)

// ErrGone says that what was to be resumed is not there any more.
var ErrGone = errors.New("it is gone")

// Handle names a waiter, and what became of it, for one that goes on with it
// after its process has ended.
type Handle struct {
	ID     string // with which all of its ids begin
	Ticket ticket.Number
}

// names reports whether the holder's id is one of the waiter's.
func (h Handle) names(holder serving.Holder) bool {
	return holder.Ticket == h.Ticket && strings.HasPrefix(holder.ID, h.ID+"-")
}

// handle is of the waiter's place with its ticket.
func (w *Waiter) handle() Handle { return Handle{ID: w.prefix, Ticket: w.ticket} }

// Handle is the handle of the grant.
func (g Grant) Handle() Handle {
	return Handle{ID: g.ID[:max(0, strings.LastIndexByte(g.ID, '-'))], Ticket: g.Ticket}
}

func (w *Waiter) scope() serving.Scope {
	if w.Counter == nil {
		return serving.ScopeQueue
	}
	return w.Counter.Scope
}

// resume goes on with what the handle names: a lock that is still in the record,
// or a place whose ticket can still be granted. Else it returns ErrGone.
func (w *Waiter) resume(ctx context.Context, noWait bool) (Grant, error) {
	w.ticket, w.careful = w.Resume.Ticket, true
	t := &turn{Waiter: w, retries: retry.For(w.Patience)}
	for {
		sight, err := t.look(ctx, serving.Record{})
		if err != nil {
			return Grant{}, err
		}
		if err := cmp.Or(w.scope().Fits(w.Queue, sight.Record), w.Mode.Fits(w.Queue, sight.Record)); err != nil {
			return Grant{}, err
		}
		grant, ok, err := w.goOn(ctx, &sight)
		switch {
		case ok:
			return grant, nil
		case err != nil:
			if _, _, err := t.failed(ctx, "resume", err); err != nil {
				return Grant{}, err
			}
			continue
		}
		if !sight.Record.Present || w.ticket.Compare(sight.Record.Floor()) <= 0 {
			return Grant{}, fmt.Errorf("%w: ticket %s of %q is not held, and cannot be granted any more", ErrGone, w.ticket, w.Queue)
		}
		w.note(sight, ticketsAhead(w.ticket, sight.Record))
		grant, err = w.wait(ctx, sight, noWait)
		if errors.Is(err, errTakeAnew) {
			err = fmt.Errorf("%w: the place with ticket %s of %q was lost, or somebody else has resumed it", ErrGone, w.ticket, w.Queue)
		}
		return grant, err
	}
}

// goOn looks for one of the waiter's own ids, and takes those over that it
// resumes.
func (w *Waiter) goOn(ctx context.Context, sight *queue.Sight) (Grant, bool, error) {
	for {
		if grant, ok := w.served(ctx, sight); ok {
			return grant, true, nil
		}
		if ctx.Err() != nil {
			return Grant{}, false, ctx.Err()
		}
		if found, err := w.takeOver(ctx, sight); err != nil || !found {
			return Grant{}, false, err
		}
	}
}

// takeOver puts an id of this waiter's into the place of one of those of the
// waiter that it resumes, if one is in the record, and reports whether there was
// one: a CLAIM of a process that has died may still arrive. It changes the sight
// to what comes back.
func (w *Waiter) takeOver(ctx context.Context, sight *queue.Sight) (found bool, err error) {
	if w.Resume == nil {
		return false, nil
	}
	for _, h := range sight.Record.Holders {
		if !w.Resume.names(h) {
			continue
		}
		if h.Lease.FailClosed && !h.Lease.Endless() {
			return true, fmt.Errorf("%w: ticket %s of %q was granted without a lease, and was not confirmed", ErrGone, h.Ticket, w.Queue)
		}
		if h.Lease.FailClosed {
			// Whoever took it over, and gave up, would open the queue.
			return true, fmt.Errorf("ticket %s of %q is held without a lease, and is not resumed: an operator must evict it", h.Ticket, w.Queue)
		}
		w.Mode.Shared = h.Shared
		a, e := w.newAttempt(true)
		if len(e.Data) == 0 {
			e.Data = h.Data
		}
		patient, cancel := linger.Context(ctx, answerGrace)
		rec, err := serving.Resume(patient, w.Queue, h, e)
		cancel()
		if errors.Is(err, serving.ErrRefused) {
			err = nil
			if again, stands := rec.Mine(h.ID); stands && again.Shared == h.Shared {
				return true, &table.MalformedError{
					Item: fmt.Sprintf("serving record of %q", w.Queue), Attribute: w.Queue.Attr(table.AttrHolders) + "." + h.ID,
					Problem: fmt.Sprintf("holds alone with ticket %s, and the record says otherwise: it cannot be resumed", h.Ticket),
				}
			}
		} else {
			a.unknown = err != nil && table.Applied(err, true)
		}
		if err == nil {
			sight.Saw(rec)
		}
		return true, err
	}
	return false, nil
}

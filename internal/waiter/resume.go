package waiter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/queuelock/queuelock/internal/grace"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// GoneError says that what was to be resumed is of no use any more, and why.
type GoneError struct {
	Ticket ticket.Number
	Why    string
}

func (e *GoneError) Error() string { return e.Why }

// gone is what is known of a handle whose ticket is not served under it, and
// cannot be granted any more.
func (w *Waiter) gone(rec serving.Record) error {
	for _, h := range rec.Holders {
		if h.Ticket == w.ticket {
			return &GoneError{w.ticket, "somebody else holds the lock with this ticket, as after an earlier Resume"}
		}
	}
	return &GoneError{w.ticket, "it was released, evicted, overtaken, or resumed by somebody else"}
}

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
// or a place whose ticket can still be granted. Else it returns a *GoneError.
func (w *Waiter) resume(ctx context.Context, noWait bool) (Grant, error) {
	w.ticket, w.careful = w.Resume.Ticket, true
	t := &turn{Waiter: w, retries: retry.For(w.patience(noWait))}
	for {
		snapshot, err := t.look(ctx, serving.Record{})
		if err != nil {
			return Grant{}, err
		}
		if err := cmp.Or(w.scope().Fits(snapshot.Record), w.Mode.Fits(snapshot.Record)); err != nil {
			return Grant{}, err
		}
		grant, ok, err := w.goOn(ctx, &snapshot)
		switch {
		case ok:
			return grant, nil
		case err != nil:
			if _, _, err := t.failed(ctx, "resume", err); err != nil {
				return Grant{}, err
			}
			continue
		}
		if !snapshot.Record.Present || w.ticket.Compare(snapshot.Record.Floor()) <= 0 {
			return Grant{}, w.gone(snapshot.Record)
		}
		w.note(snapshot, ticketsAhead(w.ticket, snapshot.Record))
		grant, err = w.wait(ctx, snapshot, noWait)
		if errors.Is(err, errTakeAnew) {
			err = &GoneError{w.ticket, "its place was lost, or resumed by somebody else"}
		}
		return grant, err
	}
}

// goOn looks for one of the waiter's own ids, and takes those over that it
// resumes.
func (w *Waiter) goOn(ctx context.Context, snapshot *rows.Snapshot) (Grant, bool, error) {
	for {
		if grant, ok := w.served(ctx, snapshot); ok {
			return grant, true, nil
		}
		if ctx.Err() != nil {
			return Grant{}, false, ctx.Err()
		}
		if found, err := w.takeOver(ctx, snapshot); err != nil || !found {
			return Grant{}, false, err
		}
	}
}

// takeOver puts an id of this waiter's into the place of one of those of the
// waiter that it resumes, if one is in the record, and reports whether there was
// one: a CLAIM of a process that has died may still arrive. It changes the snapshot
// to what comes back.
func (w *Waiter) takeOver(ctx context.Context, snapshot *rows.Snapshot) (found bool, err error) {
	if w.Resume == nil {
		return false, nil
	}
	for _, h := range snapshot.Record.Holders {
		if h.Unreadable() && strings.HasPrefix(h.ID, w.Resume.ID+"-") {
			return true, h.Problem
		}
		if !w.Resume.names(h) {
			continue
		}
		if h.Lease.FailClosed && !h.Lease.Endless() {
			return true, &GoneError{w.ticket, "the lock fails closed, and its process ended before it was confirmed"}
		}
		if h.Lease.FailClosed {
			// Whoever took it over, and gave up, would open the queue.
			return true, fmt.Errorf("ticket %s is held without a lease, and is not resumed: an operator must evict it", h.Ticket)
		}
		w.Mode.Shared = h.Shared
		a, e := w.newAttempt(true)
		a.resumed = true
		e.Lease.Delay = max(e.Lease.Delay, h.Lease.Delay) // for what is still on its way
		a.lease = e.Lease
		if len(e.Data) == 0 {
			e.Data = h.Data
		}
		patient, cancel := grace.Context(ctx, answerGrace)
		rec, err := serving.Resume(patient, w.Queue, h, e)
		cancel()
		if errors.Is(err, serving.ErrRefused) {
			err = nil
			if again, stands := rec.Mine(h.ID); stands && again.Shared == h.Shared && again.Made == h.Made {
				return true, &table.MalformedError{
					Item: fmt.Sprintf("serving record of %q", w.Queue), Attribute: w.Queue.Attr(table.AttrHolders) + "." + h.ID,
					Problem: fmt.Sprintf("holds alone with ticket %s, and the record says otherwise: it cannot be resumed", h.Ticket),
				}
			}
		} else {
			a.unknown = err != nil && table.Applied(err, true)
		}
		if err == nil {
			snapshot.Saw(rec)
		}
		return true, err
	}
	return false, nil
}

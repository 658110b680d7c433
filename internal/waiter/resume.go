package waiter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/queuelock/queuelock/internal/grace"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// GoneError reports why a handle cannot be resumed any more.
type GoneError struct {
	Ticket ticket.Number
	Why    string
}

func (e *GoneError) Error() string { return e.Why }

// Handle names a waiter, or the lock that it was granted, for the process that continues it.
type Handle struct {
	ID     string // prefix of all its ids
	Ticket ticket.Number
}

// holder returns the holder in the record that the handle names. The error is the reason why it cannot be resumed.
func (h Handle) holder(rec serving.Record) (holder serving.Holder, found bool, err error) {
	for _, holder := range rec.Holders {
		switch {
		case !strings.HasPrefix(holder.ID, h.ID+"-"):
			continue
		case holder.Unreadable():
			return holder, true, holder.Problem
		case holder.Ticket != h.Ticket:
			continue
		case holder.Lease.FailClosed && !holder.Lease.Endless():
			err = &GoneError{h.Ticket, "the lock fails closed, and its process ended before it was confirmed"}
		case holder.Lease.FailClosed:
			// A process that resumed it and gave up would open the queue.
			err = fmt.Errorf("ticket %s is held without a lease, and is not resumed: an operator must evict it", holder.Ticket)
		}
		return holder, true, err
	}
	return serving.Holder{}, false, nil
}

// resume is Enter with a handle. It takes over a lock that is still in the record, or returns no grant if the
// ticket can still be granted. Otherwise it returns a *GoneError.
func (w *Waiter) resume(ctx context.Context, t ticket.Number) (Grant, bool, error) {
	w.ticket, w.careful = t, true
	for {
		err := w.read(ctx, answerGrace, func(ctx context.Context) (rows.Snapshot, error) {
			return rows.Look(ctx, w.cfg.Queue, t, ticket.Number{})
		})
		if err != nil {
			return Grant{}, false, err
		}
		if err := w.fits(w.snapshot.Record); err != nil {
			return Grant{}, false, err
		}
		grant, ok, err := w.settle(ctx)
		if ok {
			return grant, true, nil
		}
		if err == nil {
			break
		}
		if err := w.pause(ctx, "resume", err); err != nil {
			return Grant{}, false, err
		}
	}
	rec := w.snapshot.Record
	if !rec.Present || t.Compare(rec.Floor()) <= 0 {
		why := "it was released, evicted, overtaken, or resumed by another process"
		if slices.ContainsFunc(rec.Holders, func(h serving.Holder) bool { return h.Ticket == t }) {
			why = "another process holds the lock with this ticket, as after an earlier Resume"
		}
		return Grant{}, false, &GoneError{t, why}
	}
	w.progress.record(t, w.snapshot, ticketsAhead(t, rec))
	return Grant{}, false, nil
}

// takeOver replaces a holder that the handle names by an own id, and reports whether there is one: a CLAIM of a
// process that has ended may still arrive. The record that is returned replaces that of the snapshot.
func (w *Waiter) takeOver(ctx context.Context) (found bool, err error) {
	if w.cfg.Resume == nil {
		return false, nil
	}
	old, found, err := w.cfg.Resume.holder(w.snapshot.Record)
	if !found || err != nil {
		return found, err
	}
	w.cfg.Entry.Mode.Shared = old.Shared
	a, entry := w.attempt(true)
	a.resumed = true
	entry.Lease.Delay = max(entry.Lease.Delay, old.Lease.Delay) // for requests that are under way
	a.lease = entry.Lease
	if len(entry.Data) == 0 {
		entry.Data = old.Data
	}
	extended, cancel := grace.Context(ctx, answerGrace)
	defer cancel()
	rec, err := serving.Resume(extended, w.cfg.Queue, old, entry)
	switch {
	case err == nil:
	case !errors.Is(err, serving.ErrRefused):
		a.unknown = table.Applied(err, true)
		return true, err
	default:
		if again, present := rec.Mine(old.ID); present && again.Shared == old.Shared && again.Made == old.Made {
			return true, &table.MalformedError{
				Item: fmt.Sprintf("serving record of %q", w.cfg.Queue), Attribute: w.cfg.Queue.Attr(table.AttrHolders) + "." + old.ID,
				Problem: fmt.Sprintf("holds alone with ticket %s, and the record says otherwise: it cannot be resumed", old.Ticket),
			}
		}
	}
	w.snapshot.Saw(rec)
	return true, nil
}

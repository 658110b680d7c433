package waiter

import (
	"context"
	"errors"
	"fmt"
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

// Handle names a waiter, or the lock that it was granted, for the process that continues
// it.
type Handle struct {
	ID     string // prefix of all its ids
	Ticket ticket.Number
}

// names reports whether the holder's id is one of the waiter's.
func (h Handle) names(holder serving.Holder) bool {
	return holder.Ticket == h.Ticket && strings.HasPrefix(holder.ID, h.ID+"-")
}

// holder returns the holder in the record that the handle names. The error is the reason
// why it cannot be resumed.
func (h Handle) holder(rec serving.Record) (holder serving.Holder, found bool, err error) {
	for _, holder := range rec.Holders {
		switch {
		case holder.Unreadable() && strings.HasPrefix(holder.ID, h.ID+"-"):
			return holder, true, holder.Problem
		case !h.names(holder):
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

// gone returns the error of a handle that names no holder and whose ticket cannot be
// granted any more.
func (h Handle) gone(rec serving.Record) error {
	for _, holder := range rec.Holders {
		if holder.Ticket == h.Ticket {
			return &GoneError{h.Ticket, "another process holds the lock with this ticket, as after an earlier Resume"}
		}
	}
	return &GoneError{h.Ticket, "it was released, evicted, overtaken, or resumed by another process"}
}

// resume is Enter with a handle. It takes over a lock that is still in the record, or joins
// the queue with a ticket that can still be granted. Otherwise it returns a *GoneError.
func (w *Waiter) resume(ctx context.Context, t ticket.Number) (Grant, bool, error) {
	w.ticket, w.careful = t, true
	for {
		snapshot, err := w.requests.look(ctx, w.series, answerGrace, func(ctx context.Context) (rows.Snapshot, error) {
			return rows.Look(ctx, w.cfg.Queue, t, ticket.Number{})
		})
		if err != nil {
			return Grant{}, false, err
		}
		if err := w.cfg.fits(snapshot.Record, w.Mode()); err != nil {
			return Grant{}, false, err
		}
		grant, ok, err := w.claimant.goOn(ctx, *w.cfg.Resume, &snapshot)
		switch {
		case ok:
			grant, err = w.served(ctx, grant)
			return grant, err == nil, err
		case err != nil:
			if err := w.requests.pause(ctx, w.series, "resume", err); err != nil {
				return Grant{}, false, err
			}
			continue
		}
		if !snapshot.Record.Present || t.Compare(snapshot.Record.Floor()) <= 0 {
			return Grant{}, false, w.cfg.Resume.gone(snapshot.Record)
		}
		w.progress.record(t, snapshot, ticketsAhead(t, snapshot.Record))
		return Grant{}, false, w.join(ctx, snapshot)
	}
}

// goOn looks for an own id in the record, and takes over an id of the handle.
func (c *claimant) goOn(ctx context.Context, from Handle, snapshot *rows.Snapshot) (Grant, bool, error) {
	for {
		if grant, ok := c.adopt(ctx, snapshot); ok {
			return grant, true, nil
		}
		if ctx.Err() != nil {
			return Grant{}, false, ctx.Err()
		}
		if found, err := c.takeOver(ctx, &from, snapshot); err != nil || !found {
			return Grant{}, false, err
		}
	}
}

// takeOver replaces a holder that the handle names by an own id, and reports whether there
// is one: a CLAIM of a process that has ended may still arrive. It changes the snapshot to
// what the request returns.
func (c *claimant) takeOver(ctx context.Context, from *Handle, snapshot *rows.Snapshot) (found bool, err error) {
	if from == nil {
		return false, nil
	}
	old, found, err := from.holder(snapshot.Record)
	if !found || err != nil {
		return found, err
	}
	c.entry.Mode.Shared = old.Shared
	a, entry := c.attempt(true)
	a.resumed = true
	entry.Lease.Delay = max(entry.Lease.Delay, old.Lease.Delay) // for requests that are under way
	a.lease = entry.Lease
	if len(entry.Data) == 0 {
		entry.Data = old.Data
	}
	extended, cancel := grace.Context(ctx, answerGrace)
	defer cancel()
	rec, err := serving.Resume(extended, c.queue, old, entry)
	switch {
	case err == nil:
	case !errors.Is(err, serving.ErrRefused):
		a.unknown = table.Applied(err, true)
		return true, err
	default:
		if again, present := rec.Mine(old.ID); present && again.Shared == old.Shared && again.Made == old.Made {
			return true, &table.MalformedError{
				Item: fmt.Sprintf("serving record of %q", c.queue), Attribute: c.queue.Attr(table.AttrHolders) + "." + old.ID,
				Problem: fmt.Sprintf("holds alone with ticket %s, and the record says otherwise: it cannot be resumed", old.Ticket),
			}
		}
	}
	snapshot.Saw(rec)
	return true, nil
}

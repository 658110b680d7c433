package waiter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// quickTries is how often a caller that will not wait tries again after the queue has moved, before the lock
// counts as busy.
const quickTries = 5

// Highest is a ticket of the scope that a record says was issued.
type Highest struct {
	Ticket ticket.Number
	Queue  table.Queue // of the record
}

// raise records that tickets up to h were issued.
func (w *Waiter) raise(h Highest) {
	if w.highest.Ticket.Less(h.Ticket) {
		w.highest = h
	}
}

// Number finds out DynamoDB's time, and takes a number of the Counter, which waiters in its other queues may share. The
// number is zero without a Counter, because Enter takes it. highest is a ticket that is known to have been issued. A number that is not
// above it shows that the counter has lost numbers. The counter is then raised, and asked again.
func (w *Waiter) Number(ctx context.Context, highest Highest) (t ticket.Number, err error) {
	w.series.Reset()
	if w.cfg.Resume != nil {
		return w.cfg.Resume.Ticket, nil // a look comes first
	}
	if err := w.date(ctx); err != nil {
		return t, err
	}
	if w.cfg.Counter == nil {
		return t, nil
	}
	w.raise(highest)
	for err == nil && !w.highest.Ticket.Less(t) {
		err = w.send(ctx, "take a number", func(ctx context.Context) (err error) {
			if t, err = w.cfg.Counter.Next(ctx); err != nil || w.highest.Ticket.Less(t) {
				return err
			}
			return w.raiseCounter(ctx, t)
		})
	}
	return t, err
}

// raiseCounter raises a counter that has issued t, which is not above highest. If highest is too far above t, its
// record is malformed: no other queue should suffer.
func (w *Waiter) raiseCounter(ctx context.Context, t ticket.Number) error {
	err, q := w.cfg.Counter.Raise(ctx, t, w.highest.Ticket), w.highest.Queue
	switch {
	case err == nil:
		w.cfg.Log.Warn("queuelock: a counter had fallen below tickets that it had issued, and was raised",
			"counter", w.cfg.Counter.What, "queue", q.String(), "number", t, "raised", w.highest.Ticket)
	case errors.Is(err, counter.ErrFar):
		return &clause.MalformedError{
			Item: fmt.Sprintf("serving record of %q", q), Attribute: q.Attr(queue.AttrTicketNumber),
			Problem: fmt.Sprintf("is %s, too far above %s, which its counter has just issued: it must be corrected by hand",
				w.highest.Ticket, t),
		}
	}
	return err
}

// take sends TAKE, each time with a new id, until it has a ticket, or until the record that refuses it shows an
// own id. ticketed reports whether it has a ticket. It returns ErrBusy if the caller will not wait and a live
// holder is in the way.
func (w *Waiter) take(ctx context.Context) (ticketed bool, err error) {
	for {
		var rec queue.Record
		err := w.send(ctx, "take a number", func(ctx context.Context) (err error) {
			a, entry := w.attempt(false)
			rec, err = serving.Take(ctx, w.cfg.Queue, entry, w.cfg.NoWait)
			a.unknown = err != nil && !errors.Is(err, serving.ErrRefused) && counter.MayHaveTaken(err)
			return err
		})
		a, _ := w.attempts.find(rec)
		switch {
		case err == nil:
			w.ticket = rec.TicketNumber
			w.snapshot = queue.SnapshotOf(rec, time.Now())
			w.progress.record(w.ticket, w.snapshot, ticketsAhead(w.ticket, rec))
			return true, nil
		case !errors.Is(err, serving.ErrRefused):
			return false, err
		case a != nil:
			w.snapshot = queue.SnapshotOf(rec, time.Now())
			return false, nil
		case w.cfg.NoWait: // otherwise another client has seeded the record
			if err := w.makeRoom(ctx, rec); err != nil {
				return false, err
			}
		}
	}
}

// makeRoom evicts expired holders of a record that refused a caller which will not wait. It returns ErrBusy if
// another attempt cannot succeed. A record that another client seeded first may have room.
func (w *Waiter) makeRoom(ctx context.Context, rec queue.Record) error {
	w.snapshot = queue.SnapshotOf(rec, time.Now())
	d := w.decide(rec.Floor(), nil)
	w.progress.record(w.ticket, w.snapshot, 0)
	gone := d.ExpiredHolders
	if h, overdue := w.overdue(rec); overdue && len(gone) == 0 {
		var err error
		if gone, err = w.abandoned(ctx, h); err != nil {
			return err
		}
	}
	switch {
	case len(gone) > 0:
		_, err := w.evict(ctx, gone)
		return err
	case rec.Room(w.Mode(), d.ExpiredHolders):
		return nil
	}
	return cmp.Or(d.Stuck, ErrBusy)
}

// enter sends ENTER, each time with a new id, until it is answered. It returns nil if t may be put into the
// queue, or if one of the waiter's ids is in the record; ErrNewTicket if t is at or below the floor; ErrBusy if
// the caller will not wait.
func (w *Waiter) enter(ctx context.Context, t ticket.Number) error {
	w.ticket = t
	first := len(w.attempts)
	for {
		var rec queue.Record
		err := w.send(ctx, "enter the queue", func(ctx context.Context) (err error) {
			a, entry := w.attempt(false)
			rec, err = serving.Enter(ctx, w.cfg.Queue, entry, t, w.cfg.Counter.Scope, w.cfg.NoWait)
			if errors.Is(err, serving.ErrMade) {
				err = nil
			}
			a.unknown = err != nil && !errors.Is(err, serving.ErrRefused) && table.Applied(err)
			return err
		})
		switch {
		case err == nil:
			for _, a := range w.attempts[first:] {
				a.unknown = false // it is in the record, or no ENTER of t will ever be applied
			}
			return w.afterEnter(rec)
		case !errors.Is(err, serving.ErrRefused), !w.cfg.NoWait:
			return err
		}
		if err := w.makeRoom(ctx, rec); err != nil {
			return err
		}
	}
}

// afterEnter judges a ticket that has entered: at or below the floor, without a grant, it is of no use.
func (w *Waiter) afterEnter(rec queue.Record) error {
	w.raise(Highest{rec.TicketNumber, w.cfg.Queue})
	w.snapshot = queue.SnapshotOf(rec, time.Now())
	w.progress.record(w.ticket, w.snapshot, 0)
	if a, _ := w.attempts.find(rec); a != nil || rec.Floor().Less(w.ticket) {
		w.worthless = 0
		return nil
	}
	if w.worthless++; w.cfg.NoWait && w.worthless > quickTries {
		return ErrBusy
	}
	return ErrNewTicket
}

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
func (h Handle) holder(rec queue.Record) (holder queue.Holder, found bool, err error) {
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
	return queue.Holder{}, false, nil
}

// resume is Enter with a handle. It takes over a lock that is still in the record, or returns no grant if the
// ticket can still be granted. Otherwise it returns a *GoneError.
func (w *Waiter) resume(ctx context.Context, t ticket.Number) (*Grant, error) {
	w.ticket, w.careful = t, true
	for {
		err := w.read(ctx, answerGrace, func(ctx context.Context) (queue.Snapshot, error) {
			return rows.Look(ctx, w.cfg.Queue, t, ticket.Number{})
		})
		if err != nil {
			return nil, err
		}
		if err := w.fits(w.snapshot.Record); err != nil {
			return nil, err
		}
		grant, err := w.settle(ctx)
		if grant != nil {
			return grant, nil
		}
		if err == nil {
			break
		}
		if err := w.pause(ctx, "resume", err); err != nil {
			return nil, err
		}
	}
	rec := w.snapshot.Record
	if !rec.Present || t.Compare(rec.Floor()) <= 0 {
		why := "it was released, evicted, overtaken, or resumed by another process"
		if slices.ContainsFunc(rec.Holders, func(h queue.Holder) bool { return h.Ticket == t }) {
			why = "another process holds the lock with this ticket, as after an earlier Resume"
		}
		return nil, &GoneError{t, why}
	}
	w.progress.record(t, w.snapshot, ticketsAhead(t, rec))
	return nil, nil
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
	rec, err := retry.Answer(ctx, answered, func(ctx context.Context) (queue.Record, error) {
		return serving.Resume(ctx, w.cfg.Queue, old, entry)
	})
	again, present := rec.Mine(old.ID)
	switch {
	case err == nil:
	case !errors.Is(err, serving.ErrRefused):
		a.unknown = table.Applied(err)
		return true, err
	case present && again.Shared == old.Shared && again.Made == old.Made:
		q := w.cfg.Queue
		return true, &clause.MalformedError{
			Item: fmt.Sprintf("serving record of %q", q), Attribute: q.Attr(queue.AttrHolders) + "." + old.ID,
			Problem: fmt.Sprintf("holds alone with ticket %s, and the record says otherwise: it cannot be resumed", old.Ticket),
		}
	}
	w.snapshot.Saw(rec, time.Now())
	return true, nil
}

package waiter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
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

// Number takes a number of the Counter, which waiters in its other queues may share. It is zero without a
// Counter, because Enter takes it. highest is a ticket that is known to have been issued. A number that is not
// above it shows that the counter has lost numbers. The counter is then raised, and asked again.
func (w *Waiter) Number(ctx context.Context, highest Highest) (t ticket.Number, err error) {
	w.series.Reset()
	switch {
	case w.cfg.Resume != nil:
		return w.cfg.Resume.Ticket, nil
	case w.cfg.Counter == nil:
		return ticket.Number{}, nil
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
		return &table.MalformedError{
			Item: fmt.Sprintf("serving record of %q", q), Attribute: q.Attr(table.AttrTicketNumber),
			Problem: fmt.Sprintf("is %s, too far above %s, which its counter has just issued: it must be corrected by hand", w.highest.Ticket, t),
		}
	}
	return err
}

// take sends TAKE, each time with a new id, until it has a ticket, or until the record that refuses it shows an
// own id. ticketed reports whether it has a ticket. It returns ErrBusy if the caller will not wait and a live
// holder is in the way.
func (w *Waiter) take(ctx context.Context) (ticketed bool, err error) {
	if err := w.readClock(ctx); err != nil {
		return false, err
	}
	for {
		var rec serving.Record
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
			w.snapshot = rows.SnapshotOf(rec)
			w.progress.record(w.ticket, w.snapshot, ticketsAhead(w.ticket, rec))
			return true, nil
		case errors.Is(err, counter.ErrSeeded): // only the first use of a queue
		case !errors.Is(err, serving.ErrRefused):
			return false, err
		case a != nil:
			w.snapshot = rows.SnapshotOf(rec)
			return false, nil
		case w.cfg.NoWait: // otherwise another client has seeded the record
			if err := w.makeRoom(ctx, rec); err != nil {
				return false, err
			}
		}
	}
}

// readClock reads the record for the date of the answer, if DynamoDB's time is not known well enough: a TAKE
// without it would leave a lease that others must observe for its full length. It returns ErrBusy if the record
// is busy and the caller will not wait.
func (w *Waiter) readClock(ctx context.Context) error {
	var rec serving.Record
	err := w.send(ctx, "read the record for DynamoDB's time", func(ctx context.Context) (err error) {
		if w.cfg.Queue.Clock().Stale(time.Now()) { // else the answer of a failed attempt had a date
			rec, err = serving.Get(ctx, w.cfg.Queue)
		}
		return err
	})
	if err != nil || !w.cfg.NoWait || !w.occupied(rec) {
		return err
	}
	return w.makeRoom(ctx, rec)
}

// occupied reports whether the holders of a record leave no room. TAKE must report any other reason.
func (w *Waiter) occupied(rec serving.Record) bool {
	mode := w.Mode()
	return rec.Present && w.fits(rec) == nil && (!mode.Shared || rec.Shared) && !mode.Room(rec, len(rec.Holders))
}

// makeRoom evicts expired holders of a record that refused a caller which will not wait. It returns ErrBusy if
// another attempt cannot succeed. The record may be later than the refusal, and have room.
func (w *Waiter) makeRoom(ctx context.Context, rec serving.Record) error {
	w.snapshot = rows.SnapshotOf(rec)
	d := w.decide(rec.Floor(), nil)
	w.progress.record(w.ticket, w.snapshot, 0)
	switch {
	case len(d.ExpiredHolders) > 0:
		_, err := w.evict(ctx, d.ExpiredHolders)
		return err
	case w.Mode().Room(rec, d.Holders):
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
		var rec serving.Record
		err := w.send(ctx, "enter the queue", func(ctx context.Context) (err error) {
			a, entry := w.attempt(false)
			rec, err = serving.Enter(ctx, w.cfg.Queue, entry, t, w.cfg.Counter.Scope, w.cfg.NoWait)
			err, a.unknown = entered(rec, err, t, w.cfg.NoWait)
			return err
		})
		switch {
		case err == nil:
			for _, a := range w.attempts[first:] {
				a.unknown = false // it is in the record, or no ENTER of t will ever be applied
			}
			return w.afterEnter(rec)
		case !errors.Is(err, serving.ErrRefused) || errors.Is(err, errChanged):
			return err
		}
		if err := w.makeRoom(ctx, rec); err != nil {
			return err
		}
	}
}

// entered returns what the answer to an ENTER of t means: nil if t has entered, ErrRefused if there is no room,
// errChanged if the record that is returned would not refuse it. unknown: it may have been applied.
func entered(rec serving.Record, err error, t ticket.Number, noWait bool) (_ error, unknown bool) {
	switch {
	case err == nil:
		return nil, false
	case !errors.Is(err, serving.ErrRefused):
		return err, table.Applied(err, true)
	case t.Compare(rec.TicketNumber) <= 0:
		return nil, false
	case noWait:
		return err, false
	}
	return errChanged, false
}

// afterEnter judges a ticket that has entered: at or below the floor, without a grant, it is of no use.
func (w *Waiter) afterEnter(rec serving.Record) error {
	w.raise(Highest{rec.TicketNumber, w.cfg.Queue})
	w.snapshot = rows.SnapshotOf(rec)
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

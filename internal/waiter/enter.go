package waiter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Highest is a ticket of the scope that a record says was issued.
type Highest struct {
	Ticket ticket.Number
	Queue  table.Queue // of the record
}

// numbering takes numbers of a wider counter.
type numbering struct {
	counter   *Counter
	log       *slog.Logger
	highest   Highest // the highest ticketNumber of a record that was seen
	overtaken int     // how many numbers in succession were at or below the floor
}

// raise records that tickets up to h were issued.
func (n *numbering) raise(h Highest) {
	if n.highest.Ticket.Less(h.Ticket) {
		n.highest = h
	}
}

// next asks the counter for a number until there is one above all tickets that this
// waiter had seen before. A number that is not shows that the counter has lost
// numbers that it had issued, and the counter is raised.
func (n *numbering) next(ctx context.Context, requests *requests, series *retry.Schedule) (ticket.Number, error) {
	for {
		var t ticket.Number
		err := requests.send(ctx, series, "take a number", func(extended context.Context) (err error) {
			if t, err = n.counter.Next(extended); err != nil || n.highest.Ticket.Less(t) {
				return err
			}
			return n.raiseCounter(ctx, t)
		})
		if err != nil {
			return ticket.Number{}, err
		}
		if n.highest.Ticket.Less(t) {
			return t, nil
		}
	}
}

// raiseCounter raises a counter that has issued t, which is not above highest. If
// highest is too far above t, its record is malformed: no other queue should suffer.
func (n *numbering) raiseCounter(ctx context.Context, t ticket.Number) error {
	err, q := n.counter.Raise(ctx, t, n.highest.Ticket), n.highest.Queue
	switch {
	case err == nil:
		n.log.Warn("queuelock: a counter had fallen below tickets that it had issued, and was raised",
			"counter", n.counter.What, "queue", q.String(), "number", t, "raised", n.highest.Ticket)
	case errors.Is(err, counter.ErrFar):
		return &table.MalformedError{
			Item: fmt.Sprintf("serving record of %q", q), Attribute: q.Attr(table.AttrTicketNumber),
			Problem: fmt.Sprintf("is %s, too far above %s, which its counter has just issued: it must be corrected by hand", n.highest.Ticket, t),
		}
	}
	return err
}

// enter sends ENTER, each time with a new id, until it is answered. It returns nil if
// t may be put into the queue, or if one of the waiter's ids is in the record;
// ErrNewTicket if t is at or below the floor; ErrBusy if the caller will not wait.
func (w *Waiter) enter(ctx context.Context, t ticket.Number) (rows.Snapshot, error) {
	w.ticket = t
	var open []*attempt // with an ENTER of t that was not answered
	for {
		var rec serving.Record
		err := w.requests.send(ctx, w.series, "enter the queue", func(ctx context.Context) (err error) {
			a, entry := w.claimant.attempt(false)
			rec, err = serving.Enter(ctx, w.cfg.Queue, entry, t, w.cfg.Counter.Scope, w.cfg.NoWait)
			if err, a.unknown = entered(rec, err, t, w.cfg.NoWait); a.unknown {
				open = append(open, a)
			}
			return err
		})
		switch {
		case err == nil:
			for _, a := range open {
				a.unknown = false // it is in the record, or no ENTER of t will ever be applied
			}
			return w.afterEnter(rec, t)
		case !errors.Is(err, serving.ErrRefused) || errors.Is(err, errChanged):
			return rows.Snapshot{}, err
		}
		if err := w.makeRoom(ctx, rec); err != nil {
			return rows.Snapshot{}, err
		}
	}
}

// entered returns what the answer to an ENTER of t means: nil if t has entered,
// ErrRefused if there is no room, errChanged if the record that is returned would not
// refuse it. unknown: it may have been applied.
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

// afterEnter judges a ticket that has entered: at or below the floor, without a grant,
// it is of no use.
func (w *Waiter) afterEnter(rec serving.Record, t ticket.Number) (rows.Snapshot, error) {
	w.numbers.raise(Highest{rec.TicketNumber, w.cfg.Queue})
	snapshot := rows.SnapshotOf(rec)
	w.progress.record(t, snapshot, 0)
	if a, _ := w.claimant.attempts.find(rec); a != nil || rec.Floor().Less(t) {
		w.numbers.overtaken = 0
		return snapshot, nil
	}
	if w.numbers.overtaken++; w.cfg.NoWait && w.numbers.overtaken > quickTries {
		return rows.Snapshot{}, ErrBusy
	}
	return rows.Snapshot{}, ErrNewTicket
}

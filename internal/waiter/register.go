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

// malformed is the error of a record whose ticketNumber cannot be right, as its
// counter has just issued t: no queue but this one should suffer from it.
func (h Highest) malformed(t ticket.Number) error {
	return &table.MalformedError{
		Item: fmt.Sprintf("serving record of %q", h.Queue), Attribute: h.Queue.Attr(table.AttrTicketNumber),
		Problem: fmt.Sprintf("is %s, too far above %s, which its counter has just issued: it must be corrected by hand", h.Ticket, t),
	}
}

// registration takes numbers of a wider counter.
type registration struct {
	counter   *Counter
	log       *slog.Logger
	highest   Highest // the highest ticketNumber of a record that was seen
	overtaken int     // how many numbers in succession were worth nothing when they were registered
}

// raise records that tickets up to h were issued.
func (r *registration) raise(h Highest) {
	if r.highest.Ticket.Less(h.Ticket) {
		r.highest = h
	}
}

// number asks the counter for a number until there is one above all that this waiter
// had seen registered before it asked. One that is not proves that the counter has
// lost numbers that it had issued: then it is raised.
func (r *registration) number(ctx context.Context, requests *requests, series *retry.Schedule) (ticket.Number, error) {
	for {
		var t ticket.Number
		err := requests.send(ctx, series, "take a number", func(extended context.Context) (err error) {
			if t, err = r.counter.Next(extended); err != nil || r.highest.Ticket.Less(t) {
				return err
			}
			return r.raiseCounter(ctx, t)
		})
		if err != nil {
			return ticket.Number{}, err
		}
		if r.highest.Ticket.Less(t) {
			return t, nil
		}
	}
}

// raiseCounter raises a counter that has issued t, which is not above highest.
func (r *registration) raiseCounter(ctx context.Context, t ticket.Number) error {
	err := r.counter.Raise(ctx, t, r.highest.Ticket)
	switch {
	case err == nil:
		r.log.Warn("queuelock: a counter had fallen below tickets that it had issued, and was raised",
			"counter", r.counter.What, "queue", r.highest.Queue.String(), "number", t, "raised", r.highest.Ticket)
	case errors.Is(err, counter.ErrFar):
		return r.highest.malformed(t)
	}
	return err
}

// register sends REGISTER, with a new id each attempt, until it is answered: without
// an answer t must not be put into the queue. A nil error says that it may be, or
// that one of the waiter's ids is in the record. ErrNewTicket says that t is worth
// nothing, and ErrBusy that the caller will not wait, and a live holder is in the way.
func (w *Waiter) register(ctx context.Context, t ticket.Number) (rows.Snapshot, error) {
	w.ticket = t
	var open []*attempt // with a REGISTER of t that was not answered
	for {
		var rec serving.Record
		err := w.requests.send(ctx, w.series, "register a ticket", func(ctx context.Context) (err error) {
			a, entry := w.claimant.attempt(false)
			rec, err = serving.Register(ctx, w.cfg.Queue, entry, t, w.cfg.Counter.Scope, w.cfg.NoWait)
			if err, a.unknown = registered(rec, err, t, w.cfg.NoWait); a.unknown {
				open = append(open, a)
			}
			return err
		})
		switch {
		case err == nil:
			for _, a := range open {
				a.unknown = false // it is in the record, or no REGISTER of t will ever be applied
			}
			return w.entered(rec, t)
		case !errors.Is(err, serving.ErrRefused) || errors.Is(err, errChanged):
			return rows.Snapshot{}, err
		}
		if err := w.makeRoom(ctx, rec); err != nil {
			return rows.Snapshot{}, err
		}
	}
}

// registered returns what the answer to a REGISTER of t means: nil if t is
// registered, ErrRefused if there is no room, errChanged if the record that refused
// it reads otherwise by now. unknown: it may have been applied.
func registered(rec serving.Record, err error, t ticket.Number, noWait bool) (_ error, unknown bool) {
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

// entered judges a ticket that is registered in that record: it is worth nothing if
// it is not above the floor.
func (w *Waiter) entered(rec serving.Record, t ticket.Number) (rows.Snapshot, error) {
	w.registration.raise(Highest{rec.TicketNumber, w.cfg.Queue})
	snapshot := rows.SnapshotOf(rec)
	w.progress.record(t, snapshot, 0)
	if a, _ := w.claimant.attempts.find(rec); a != nil || rec.Floor().Less(t) {
		w.registration.overtaken = 0
		return snapshot, nil
	}
	if w.registration.overtaken++; w.cfg.NoWait && w.registration.overtaken > quickTries {
		return rows.Snapshot{}, ErrBusy
	}
	return rows.Snapshot{}, ErrNewTicket
}

package waiter

import (
	"context"
	"errors"
	"fmt"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/grace"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Counter issues the tickets of several queues.
type Counter struct {
	counter.Master
	Scope serving.Scope // of those queues
}

// takeWide is take in the wider scopes: NUMBER, then REGISTER.
func (w *Waiter) takeWide(ctx context.Context, idleOnly bool, retries *retry.Schedule) (rec serving.Record, ticketed bool, err error) {
	for round := 0; ; round++ {
		t, err := w.number(ctx, retries)
		if err != nil {
			return rec, false, err
		}
		rec, err = w.register(ctx, t, idleOnly, retries)
		switch {
		case !errors.Is(err, errTakeAnew):
			return rec, err == nil, err
		case idleOnly && round >= quickTries:
			return rec, false, ErrBusy
		}
	}
}

// number asks the counter for a number until there is one that is above all
// that this waiter has seen registered before it asked. One that is not proves
// that the counter has lost numbers it had issued: then it is raised.
func (w *Waiter) number(ctx context.Context, retries *retry.Schedule) (ticket.Number, error) {
	for {
		if ctx.Err() != nil {
			return ticket.Number{}, ctx.Err()
		}
		patient, cancel := grace.Context(ctx, answerGrace)
		t, err := w.Counter.Next(patient)
		cancel()
		if err == nil {
			w.failure = nil
			if w.highest.Ticket.Less(t) {
				return t, nil
			}
			switch err = w.Counter.Raise(ctx, t, w.highest.Ticket); {
			case err == nil:
				w.Log.Warn("queuelock: a counter had fallen below tickets that it had issued, and was raised", "counter", w.Counter.What, "queue", w.highest.Queue.String(), "number", t, "raised", w.highest.Ticket)
				continue
			case errors.Is(err, counter.ErrFar):
				return ticket.Number{}, w.highest.malformed(t)
			}
		}
		if !table.Transient(err) {
			if ctx.Err() != nil && w.failure == nil {
				w.failure = err // no answer came, in all that time
			}
			return ticket.Number{}, err
		}
		if err := w.again(ctx, retries, "take a number", err); err != nil {
			return ticket.Number{}, err
		}
	}
}

// register sends REGISTER, with a new id each attempt, until it is answered:
// without an answer t must not be put into the queue. A nil error says that it
// may be, or that one of the waiter's ids is in the record; errTakeAnew that t is
// worth nothing. With idleOnly it returns ErrBusy if somebody is being served
// who is alive.
func (w *Waiter) register(ctx context.Context, t ticket.Number, idleOnly bool, retries *retry.Schedule) (rec serving.Record, err error) {
	w.ticket = t
	var open []*attempt // whose REGISTER of t was not answered
	for {
		if ctx.Err() != nil {
			return rec, ctx.Err()
		}
		a, e := w.newAttempt(false)
		patient, cancel := grace.Context(ctx, answerGrace)
		rec, err = serving.Register(patient, w.Queue, e, t, w.Counter.Scope, idleOnly)
		cancel()
		refused := errors.Is(err, serving.ErrRefused)
		switch {
		case err == nil, refused && t.Compare(rec.TicketNumber) <= 0:
			// It is in the record, or no REGISTER of t will ever be applied.
			for _, a := range open {
				a.unknown = false
			}
			w.failure = nil
			w.saw(rec)
			w.note(rows.SnapshotOf(rec), 0)
			if _, mine := rec.Mine(w.ids()...); !mine && t.Compare(rec.Floor()) <= 0 {
				return rec, errTakeAnew
			}
			return rec, nil
		case refused && idleOnly:
			if free, err := w.free(ctx, rec); err != nil || !free {
				return rec, err
			}
			continue
		case refused:
			// The record that refused it has gone, or says otherwise by now.
		default:
			a.unknown = table.Applied(err, true)
			if a.unknown {
				open = append(open, a)
			}
			if !table.Transient(err) {
				if ctx.Err() != nil && w.failure == nil {
					w.failure = err
				}
				return rec, err
			}
		}
		if err := w.again(ctx, retries, "register a ticket", err); err != nil {
			return rec, err
		}
	}
}

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

// saw remembers how high tickets of the scope are at the least.
func (w *Waiter) saw(rec serving.Record) {
	if w.highest.Ticket.Less(rec.TicketNumber) {
		w.highest = Highest{rec.TicketNumber, w.Queue}
	}
}

package waiter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Highest is a ticket of the scope that a record says was issued.
type Highest struct {
	Ticket ticket.Number
	Queue  table.Queue // of the record
}

// raise records that tickets up to h were issued.
func (p *player) raise(h Highest) {
	if p.highest.Ticket.Less(h.Ticket) {
		p.highest = h
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
		err = w.persist(ctx, "take a number", func(ctx context.Context) (err error) {
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

// date finds out DynamoDB's time, so that the lease which begins next has an end.
func (w *Waiter) date(ctx context.Context) error {
	if !w.cfg.Queue.Clock().Needed(time.Now()) {
		return nil // and the last failure stays
	}
	return w.persist(ctx, "find out the time", w.cfg.Queue.Date)
}

package waiter

import (
	"context"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/ticket"
)

// ErrTakeAnew says that a ticket has become worthless in a queue: it was
// overtaken there, or somebody else's row stands at it. Whoever waits with it in
// several queues must leave all of them and take a new one.
var ErrTakeAnew = errTakeAnew

// Number takes a number for several waiters of one Counter, in whose name this
// one asks. highest is a ticket that is known to have been issued; a counter
// that stands below it is raised.
func (w *Waiter) Number(ctx context.Context, highest Highest, noWait bool) (ticket.Number, error) {
	if w.highest.Ticket.Less(highest.Ticket) {
		w.highest = highest
	}
	return w.number(ctx, retry.For(w.patience(noWait)))
}

// Highest is the highest ticket that the waiter knows to have been issued.
func (w *Waiter) Highest() Highest { return w.highest }

// Enter goes into the queue with a ticket that the caller has: REGISTER, and, if
// that is not served, ENQUEUE, whose answer is awaited. If it is served at once,
// it returns the Grant. Otherwise the ticket's row stands, is kept, and Await
// goes on; or with noWait ErrBusy says that the lock is not to be had. ErrTakeAnew
// if the ticket is worth nothing here. Leave must follow any error.
func (w *Waiter) Enter(ctx context.Context, t ticket.Number, noWait bool) (grant Grant, served bool, err error) {
	w.prefix = random.Text(ctx)
	rec, err := w.register(ctx, t, noWait, retry.For(w.patience(noWait)))
	if err != nil {
		return Grant{}, false, err
	}
	w.snapshot.Saw(rec)
	if grant, ok := w.served(ctx, &w.snapshot); ok {
		grant, err = w.confirmed(ctx, grant, nil, noWait)
		return grant, err == nil, err
	}
	w.turn = &turn{Waiter: w, retries: retry.For(w.patience(noWait))}
	if noWait {
		grant, err = w.turn.run(ctx, w.snapshot, true)
		grant, err = w.confirmed(ctx, grant, err, true)
		return grant, err == nil, err
	}
	w.careful = true // the next queue is entered when this row stands
	w.turn.join(ctx, rec)
	return Grant{}, false, w.turn.besideEnqueue(ctx)
}

// Await waits, after Enter, until the ticket is served, for as long as ctx
// lives. ErrTakeAnew and Leave as for Enter.
func (w *Waiter) Await(ctx context.Context) (Grant, error) {
	grant, err := w.turn.run(ctx, w.snapshot, false)
	if w.turn.eager {
		<-w.Slots
	}
	grant, err = w.confirmed(ctx, grant, err, false)
	if err == nil {
		w.turn.leave()
		w.Background(w.places.Wait)
	}
	return grant, err
}

// Leave gives everything back that is not held, after Enter or Await returned an
// error, or instead of Await. It returns when all has been answered, or given up.
func (w *Waiter) Leave(ctx context.Context) {
	if w.turn != nil && w.turn.place != nil {
		w.turn.leave()
	}
	w.leave(ctx)
}

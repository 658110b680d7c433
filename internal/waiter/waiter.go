package waiter

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// ErrBusy reports that the lock cannot be acquired without waiting.
var ErrBusy = errors.New("the lock is busy")

// ErrNewTicket reports that a ticket cannot be granted in a queue: it was overtaken, or
// another row has it. A waiter with one ticket in several queues leaves all of them and
// takes a new one.
var ErrNewTicket = errors.New("take a new ticket")

// errOvertaken is the ErrNewTicket of a waiter that was too slow.
var errOvertaken = fmt.Errorf("overtaken: %w", ErrNewTicket)

// Waiter is one acquire in one queue. Call either Run or its steps, once.
type Waiter struct {
	cfg      Config
	requests *requests
	claimant *claimant
	numbers  numbering // in the wider scopes
	progress *progress

	series  *retry.Schedule // of Number and Enter
	ticket  ticket.Number
	careful bool           // it was overtaken before: no LOOK before the row is put
	places  sync.WaitGroup // rows that are kept or not yet deleted
	turn    *turn          // of the last ticket
	orphan  *Orphan
}

// New returns a Waiter. It makes no request.
func New(c Config) *Waiter {
	r := &requests{queue: c.Queue, log: c.Log, timeout: c.RetryTimeout}
	if c.NoWait {
		r.timeout = quickRetryTimeout
	}
	return &Waiter{
		cfg: c, requests: r, claimant: &claimant{queue: c.Queue, local: c.Local, log: c.Log, entry: c.Entry, requests: r}, progress: newProgress(c),
		numbers: numbering{counter: c.Counter, log: c.Log},
	}
}

// Acquire runs a Waiter, and returns it. With waitpolicy.Attempts it runs one after the
// other, each without a place in the queue, after a busy lock and after a table that does
// not answer. It returns the last. Any other error, ctx and an Orphan end it.
func Acquire(ctx context.Context, c Config, wait waitpolicy.Wait) (*Waiter, Grant, error) {
	tries, _ := wait.Tries()
	c.NoWait = tries > 0
	for try := 1; ; try++ {
		w := New(c)
		grant, err := w.Run(ctx)
		repeat := w.Orphan() == nil && (errors.Is(err, ErrBusy) || table.Transient(err))
		if err == nil || try >= tries || !repeat || !retry.Sleep(ctx, wait.Pause(random.Float64(ctx))) {
			return w, grant, err
		}
	}
}

// Run acquires the lock, or leaves the queue when ctx ends. A lock that was granted while
// ctx ended is returned as well, and the caller releases it.
func (w *Waiter) Run(ctx context.Context) (Grant, error) {
	for {
		grant, err := w.once(ctx)
		switch {
		case err == nil:
			return grant, nil
		case !errors.Is(err, ErrNewTicket):
			w.Leave(ctx)
			return Grant{}, err
		}
		w.careful = w.careful || errors.Is(err, errOvertaken)
	}
}

// once is Run with one ticket.
func (w *Waiter) once(ctx context.Context) (Grant, error) {
	t, err := w.Number(ctx, Highest{})
	if err != nil {
		return Grant{}, err
	}
	grant, served, err := w.Enter(ctx, t)
	if err != nil || served {
		return grant, err
	}
	return w.Await(ctx)
}

// Number takes a number of the Counter, which waiters in its other queues may share. It
// is zero without a Counter, because Enter takes it. highest is a ticket that is known to
// have been issued. A lower counter is raised.
func (w *Waiter) Number(ctx context.Context, highest Highest) (ticket.Number, error) {
	w.begin(ctx)
	w.series = w.requests.series()
	switch {
	case w.cfg.Resume != nil:
		return w.cfg.Resume.Ticket, nil
	case w.cfg.Counter == nil:
		return ticket.Number{}, nil
	}
	w.numbers.raise(highest)
	return w.numbers.next(ctx, w.requests, w.series)
}

// Highest returns the highest ticket that the waiter knows to have been issued.
func (w *Waiter) Highest() Highest { return w.numbers.highest }

// Enter enters the queue: TAKE, or ENTER with a ticket of Number. It returns the Grant if
// the lock is granted at once. Otherwise it begins to put and keep the row, and Await
// continues. Returns ErrNewTicket if the ticket cannot be granted here.
func (w *Waiter) Enter(ctx context.Context, t ticket.Number) (grant Grant, served bool, err error) {
	w.begin(ctx)
	if w.series == nil {
		w.series = w.requests.series()
	}
	snapshot, ticketed := rows.Snapshot{}, true
	switch {
	case w.cfg.Resume != nil:
		return w.resume(ctx, t)
	case w.cfg.Counter == nil:
		snapshot, ticketed, err = w.take(ctx)
	default:
		snapshot, err = w.enter(ctx, t)
	}
	if err != nil {
		return Grant{}, false, err
	}
	if grant, ok := w.claimant.adopt(ctx, &snapshot); ok {
		grant, err = w.served(ctx, grant)
		return grant, err == nil, err
	}
	if !ticketed {
		return Grant{}, false, ErrNewTicket // an own id was in the record, too late to be used
	}
	return Grant{}, false, w.join(ctx, snapshot)
}

// begin draws the prefix of the waiter's ids, once.
func (w *Waiter) begin(ctx context.Context) {
	if w.claimant.attempts.prefix == "" {
		w.claimant.attempts.prefix = random.Text(ctx)
	}
}

// join begins the wait of the waiter's ticket. snapshot is what the waiter saw last.
func (w *Waiter) join(ctx context.Context, snapshot rows.Snapshot) error {
	t := newTurn(w, snapshot)
	if !w.cfg.NoWait {
		if err := w.announce(ctx); err != nil {
			return err
		}
		t.join(ctx, w.careful, &w.places)
	}
	w.turn = t
	return nil
}

// announce gives the handle of the place to Placed, before the row is put. A receiver that
// is slow then delays no other waiter.
func (w *Waiter) announce(ctx context.Context) error {
	if w.cfg.Placed == nil || w.cfg.Resume != nil {
		return nil
	}
	select {
	case <-w.cfg.Placed(w.handle()):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// handle returns the handle of the waiter's place.
func (w *Waiter) handle() Handle { return Handle{ID: w.claimant.attempts.prefix, Ticket: w.ticket} }

// AwaitRow waits, after Enter, until the waiter's row is in the table. Without it the
// first look is made beside the ENQUEUE.
func (w *Waiter) AwaitRow(ctx context.Context) error {
	w.turn.asked = true
	return w.turn.awaitRow(ctx)
}

// Await waits, after Enter, for the grant, until ctx ends. Returns ErrNewTicket if the
// ticket cannot be granted any more.
func (w *Waiter) Await(ctx context.Context) (Grant, error) {
	grant, err := w.turn.run(ctx)
	w.turn.leave()
	switch {
	case err == nil:
		return w.served(ctx, grant)
	case w.cfg.Resume != nil && errors.Is(err, ErrNewTicket):
		return Grant{}, &GoneError{w.ticket, "its place was lost, or resumed by another process"}
	}
	return Grant{}, err
}

// served confirms a grant if its lock fails closed. The rows are deleted meanwhile.
func (w *Waiter) served(ctx context.Context, grant Grant) (Grant, error) {
	if w.cfg.Entry.Terms.FailClosed {
		var err error
		if grant, err = w.claimant.confirm(ctx, grant); err != nil {
			return Grant{}, err
		}
	}
	if w.turn != nil {
		w.cfg.Background(w.places.Wait)
	}
	return grant, nil
}

// Wait waits until no request for the waiter's rows is under way. After a grant they are
// deleted in the background.
func (w *Waiter) Wait() { w.places.Wait() }

// Status returns what the waiter last saw. Call it after Run, Await or Leave.
func (w *Waiter) Status() Status {
	status := w.progress.status
	status.Failure = w.requests.failure
	return status
}

// Mode returns how the lock is held. For a lock that was resumed, the record decides.
func (w *Waiter) Mode() serving.Mode { return w.claimant.entry.Mode }

// Tried reports whether a request for the lock was made.
func (w *Waiter) Tried() bool {
	return len(w.claimant.attempts.all) > 0 || !w.progress.status.SeenAt.IsZero()
}

// Orphan returns what a failure may have left that no lease ends; nil if there is nothing.
func (w *Waiter) Orphan() *Orphan { return w.orphan }

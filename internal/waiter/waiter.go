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

// ErrBusy reports that the lock cannot be had without waiting.
var ErrBusy = errors.New("the lock is busy")

// ErrNewTicket reports that a ticket has become worthless in a queue: it was
// overtaken there, or another row is at it. A waiter with one ticket in several
// queues must leave all of them and take a new ticket.
var ErrNewTicket = errors.New("take a new ticket")

// errOvertaken is ErrNewTicket of a waiter that was too slow.
var errOvertaken = fmt.Errorf("overtaken: %w", ErrNewTicket)

// Waiter is one acquire in one queue. Call Run once, or the four steps that Run
// consists of.
type Waiter struct {
	cfg      Config
	requests *requests
	claimant *claimant
	numbers  numbering // in the wider scopes
	progress *progress

	series  *retry.Schedule // of Number and Enter
	ticket  ticket.Number
	careful bool           // it was overtaken before: no LOOK before the row is put
	places  sync.WaitGroup // of rows that are kept, or not yet deleted
	turn    *turn          // the last
	orphan  *Orphan
}

// New returns a Waiter. It makes no request.
func New(c Config) *Waiter {
	r := newRequests(c)
	return &Waiter{
		cfg: c, requests: r, claimant: newClaimant(c, r), progress: newProgress(c),
		numbers: numbering{counter: c.Counter, log: c.Log},
	}
}

// Acquire runs a Waiter, and under waitpolicy.Attempts one after the other, each
// without a place in the queue and with ids of its own. It returns the last. A busy
// lock and a table that does not answer are tried again. Any other error ends it,
// and so do ctx and an Orphan.
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

// Run acquires the lock, for as long as ctx lives. If it was served while ctx
// ended, it returns the Grant all the same, and the caller releases it. On failure
// it has left the queue.
func (w *Waiter) Run(ctx context.Context) (Grant, error) {
	grant, err := w.once(ctx)
	for errors.Is(err, ErrNewTicket) {
		w.careful = w.careful || errors.Is(err, errOvertaken)
		grant, err = w.once(ctx)
	}
	if err != nil {
		w.Leave(ctx)
		return Grant{}, err
	}
	return grant, nil
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

// Number takes a number, which waiters in other queues of the same Counter may
// share. Without a Counter it is zero: Enter takes it. highest is a ticket that is
// known to have been issued. A counter below it is raised.
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

// Enter enters the queue: TAKE, or ENTER with a ticket of Number. If the waiter
// is served at once, it returns the Grant. Otherwise it begins to put and keep the
// ticket's row, and Await goes on. It returns ErrNewTicket if the ticket is worth
// nothing here.
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

// begin draws the prefix of the waiter's ids.
func (w *Waiter) begin(ctx context.Context) {
	if w.claimant.attempts.prefix == "" {
		w.claimant.attempts.prefix = random.Text(ctx)
	}
}

// join begins the turn of the waiter's ticket. snapshot is what the waiter saw last.
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

// announce gives the handle of the place to Placed, before the row is put. There
// is no row while Placed's receiver takes its time, so no other waiter waits for it.
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

// handle is of the waiter's place with its ticket.
func (w *Waiter) handle() Handle { return Handle{ID: w.claimant.attempts.prefix, Ticket: w.ticket} }

// AwaitRow waits, after Enter, until the waiter's row is in the table. Without it
// the first look is made beside the ENQUEUE.
func (w *Waiter) AwaitRow(ctx context.Context) error {
	w.turn.asked = true
	return w.turn.awaitRow(ctx)
}

// Await waits, after Enter, until the ticket is served, for as long as ctx lives.
// It returns ErrNewTicket if the ticket is worth nothing any more.
func (w *Waiter) Await(ctx context.Context) (Grant, error) {
	grant, err := w.turn.run(ctx)
	w.turn.giveSlot()
	w.leaveTurn()
	switch {
	case err == nil:
		return w.served(ctx, grant)
	case w.cfg.Resume != nil && errors.Is(err, ErrNewTicket):
		return Grant{}, &GoneError{w.ticket, "its place was lost, or resumed by somebody else"}
	}
	return Grant{}, err
}

// served confirms a grant, if that is needed. The rows are deleted meanwhile.
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

// leaveTurn ends the turn. Its row is deleted in the background.
func (w *Waiter) leaveTurn() {
	if w.turn != nil {
		w.turn.leave()
	}
}

// Wait waits until the requests for the waiter's rows have been answered, or given
// up: after a grant they are deleted in the background.
func (w *Waiter) Wait() { w.places.Wait() }

// Status returns what the waiter last saw. It is for the time after Run, Await or
// Leave.
func (w *Waiter) Status() Status {
	status := w.progress.status
	status.Failure = w.requests.failure
	return status
}

// Mode returns how the lock is held. Of a lock that was resumed, the record says so.
func (w *Waiter) Mode() serving.Mode { return w.claimant.entry.Mode }

// Tried reports whether the table was asked for the lock.
func (w *Waiter) Tried() bool {
	return len(w.claimant.attempts.all) > 0 || !w.progress.status.SeenAt.IsZero()
}

// Orphan returns what a failure may have left, if a lease does not end it. Nil:
// nothing.
func (w *Waiter) Orphan() *Orphan { return w.orphan }

package waiter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/grace"
	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// quickPatience is for how long a table that does not answer is tried for a
// caller that will not wait.
const quickPatience = 3 * time.Second

// ErrBusy says that the lock was not to be had without waiting.
var ErrBusy = errors.New("the lock is busy")

// answerGrace is for how long the answer of a request under way is awaited
// after the caller has cancelled.
const answerGrace = time.Second

// Config is what a waiter shares with the others of its client.
type Config struct {
	Queue    table.Queue
	Counter  *Counter // issues the tickets, in the wider scopes; nil: the queue's record does
	Observer *lease.Observer
	Lines    *localqueue.Queues
	Log      *slog.Logger
	Owner    string
	Data     []byte // of the holder's entry
	Mode     serving.Mode

	Holder lease.Terms // of the lease once served; if FailClosed, until that is confirmed
	Waiter lease.Terms // of the row's lease

	Schedule waitpolicy.Schedule
	// Patience is for how long a table that does not answer is tried.
	Patience time.Duration
	// Progress receives what has changed for a waiter that goes on to wait. It must
	// not block. Nil: nothing does.
	Progress func(Progress)
	// Resume is what to go on with; nil: take a number.
	Resume *Handle
	// Placed receives the handle of each place in the queue. It must not block. The
	// row is put once the channel that it returns is closed; a Resume does not wait
	// for that. Nil: nothing receives handles.
	Placed func(Handle) <-chan struct{}
	// Background runs what need not be waited for; the client's Close does.
	Background func(func())
	// Slots is shared by those who wait for several locks, all of which they
	// need: one who has a slot looks as often as if it waited alone, the others
	// seldom, as their turn is of no use before the others'. Nil: all look.
	Slots chan struct{}
}

// Grant is a place in the record.
type Grant struct {
	ID     string
	Ticket ticket.Number
	// Sent is when the request that was granted was sent: the lease counts
	// from there.
	Sent time.Time
	// Lease is what the entry says of itself; without Until, the first
	// heartbeat must say it.
	Lease lease.Lease
	// Claimed says that the grant came after a wait in the queue, and Resumed that
	// it was another's before, who may have acted under it.
	Claimed, Resumed bool
	// Record is the record with the grant in it.
	Record serving.Record
}

// Standing is what a waiter last saw of its queue, by its own look, or by that of
// another waiter of its client.
type Standing struct {
	Ticket  ticket.Number // zero: none was taken
	Ahead   int           // waiters ahead, see localqueue.Waiter.Ahead
	Serving []serving.Holder
	SeenAt  time.Time // on the local clock
	Blocked error     // what is wrong with a row ahead, or a holder, that cannot be read
	Failure error     // the last request's error, that of leaving included, if the table did not answer
}

// attempt is one request that may put its id into the record.
type attempt struct {
	id      string
	sent    time.Time
	lease   lease.Lease
	claimed bool
	unknown bool // it was not answered: it may be in the record, or get there
	left    bool // it was given up, and is never adopted again
	resumed bool // it takes over what a process that has ended held

	confirming ticket.Number // a CONFIRM was sent for it, with that ticket; zero: none
}

// delayed reports whether the attempt's entry, if it stands, must not be removed
// before its time: whoever held the lock before may have requests on their way,
// from which its lock delay keeps the others.
func (a *attempt) delayed() bool { return a.resumed && a.lease.Delay > 0 }

// Waiter is one acquire. Make it with New and call Run once.
type Waiter struct {
	Config
	prefix   string // of its ids, never used before
	attempts []*attempt
	failure  error // of the last request, if it failed in passing
	ticket   ticket.Number
	careful  bool // overtaken before: no LOOK before the row stands
	places   sync.WaitGroup
	row      *place // the last
	standing Standing
	pace     pace
	told     told
	orphan   *Orphan

	// In the wider scopes.
	highest  Highest       // the highest ticketNumber of a record that was seen
	turn     *turn         // between Enter and Await
	snapshot rows.Snapshot // what Enter saw
}

// New returns a Waiter. It makes no request.
func New(c Config) *Waiter {
	return &Waiter{Config: c, pace: pace{gaps: c.Counter != nil}}
}

// Standing is what the waiter last saw. It is for after Run.
func (w *Waiter) Standing() Standing {
	w.standing.Failure = w.failure
	return w.standing
}

// Tried reports whether the table was asked for the lock.
func (w *Waiter) Tried() bool {
	return len(w.attempts) > 0 || !w.standing.SeenAt.IsZero()
}

// Run acquires, for as long as ctx lives; with noWait it gives a busy lock up
// at once, with ErrBusy. If it was served while ctx ended, it returns the
// Grant all the same, and the caller releases it. On failure it has left the
// queue.
func (w *Waiter) Run(ctx context.Context, noWait bool) (Grant, error) {
	w.prefix = random.Text(ctx)
	grant, err := w.granted(ctx, noWait)
	if err != nil {
		w.leave(ctx)
		return Grant{}, err
	}
	w.Background(w.places.Wait) // rows are deleted meanwhile
	return grant, nil
}

// Wait waits until the requests for the waiter's row have been answered, or
// given up: after a Run that was served, its row is deleted in the background.
func (w *Waiter) Wait() { w.places.Wait() }

func (w *Waiter) acquire(ctx context.Context, noWait bool) (Grant, error) {
	if w.Resume != nil {
		return w.resume(ctx, noWait)
	}
	for {
		rec, ticketed, err := w.take(ctx, noWait)
		if err != nil {
			return Grant{}, err
		}
		snapshot := rows.SnapshotOf(rec)
		if grant, ok := w.served(ctx, &snapshot); ok {
			return grant, nil
		}
		if !ticketed {
			continue
		}
		grant, err := w.wait(ctx, snapshot, noWait)
		if !errors.Is(err, errTakeAnew) {
			return grant, err
		}
	}
}

// errTakeAnew says that the waiter's ticket has become worthless.
var errTakeAnew = errors.New("take a new ticket")

// newAttempt makes an id that was never used, and the entry to put there.
func (w *Waiter) newAttempt(claimed bool) (*attempt, serving.Entry) {
	a := &attempt{id: fmt.Sprintf("%s-%d", w.prefix, len(w.attempts)), sent: time.Now(), claimed: claimed}
	w.attempts = append(w.attempts, a)
	e := serving.Entry{ID: a.id, Owner: w.Owner, Mode: w.Mode, Data: w.Data}
	e.Lease, e.Since = w.Holder.Begin(w.Queue.Clock(), a.sent)
	a.lease = e.Lease
	return a, e
}

func (w *Waiter) ids() []string {
	var ids []string
	for _, a := range w.attempts {
		if !a.left {
			ids = append(ids, a.id)
		}
	}
	return ids
}

// served looks for one of the waiter's ids in the record. An id that was
// granted so long ago that its lease is over, by an answer that was lost or by
// a process that stood still, is no grant: it is removed, and the snapshot is of
// the record without it, unless a lock delay is to keep the queue closed.
func (w *Waiter) served(ctx context.Context, snapshot *rows.Snapshot) (Grant, bool) {
	me, ok := snapshot.Record.Mine(w.ids()...)
	if !ok {
		return Grant{}, false
	}
	for _, a := range w.attempts {
		if a.id != me.ID {
			continue
		}
		now := time.Now()
		if !me.Unreadable() && now.Before(w.Holder.Deadline(a.sent)) && w.Holder.Stands(w.Queue.Clock(), a.lease.Until, a.sent, now) {
			a.unknown, w.failure = false, nil
			return Grant{ID: a.id, Ticket: me.Ticket, Sent: a.sent, Lease: a.lease, Claimed: a.claimed, Resumed: a.resumed, Record: snapshot.Record}, true
		}
		w.Log.Warn("queuelock: a grant came too late to be used, or was spoilt", "queue", w.Queue.String(), "ticket", me.Ticket, "problem", me.Problem)
		a.left, a.unknown = true, true
		if a.delayed() {
			break // its lease and its lock delay end it
		}
		if without, err := w.remove(ctx, a.id); err == nil {
			snapshot.Saw(without)
			a.unknown = false
		}
		break
	}
	return Grant{}, false
}

// take sends TAKE, with a new id each attempt, until a number is taken, or until
// the record that refuses it shows an earlier id of this waiter's; ticketed
// says that w.ticket is new. With idleOnly it returns ErrBusy if somebody is
// being served who is alive.
func (w *Waiter) take(ctx context.Context, idleOnly bool) (rec serving.Record, ticketed bool, err error) {
	retries := retry.For(w.patience(idleOnly))
	if w.Counter != nil {
		return w.takeWide(ctx, idleOnly, retries)
	}
	if err := w.meet(ctx, idleOnly, retries); err != nil {
		return rec, false, err
	}
	for {
		if ctx.Err() != nil {
			return rec, false, ctx.Err()
		}
		a, e := w.newAttempt(false)
		patient, cancel := grace.Context(ctx, answerGrace)
		rec, err = serving.Take(patient, w.Queue, e, idleOnly)
		cancel()
		switch {
		case err == nil:
			w.ticket, w.failure = rec.TicketNumber, nil
			w.note(rows.SnapshotOf(rec), ticketsAhead(rec.TicketNumber, rec))
			return rec, true, nil
		case errors.Is(err, counter.ErrSeeded):
			continue // by somebody else, once in a queue's life
		case errors.Is(err, serving.ErrRefused):
			if _, mine := rec.Mine(w.ids()...); mine {
				return rec, false, nil
			}
			if !idleOnly {
				continue // seeded by somebody else
			}
			if free, err := w.free(ctx, rec); err != nil || !free {
				return rec, false, err
			}
			continue
		}
		a.unknown = counter.MayHaveTaken(err)
		if !table.Transient(err) {
			if ctx.Err() != nil && w.failure == nil {
				w.failure = err // no answer came, in all that time
			}
			return rec, false, err
		}
		if err := w.again(ctx, retries, "take a number", err); err != nil {
			return rec, false, err
		}
	}
}

// meet reads the record, if DynamoDB's time is not known well enough, for the
// date of the answer. A TAKE that knows no time leaves a lease without an end,
// which others can judge only by watching it for its full length; one that has
// not heard the time for long leaves a lease that ends late. Should this process
// die before its first heartbeat, others would wait for that. With idleOnly the
// record may say that it is busy, ErrBusy, and no TAKE is needed.
func (w *Waiter) meet(ctx context.Context, idleOnly bool, retries *retry.Schedule) error {
	for w.Queue.Clock().Stale(time.Now()) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		patient, cancel := grace.Context(ctx, answerGrace)
		rec, err := serving.Get(patient, w.Queue)
		cancel()
		switch {
		case err == nil && idleOnly && w.occupied(rec):
			_, err := w.free(ctx, rec)
			return err
		case err == nil:
			w.failure = nil
			return nil
		case !table.Transient(err):
			if ctx.Err() != nil && w.failure == nil {
				w.failure = err // no answer came, in all that time
			}
			return err
		}
		if err := w.again(ctx, retries, "read the record for DynamoDB's time", err); err != nil {
			return err
		}
	}
	return nil
}

// occupied reports whether a record that was read would refuse the waiter for
// those who hold, and for nothing else: that TAKE must say.
func (w *Waiter) occupied(rec serving.Record) bool {
	return rec.Present && cmp.Or(serving.ScopeQueue.Fits(rec), w.Mode.Fits(rec)) == nil &&
		(!w.Mode.Shared || rec.Shared) && !w.Mode.Room(rec, len(rec.Holders))
}

// free evicts the dead holders of a record that refused a TAKE, and reports
// whether another TAKE may succeed. If not, it is ErrBusy.
func (w *Waiter) free(ctx context.Context, rec serving.Record) (bool, error) {
	snapshot := rows.SnapshotOf(rec)
	j := snapshot.Decide(w.Queue, rec.Floor(), w.Mode, nil, w.Observer)
	w.note(snapshot, 0)
	if len(j.DeadHolders) == 0 {
		if w.Mode.Room(rec, j.Holders) {
			return true, nil // released since: older engines tell late
		}
		if j.Stuck != nil {
			return false, j.Stuck
		}
		return false, ErrBusy
	}
	_, err := w.evict(ctx, j.DeadHolders)
	return err == nil, err
}

// patience is for how long a table that does not answer is tried.
func (w *Waiter) patience(noWait bool) time.Duration {
	if noWait {
		return quickPatience
	}
	return w.Patience
}

// again waits before the next attempt at something that failed in passing. It
// returns an error once patience, or ctx, is over.
func (w *Waiter) again(ctx context.Context, retries *retry.Schedule, what string, err error) error {
	w.failure = err
	w.Log.Debug("queuelock: a request failed and is tried again", "queue", w.Queue.String(), "what", what, "error", err)
	switch {
	case retries.Pause(ctx):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return err
}

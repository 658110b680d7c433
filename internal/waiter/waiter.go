package waiter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// ErrBusy reports that the lock cannot be acquired without waiting.
var ErrBusy = errors.New("the lock is busy")

// ErrNewTicket reports that a ticket cannot be granted in a queue: it was overtaken, or another row has it.
var ErrNewTicket = errors.New("take a new ticket")

// errOvertaken is the ErrNewTicket of a waiter that was too slow.
var errOvertaken = fmt.Errorf("overtaken: %w", ErrNewTicket)

// Config is what one acquire in one queue needs.
type Config struct {
	Queue    table.Queue
	Counter  *Counter // issues the tickets in the wider scopes; nil: the queue's record issues them
	Observer *heartbeat.Observer
	Local    *localqueue.Queues
	Log      *notify.Log

	Entry Entry
	Row   heartbeat.Terms // of the row's lease

	Schedule     waitpolicy.Schedule
	NoWait       bool           // give up a busy lock at once, with ErrBusy, and a silent table at Until
	Until        time.Time      // with NoWait: the end of all requests but those of CLEAN UP
	RetryTimeout time.Duration  // limits the attempts at a table that does not answer
	Resume       *Handle        // of what is continued; nil: take a number
	Progress     func(Progress) // receives changes of a wait; must not block; optional
	// Placed receives the handle of each place in the queue. It must not block. The row is put once the
	// returned channel is closed; a Resume does not wait for it. Optional.
	Placed     func(Handle) <-chan struct{}
	Background func(func()) // runs what only the client's Close waits for
	Several    Several      // shared by the waiters for several locks, all of which are needed; optional
}

// Several is what waiters for several locks share.
type Several struct {
	// A waiter without one of the Slots seldom looks, since its turn is of no use before that of the others. Nil:
	// all look.
	Slots chan struct{}
	// Stuck is called when a waiter is stuck, and its row has ended for that. It must not block.
	Stuck func()
}

// Entry is what the waiter writes into its entry.
type Entry struct {
	Owner string
	Data  []byte
	Mode  queue.Mode
	Terms heartbeat.Terms // with FailClosed, until the grant is confirmed
	// Unnamed says that the lock is not to be granted by name: the lease would begin with less than its whole length.
	Unnamed bool
}

// Counter issues the tickets of several queues.
type Counter struct {
	counter.Counter
	Scope ticket.Scope // of those queues
}

// Waiter is one acquire in one queue. Call either Run or its steps, once.
type Waiter struct {
	cfg      *Config // with the mode of the lock once a Resume has found it
	id       string  // prefix of all its ids
	attempts attempts
	progress *progress
	series   *retry.Schedule // of the step under way
	failure  error           // of the last request, if the table did not answer

	ticket    ticket.Number
	snapshot  queue.Snapshot // the last: each request is sent after the answer to the one before, see also shown
	highest   Highest        // ticketNumber of a record that was seen
	worthless int            // numbers in succession that were at or below the floor
	careful   bool           // it was overtaken before: no LOOK before the row is put
	looks     int            // that were sent
	suspects  map[string]int // holders that have not accepted their grant, and the number of the look when they were first seen

	own     ownHolder      // of the last look
	turn    turn           // of the last ticket
	places  sync.WaitGroup // rows that are kept or not yet deleted
	orphan  *OrphanError
	cleaned chan struct{} // closed when the ids are removed in the background, or cannot be; nil: they are not
}

// TryLimit is the time from the begin of a try with NoWait to Until.
const TryLimit = 3 * time.Second

// New returns a Waiter. It keeps the Config, and makes no request.
func New(ctx context.Context, c *Config) *Waiter {
	series := retry.For(c.RetryTimeout)
	if c.NoWait {
		series, c = retry.Until(c.Until), c.until()
	}
	return &Waiter{
		cfg: c, id: random.Text(ctx), series: series,
		progress: &progress{pace: waitpolicy.NewPace(c.Counter != nil, c.Local.Ended(c.Queue)), gaps: c.Counter != nil, report: c.Progress},
	}
}

// until returns the Config with requests that end at Until.
func (c *Config) until() *Config {
	bounded := *c
	bounded.Queue.Store = c.Queue.Until(c.Until)
	if c.Counter != nil {
		counter := *c.Counter
		counter.Store = counter.Store.Until(c.Until)
		bounded.Counter = &counter
	}
	return &bounded
}

// Acquire runs a Waiter, and returns it. With waitpolicy.Attempts it runs one after the other, each without a
// place in the queue, after a busy lock and after a table that does not answer, and returns the last.
func Acquire(ctx context.Context, c *Config, wait waitpolicy.Wait) (w *Waiter, grant *Grant, err error) {
	tries, _ := wait.Tries()
	c.NoWait = tries > 0
	Try(ctx, wait, func(until time.Time) (left []*Waiter, again bool) {
		c.Until = until
		w = New(ctx, c)
		grant, err = w.Run(ctx)
		return []*Waiter{w}, err != nil && w.mayTry(err)
	})
	return w, grant, err
}

// Try calls try, and once more for each further attempt of wait while try asks for that. The requests of a call end at
// until. It returns the waiters that may have left something.
func Try(ctx context.Context, wait waitpolicy.Wait, try func(until time.Time) (left []*Waiter, again bool)) {
	tries, _ := wait.Tries()
	var left []*Waiter
	for n, again := 1, true; ; n++ {
		until := time.Now().Add(TryLimit)
		awaitCleanUp(ctx, left)
		if left, again = try(until); !again || n >= tries || !retry.Sleep(ctx, wait.Pause(random.Float64(ctx))) {
			return
		}
	}
}

// awaitCleanUp waits until what a try has left is removed, as it may be in the way of the next. A table that does not
// answer is asked all the same, after half of a try's time.
func awaitCleanUp(ctx context.Context, before []*Waiter) {
	ctx, cancel := context.WithTimeout(ctx, TryLimit/2)
	defer cancel()
	for _, w := range before {
		if w.cleaned != nil {
			select {
			case <-w.cleaned:
			case <-ctx.Done():
			}
		}
	}
}

// mayTry reports whether another waiter may succeed after the error of this one.
func (w *Waiter) mayTry(err error) bool {
	return w.orphan == nil && (errors.Is(err, ErrBusy) || table.Transient(err))
}

// Run acquires the lock, or leaves the queue when ctx ends. A lock that was granted while ctx ended is returned
// as well, and the caller releases it.
func (w *Waiter) Run(ctx context.Context) (*Grant, error) {
	for {
		grant, err := w.once(ctx)
		switch {
		case err == nil:
			return grant, nil
		case !errors.Is(err, ErrNewTicket):
			w.Leave(ctx)
			return nil, err
		}
		w.careful = w.careful || errors.Is(err, errOvertaken)
	}
}

// once is Run with one ticket.
func (w *Waiter) once(ctx context.Context) (*Grant, error) {
	t, err := w.Number(ctx, Highest{})
	if err != nil {
		return nil, err
	}
	if grant, err := w.Enter(ctx, t); err != nil || grant != nil {
		return grant, err
	}
	return w.Await(ctx)
}

// Enter enters the queue: TAKE, or ENTER with a ticket of Number. It returns the Grant if the lock is granted at
// once. Otherwise it returns nil, begins to put and keep the row, and Await continues. Returns ErrNewTicket if the
// ticket cannot be granted here.
func (w *Waiter) Enter(ctx context.Context, t ticket.Number) (grant *Grant, err error) {
	ticketed := true
	switch {
	case w.cfg.Resume != nil:
		grant, err = w.resume(ctx, t)
	case w.cfg.Counter == nil:
		ticketed, err = w.take(ctx)
	default:
		err = w.enter(ctx, t)
	}
	if err == nil && ticketed && w.cfg.Resume == nil {
		w.cfg.Log.Ticket(w.ticket)
	}
	if err == nil && grant == nil {
		grant = w.adopt(ctx)
	}
	switch {
	case err != nil:
		return nil, err
	case grant != nil:
		return w.granted(ctx, grant)
	case !ticketed:
		return nil, ErrNewTicket // an own id was in the record, too late to be used
	}
	return nil, w.join(ctx)
}

// Await waits, after Enter, for the grant, until ctx ends. Returns ErrNewTicket if the ticket cannot be granted
// any more.
func (w *Waiter) Await(ctx context.Context) (*Grant, error) {
	grant, err := w.await(ctx)
	return w.awaited(ctx, grant, err)
}

// awaited is the rest of Await. What it needs of the stack, waiters do not occupy.
func (w *Waiter) awaited(ctx context.Context, grant *Grant, err error) (*Grant, error) {
	if err != nil && w.withdraw(ctx) {
		grant, err = w.passed(ctx, err)
	}
	if err == nil && len(w.progress.status.Serving) > 0 {
		w.judge(w.progress.status.Serving, nil)
	}
	if w.turn.slot {
		<-w.cfg.Several.Slots
	}
	if err == nil && w.turn.local != nil {
		w.turn.local.Granted(grant.ID, w.snapshot) // for the next waiter of the client
	}
	w.leave()
	switch {
	case err == nil:
		ended := w.cfg.Local.Ended(w.cfg.Queue)
		if ended.Before(w.turn.hinted) {
			ended = w.turn.hinted // what another process says
		}
		if a, _ := w.attempts.find(grant.Record); a != nil && a.passed {
			ended = a.sent // by the release
		}
		grant.Handover = w.progress.pace.Handover(ended, time.Now())
		return w.granted(ctx, grant)
	case w.cfg.Resume != nil && errors.Is(err, ErrNewTicket):
		return nil, &GoneError{w.ticket, "its place was lost, or resumed by another process"}
	}
	return nil, err
}

// passed returns the lock that a release has passed to a waiter which has failed meanwhile, or the error.
func (w *Waiter) passed(ctx context.Context, err error) (*Grant, error) {
	if grant, _, failure := w.act(ctx); grant != nil || failure != nil {
		return grant, failure
	}
	return nil, err
}

// granted confirms a grant if its lock fails closed. The rows are deleted meanwhile.
func (w *Waiter) granted(ctx context.Context, grant *Grant) (*Grant, error) {
	if w.cfg.Entry.Terms.FailClosed {
		if err := w.confirm(ctx, grant); err != nil {
			return nil, err
		}
	}
	if w.turn.place != nil {
		w.cfg.Background(w.places.Wait)
	}
	return grant, nil
}

// Wait waits until no request for the waiter's rows is under way.
func (w *Waiter) Wait() { w.places.Wait() }

// Status returns what the waiter last saw, after Run, Await or Leave.
func (w *Waiter) Status() Status {
	status := w.progress.status
	status.Failure, status.Wait = w.failure, w.estimate()
	return status
}

// Highest returns the highest ticket that the waiter knows to have been issued.
func (w *Waiter) Highest() Highest { return w.highest }

// Mode returns how the lock is held. For a lock that was resumed, the record decides.
func (w *Waiter) Mode() queue.Mode { return w.cfg.Entry.Mode }

// Tried reports whether a request for the lock was made.
func (w *Waiter) Tried() bool {
	return len(w.attempts) > 0 || !w.progress.status.SeenAt.IsZero()
}

// Orphan returns what a failure may have left that no lease ends; nil if there is nothing.
func (w *Waiter) Orphan() *OrphanError { return w.orphan }

// fits returns a *queue.MismatchError if the record is of another kind of queue.
func (w *Waiter) fits(rec queue.Record) error {
	scope := ticket.ScopeQueue
	if w.cfg.Counter != nil {
		scope = w.cfg.Counter.Scope
	}
	return rec.Fits(w.cfg.Queue.Items, scope, w.Mode())
}

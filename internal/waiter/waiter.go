package waiter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/handover"
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

// ErrFull reports that as many waiters are ahead as the Policy allows.
var ErrFull = errors.New("the queue is full")

// SupersededError reports that a later waiter of the group has come.
type SupersededError struct{ By ticket.Number }

func (e *SupersededError) Error() string { return "superseded by ticket " + e.By.String() }

// errOvertaken is the ErrNewTicket of a waiter that was too slow.
var errOvertaken = fmt.Errorf("overtaken: %w", ErrNewTicket)

// GoneError reports why a handle cannot be resumed any more.
type GoneError struct {
	Ticket ticket.Number
	Why    string
}

func (e *GoneError) Error() string { return e.Why }

// ResultError ends a wait with Config.Wanted: a holder has left a result.
type ResultError struct{ queue.Result }

func (e *ResultError) Error() string { return "ticket " + e.Ticket.String() + " has left a result" }

// Config is what one acquire in one queue needs.
type Config struct {
	Queue    table.Queue
	Counter  *Counter // issues the tickets in the wider scopes; nil: the queue's record issues them
	Observer *heartbeat.Observer
	Local    *handover.Lines
	Log      *notify.Log

	Entry Entry
	Row   heartbeat.Terms // of the row's lease

	Schedule     waitpolicy.Schedule
	Policy       queue.Policy
	Passing      Passing
	NoWait       bool           // give up a busy lock at once, with ErrBusy, and a silent table at Until
	Until        time.Time      // with NoWait: the end of all requests but those of CLEAN UP
	RetryTimeout time.Duration  // limits the attempts at a table that does not answer
	Resume       *queue.Handle  // of what is continued; nil: take a number
	Progress     func(Progress) // receives changes of a wait; must not block; optional
	// Placed receives the handle of each place in the queue. It must not block. The row is put once the
	// returned channel is closed; a Resume does not wait for it. Optional.
	Placed     func(queue.Handle) <-chan struct{}
	Background func(func())  // runs what only the client's Close waits for
	Wanted     *queue.Wanted // of a caller that waits for a result, see ResultError; nil: it waits for the lock alone
	Several    Several       // shared by the waiters for several locks, all of which are needed; optional
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
}

// Passing says how the lock of a call may come without a claim, and go on.
type Passing struct {
	Block   bool // its caller may wait in a block, which is the part of package play
	Offered bool // a release of its client may pass it the lock
	Named   bool // a release of any client may, by its row
	Rings   bool // its holder rings the row with the next ticket
	Reads   bool // and reads that during its turn, so that it can be named
}

// Counter issues the tickets of several queues.
type Counter struct {
	counter.Counter
	Scope ticket.Scope // of those queues
}

// Waiter is one acquire in one queue. Call either Run or its steps, once.
type Waiter struct {
	player
	places  sync.WaitGroup // rows that are kept or not yet deleted
	queued  bool           // there was one, of this ticket or an earlier one
	orphan  *OrphanError
	bell    *handover.Bell // of the wait, and of the lock that it is granted; nil: none
	cleaned chan struct{}  // closed when the ids are removed in the background, or cannot be; nil: they are not
}

// turn is the wait of one ticket.
type turn struct {
	place     *place           // nil with NoWait
	local     *handover.Waiter // nil with NoWait
	waits     bool             // Await has begun
	put       bool             // no look before the row is put
	arrived   bool             // the lock was granted
	announced bool             // a resumed place was
	slot      bool             // the turn has one of the Slots
	left      bool             // it is not to be left again: its local place is out of date
	kept      bool             // the row stays: the lock was granted by its name
	handover  time.Duration    // see event.Granted
}

// touch says that the waiter takes part.
func (t *turn) touch() {
	if t.local != nil {
		t.local.Touch()
	}
}

// failed returns why the row cannot be put; nil if it can.
func (t *turn) failed() error {
	if t.place == nil {
		return nil
	}
	select {
	case <-t.place.failed:
		return t.place.err
	default:
		return nil
	}
}

// TryLimit is the time from the begin of a try with NoWait to Until.
const TryLimit = 3 * time.Second

// New returns a Waiter. It keeps the Config, and makes no request.
func New(ctx context.Context, c *Config) *Waiter {
	series := retry.For(c.RetryTimeout)
	if c.NoWait {
		series, c = retry.Until(c.Until), c.until()
	}
	e := c.Entry
	machine := queue.WaitConfig{
		ID: random.Text(ctx), Items: c.Queue.Items, Owner: e.Owner, Data: e.Data, Mode: e.Mode, NoWait: c.NoWait, Policy: c.Policy,
		FailClosed: e.Terms.FailClosed, Scope: ticket.ScopeQueue, Resume: c.Resume, Forget: c.Queue.Forget, Wanted: c.Wanted,
	}
	bell := c.Local.Hang()
	machine.Bell = bell.Text()
	if c.Counter != nil {
		machine.Scope = c.Counter.Scope
	}
	w := &Waiter{player: player{sender: sender{cfg: c, series: series, wait: queue.Wait{Config: machine}}}, bell: bell}
	w.pace = &w.sight.pace
	w.sight = sight{cfg: c, wait: &w.wait, rung: bell != nil, pace: waitpolicy.NewPace(c.Local.Ended(c.Queue))}
	w.sight.pace.Once(c.Wanted != nil)
	return w
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
	tries := Tries{Wait: wait}
	c.NoWait = tries.NoWait()
	for again := true; again && tries.Next(ctx, w); again = w.mayTry(err) {
		c.Until = tries.Until
		w = New(ctx, c)
		grant, err = w.Run(ctx)
	}
	return w, grant, err
}

// mayTry reports whether another attempt may succeed where this one has not.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (w *Waiter) mayTry(err error) bool {
	return err != nil && w.orphan == nil && (errors.Is(err, ErrBusy) || table.Transient(err))
}

// Tries are the attempts of a caller that will not wait. Others make one.
type Tries struct {
	Wait  waitpolicy.Wait
	Until time.Time // when the requests of the present one end
	made  int
}

// NoWait reports whether the caller will not wait.
func (t *Tries) NoWait() bool {
	tries, _ := t.Wait.Tries()
	return tries > 0
}

// Next begins the first attempt, or another one after a pause. It returns false if there is none. left are waiters of the last
// one that may have left something.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (t *Tries) Next(ctx context.Context, left ...*Waiter) bool {
	if tries, _ := t.Wait.Tries(); t.made > 0 && (t.made >= tries || !retry.Sleep(ctx, t.Wait.Pause(random.Float64(ctx)))) {
		return false
	}
	t.made++
	t.Until = time.Now().Add(TryLimit)
	if t.made > 1 {
		awaitCleanUp(ctx, left)
	}
	return true
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

// Run acquires the lock, or leaves the queue when ctx ends. A lock that was granted while ctx ended is returned
// as well, and the caller releases it.
func (w *Waiter) Run(ctx context.Context) (*Grant, error) {
	for {
		var grant *Grant
		var do *queue.Do
		t, err := w.Number(ctx, Highest{})
		if err == nil {
			do, err = w.play(ctx, w.begin(t))
			grant, err = w.entered(ctx, do, err)
		}
		if err == nil && grant == nil {
			do, err = w.play(ctx, w.joined())
			grant, err = w.awaited(do, err)
		}
		switch {
		case err == nil:
			return grant, nil
		case !errors.Is(err, ErrNewTicket):
			w.Leave(ctx)
			return nil, err
		}
		w.wait.Careful = w.wait.Careful || errors.Is(err, errOvertaken)
	}
}

// Enter enters the queue: TAKE, or ENTER with a ticket of Number. It returns the Grant if the lock is granted at
// once. Otherwise it returns nil, begins to put and keep the row, and Await continues. Returns ErrNewTicket if the
// ticket cannot be granted here.
func (w *Waiter) Enter(ctx context.Context, t ticket.Number) (*Grant, error) {
	do, err := w.play(ctx, w.begin(t))
	return w.entered(ctx, do, err)
}

// begin begins with a ticket.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (w *Waiter) begin(t ticket.Number) *queue.Do {
	w.turn, w.sight.turn, w.row = turn{}, sightOfTurn{}, false
	return w.step(queue.Begin{Ticket: t})
}

// entered returns what an attempt to enter has come to.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (w *Waiter) entered(ctx context.Context, do *queue.Do, err error) (*Grant, error) {
	switch {
	case err != nil:
		return nil, err
	case do.State == queue.Joining:
		return nil, w.join(ctx)
	}
	return w.end(do)
}

// AwaitRow waits, after Enter, until the waiter's row is in the table. Without it the first look is made beside
// the ENQUEUE.
func (w *Waiter) AwaitRow(ctx context.Context) error {
	w.turn.put = true
	return w.awaitRow(ctx)
}

// Await waits, after Enter, for the grant, until ctx ends. Returns ErrNewTicket if the ticket cannot be granted
// any more.
func (w *Waiter) Await(ctx context.Context) (*Grant, error) {
	do, err := w.play(ctx, w.joined())
	return w.awaited(do, err)
}

// awaited returns what a wait has come to.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (w *Waiter) awaited(do *queue.Do, err error) (grant *Grant, _ error) {
	if !w.turn.arrived {
		w.depart()
	}
	if err == nil {
		grant, err = w.end(do)
	}
	if w.cfg.Resume != nil && errors.Is(err, ErrNewTicket) {
		return nil, &GoneError{w.wait.Ticket, "its place was lost, or resumed by another process"}
	}
	return grant, err
}

// joined begins to wait.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (w *Waiter) joined() *queue.Do {
	w.turn.waits = true
	// If no waiter can be ahead, a look would show no more than what Enter returned, unless the turn that it showed has
	// ended since, before the waiter could be woken.
	fresh := w.wait.Open() || !w.wait.Before(w.cfg.Local.Ended(w.cfg.Queue))
	return w.step(queue.Joined{Fresh: fresh, Put: w.turn.put})
}

// end returns what the machine says at the end of a wait.
func (w *Waiter) end(do *queue.Do) (*Grant, error) {
	if do.State == queue.Granted {
		if w.queued {
			w.cfg.Background(w.places.Wait)
		}
		return w.grant(do), nil
	}
	switch do.Why {
	case queue.WhyGone:
		return nil, &GoneError{w.wait.Ticket, do.Err.Error()}
	case queue.WhyBusy:
		return nil, ErrBusy
	case queue.WhyResult:
		return nil, &ResultError{w.wait.Snapshot.Record.Result}
	case queue.WhyFull:
		return nil, ErrFull
	case queue.WhySuperseded:
		return nil, &SupersededError{do.By}
	case queue.WhyNewTicket:
		return nil, ErrNewTicket
	case queue.WhyOvertaken:
		return nil, errOvertaken
	}
	return nil, do.Err
}

// arrive ends the wait of a ticket that was granted.
func (p *player) arrive(do *queue.Do) {
	p.turn.arrived = true
	if serving := p.sight.status.Serving; len(serving) > 0 {
		p.turn.local.Judge(serving, nil, p.sight.rings(serving))
	}
	p.turn.local.Granted(do.Attempt.ID, &p.wait.Snapshot) // for the next waiter of the client
	p.depart()
	ended := p.cfg.Local.Ended(p.cfg.Queue)
	if rung := p.turn.local.Rung(false).Last; ended.Before(rung) {
		ended = rung // what another process says
	}
	if do.Attempt.Passed && !do.Holder.Named {
		ended = do.Attempt.Sent // by the release
	}
	p.turn.handover = p.sight.pace.Handover(ended, time.Now())
}

// depart ends the wait of a ticket.
func (p *player) depart() {
	if p.turn.slot {
		<-p.cfg.Several.Slots
		p.turn.slot = false
	}
	p.leave()
}

func (p *player) handle() queue.Handle {
	return queue.Handle{ID: p.wait.Config.ID, Ticket: p.wait.Ticket}
}

// join begins the wait of the waiter's ticket: it puts the ticket into the queue and the line of its client.
func (w *Waiter) join(ctx context.Context) error {
	if w.cfg.NoWait {
		w.series.Reset()
		return nil
	}
	w.series = retry.For(w.cfg.RetryTimeout)
	if w.cfg.Placed != nil && w.cfg.Resume == nil {
		select {
		case <-w.cfg.Placed(w.handle()): // before the row is put: a slow receiver delays no other waiter
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	ahead := 0 // in the wider scopes, the other tickets are mostly of other queues
	if w.cfg.Counter == nil {
		ahead = ticketsAhead(w.wait.Ticket, w.wait.Snapshot.Record)
	}
	w.turn.local = w.cfg.Local.Join(w.cfg.Queue, w.wait.Ticket, ahead, w.bell)
	if w.cfg.Policy.Limited {
		w.turn.local.CountsRows()
	}
	w.turn.place, w.row, w.queued = w.startPlace(ctx, w.turn.local), true, true
	w.turn.local.Terms = handover.Terms{Failed: w.turn.place.failed, Pace: w.pace, Schedule: &w.cfg.Schedule}
	if w.cfg.Passing.Offered {
		w.turn.local.Terms.Offer = w.offer
	}
	w.sight.turn = sightOfTurn{local: w.turn.local, byName: w.turn.place.row.EntryID != ""}
	if w.cfg.Resume != nil {
		w.sight.record(w.wait.Ticket, &w.wait.Snapshot, handover.Tickets(ticketsAhead(w.wait.Ticket, w.wait.Snapshot.Record)))
	}
	w.sight.update() // before a look, nothing else is known
	w.sight.pace.Behind(w.sight.status.Rows)
	return nil
}

// leave removes the ticket from both, the row in the background.
func (p *player) leave() {
	if p.turn.place != nil && !p.turn.left {
		p.turn.left = true
		p.sight.update()
		if !p.turn.kept {
			p.turn.place.cancel()
		}
		p.turn.local.Leave()
	}
}

// Wait waits until no request for the waiter's rows is under way.
func (w *Waiter) Wait() { w.places.Wait() }

// Status returns what the waiter last saw, after Run, Await or Leave.
func (w *Waiter) Status() Status {
	status := w.sight.status
	status.Failure, status.Wait = w.failure.get(), w.sight.estimate()
	return status
}

// Failure returns the failure of the last request, nil if the table answered it. Other goroutines may call it.
func (w *Waiter) Failure() error { return w.failure.get() }

// Highest returns the highest ticket that the waiter knows to have been issued.
func (w *Waiter) Highest() Highest { return w.highest }

// Mode returns how the lock is held. For a lock that was resumed, the record decides.
func (w *Waiter) Mode() queue.Mode { return w.wait.Config.Mode }

// Tried reports whether a request for the lock was made.
func (w *Waiter) Tried() bool {
	return w.sent || !w.sight.status.SeenAt.IsZero()
}

// Orphan returns what a failure may have left that no lease ends; nil if there is nothing.
func (w *Waiter) Orphan() *OrphanError { return w.orphan }

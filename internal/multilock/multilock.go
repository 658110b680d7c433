// Package multilock acquires several locks, all or none.
//
// # Steps
//
// With a common counter one number is the ticket in all queues. The queues are entered in their order, each after
// the row in the one before is in the table. Then the caller waits in all of them at the same time:
//
//	number ──► enter 1 ──► enter 2 ──► … ──► enter n
//	              │           │                 │
//	              ▼           ▼                 ▼
//	             wait        wait              wait ──► all held
//	              │           │                 │
//	              └───────────┴────────┬────────┘
//	                                   ▼ overtaken, or a lock was lost
//	               all is given back, and a new number is taken
//
// Without a common counter the locks are acquired one after the other.
//
// # Promises
//
// No deadlock. A caller waits for lower tickets only, because a ticket below one that was granted gives way. So the
// lowest ticket is granted in every queue. The one order keeps two callers from overtaking each other in turn.
//
// Locks are not held beside a queue that is closed for long: they are given back until it opens. Then the place of the
// call is a new one, so this happens once, and those that come before it the next time may close it again.
//
// When Acquire fails, everything was given back that the table has answered for. Error names what is left. A lease
// ends it, unless it fails closed.
package multilock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/play"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Config is what one Acquire needs. All fields are required.
type Config struct {
	Queues     []table.Queue // in the order in which they are entered
	Numbered   bool          // they have one counter
	FailClosed bool          // no lease ends what is left
	Log        *slog.Logger
	// Enter lets the caller wait in a queue.
	Enter   func(ctx context.Context, queue int, e Entry) *play.Caller
	Granted func(queue int, lock *play.Lock) // is called for each lock that was granted
	// Ready is called once all locks are held. Its error gives them back.
	Ready func() error
}

// Entry is how a queue is entered.
type Entry struct {
	Wake    chan struct{}
	Number  ticket.Number // the common one; zero: this queue asks for it, and for one above Highest
	Highest ticket.Number
	Until   time.Time // of a try that does not wait
	Lazy    func() bool
	Placed  func(ticket.Number)   // is called once the row is in the table
	Sees    func(opens time.Time) // is called when that has changed: until then, the queue is closed
}

// Error is the error of an Acquire.
type Error struct {
	Queue  int         // that was in the way
	Status play.Status // of its caller
	Err    error
	// Left is, by queue, why something that may be in its record was not given back: a *play.Orphan or an error of a
	// release; nil if nothing is left there.
	Left  []error
	Tried bool // a request was made for a lock that was not granted
}

func (e *Error) Error() string { return errors.Join(e.Err, errors.Join(e.Left...)).Error() }

// Unwrap returns Err and all of Left.
func (e *Error) Unwrap() []error { return append([]error{e.Err}, e.Left...) }

// closedError reports that a queue is closed for a while, and that the locks of others would be held for nothing until
// then.
type closedError struct{ opens time.Time }

func (e *closedError) Error() string {
	return fmt.Sprintf("its queue is closed for %v", time.Until(e.opens).Round(time.Second))
}

// patience is how long locks are held beside a queue that is closed.
const patience = 2 * time.Second

// errLost reports that a lock was lost before all were held.
var errLost = errors.New("a lock was lost while others were waited for")

// quickNumbers is how many overtaken numbers a caller that will not wait takes before the locks count as busy.
const quickNumbers = 5

// newTicket is the end of a wait with a number that cannot be granted.
var newTicket = &play.Refused{Why: machine.WhyNewTicket}

// acquisition is one Acquire.
type acquisition struct {
	cfg     Config
	until   time.Time      // the end of the requests of a try that does not wait
	tried   bool           // see Error
	highest ticket.Number  // that is known to have been issued
	before  []*play.Caller // of the last round
	// it has waited for a closed queue without a place. Once, as each time others may come before it
	yielded bool
}

// Acquire acquires all locks, in the order of their queues, and returns them held. Its error is an *Error.
func Acquire(ctx context.Context, c Config, wait waitpolicy.Wait) (held []*play.Lock, _ error) {
	tries, _ := wait.Tries()
	a := &acquisition{cfg: c}
	var err *Error
	for made := 0; made == 0 || made < tries && a.pauses(ctx, wait); made++ {
		if tries > 0 {
			a.until = time.Now().Add(play.TryLimit)
		}
		held, err = a.acquire(ctx)
		if err == nil || a.endless(err.Left) || !errors.Is(err.Err, play.ErrBusy) && !table.Transient(err.Err) {
			break
		}
	}
	if err != nil {
		err.Tried = a.tried
		return nil, err
	}
	return held, nil
}

// pauses waits before another try. What the last one has left may be in the way.
func (a *acquisition) pauses(ctx context.Context, wait waitpolicy.Wait) bool {
	if !retry.Sleep(ctx, wait.Pause(random.Float64(ctx))) {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, play.TryLimit/2)
	defer cancel()
	for _, k := range a.before {
		k.Cleaned(limited)
	}
	return true
}

// acquire takes numbers until it has all locks. It begins again only when it was overtaken or lost a lock.
func (a *acquisition) acquire(ctx context.Context) ([]*play.Lock, *Error) {
	for number := 1; ; number++ {
		r := newRound(ctx, a)
		queue, err := r.play()
		if err == nil {
			if err = a.cfg.Ready(); err == nil {
				return r.locks(), nil
			}
			r.undo()
		}
		left := r.leaves()
		closed, yields := errors.AsType[*closedError](err)
		repeat := !a.endless(left) && (errors.Is(err, newTicket) || errors.Is(err, errLost) || yields)
		switch {
		case repeat && !a.until.IsZero() && number >= quickNumbers:
			err = play.ErrBusy
		case repeat && ctx.Err() == nil:
			a.cfg.Log.Info("queuelock: gave several locks back, and takes a new ticket for all",
				"in the way", a.cfg.Queues[queue].String(), "cause", err, "left behind", errors.Join(left...))
			if yields {
				a.yielded = true
				// without a place, as one in a later queue could be in the way of the order
				retry.Sleep(ctx, time.Until(closed.opens))
			}
			continue
		case repeat:
			err = ctx.Err()
		}
		if ctx.Err() != nil { // the queue that was waited for, not the first that noticed the end
			queue = max(0, slices.IndexFunc(r.each, func(o *one) bool { return o.lock == nil }))
		}
		e := &Error{Queue: queue, Err: err, Left: left}
		if k := r.each[queue].caller; k != nil {
			e.Status = k.Status()
		}
		return nil, e
	}
}

// endless reports whether something is left that no lease ends. Another attempt would wait for it.
func (a *acquisition) endless(left []error) bool {
	return a.cfg.FailClosed && slices.ContainsFunc(left, func(err error) bool { return err != nil })
}

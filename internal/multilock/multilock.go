// Package multilock acquires several locks, all or none.
//
// # Steps
//
// With a common counter one number is the ticket in all queues. The queues are entered in their order, each after
// the row in the one before is in the table. Then the waiter waits in all of them at the same time:
//
//	number ──► enter 1 ──► enter 2 ──► … ──► enter n
//	              │           │                 │
//	              ▼           ▼                 ▼
//	            await       await             await ──► all held
//	              │           │                 │
//	              └───────────┴────────┬────────┘
//	                                   ▼ overtaken, or a lock was lost
//	               all is given back, and a new number is taken
//
// Without a common counter the locks are acquired one after the other.
//
// # Promises
//
// No deadlock. A waiter waits for lower tickets only, because a ticket below one that was granted gives way. So the
// lowest ticket is granted in every queue. The one order keeps two waiters from overtaking each other in turn.
//
// Locks are not held beside a queue that is closed for long: they are given back until it opens. Then the place of the call is a
// new one, so this happens once, and those that come before it the next time may close it again.
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

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Config is what one Acquire needs. All fields are required.
type Config struct {
	// Waiters is the configuration in each queue, in the order in which they are entered. Acquire sets NoWait and
	// Slots.
	Waiters  []waiter.Config
	Numbered bool // the Waiters have one Counter
	Log      *slog.Logger
	// Hold begins to hold what a queue has granted.
	Hold func(ctx context.Context, queue int, grant *waiter.Grant) Held
	// Ready is called once all locks are held. Its error gives them back.
	Ready func() error
}

// Held is a lock that a queue has granted.
type Held interface {
	Context() context.Context // ends when the lock is lost or released
	Release(ctx context.Context) error
	// GiveBack releases a lock that the caller will not get. If its lease has ended, remove removes its id from the
	// record, until end, when other clients may. An error reports that the lock may still be in the table.
	GiveBack(ctx context.Context, remove func(ctx context.Context, id string, end time.Time) error) error
}

// Error is the error of an Acquire.
type Error struct {
	Queue  int           // that was in the way
	Status waiter.Status // of its waiter
	Err    error
	// Left is, by queue, why something that may be in its record was not given back: a *waiter.OrphanError or an
	// error of Held; nil if nothing is left there.
	Left  []error
	Tried bool // a request was made for a lock that was not granted
}

func (e *Error) Error() string { return errors.Join(e.Err, errors.Join(e.Left...)).Error() }

// Unwrap returns Err and all of Left.
func (e *Error) Unwrap() []error { return append([]error{e.Err}, e.Left...) }

// closedError reports that a queue is closed for a while, and that the locks of others would be held for nothing until then.
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

// acquisition is one Acquire.
type acquisition struct {
	cfg     Config
	noWait  bool
	until   time.Time        // the end of the requests of a try with noWait
	tried   bool             // see Error
	highest waiter.Highest   // ticket that is known to have been issued
	before  []*waiter.Waiter // of the last round
	yielded bool             // it has waited for a closed queue without a place. Once, as each time others may come before it
}

// Acquire acquires all locks, in the order of their queues, and returns them held. Its error is an *Error.
func Acquire(ctx context.Context, c Config, wait waitpolicy.Wait) (held []Held, _ error) {
	tries := waiter.Tries{Wait: wait}
	a := &acquisition{cfg: c, noWait: tries.NoWait()}
	var err *Error
	for again := true; again && tries.Next(ctx, a.before...); {
		a.until = tries.Until
		held, err = a.acquire(ctx)
		again = err != nil && !a.endless(err.Left) && (errors.Is(err.Err, waiter.ErrBusy) || table.Transient(err.Err))
	}
	if err != nil {
		err.Tried = a.tried
		return nil, err
	}
	return held, nil
}

// acquire takes numbers until it has all locks. It begins again only when it was overtaken or lost a lock.
func (a *acquisition) acquire(ctx context.Context) ([]Held, *Error) {
	for number := 1; ; number++ {
		r := newRound(ctx, a)
		queue, err := r.play()
		if err == nil {
			err = a.cfg.Ready()
		}
		if err == nil {
			return r.locks, nil
		}
		left := r.undo()
		a.before = r.waiters
		closed, yields := errors.AsType[*closedError](err)
		repeat := !a.endless(left) && (errors.Is(err, waiter.ErrNewTicket) || errors.Is(err, errLost) || yields)
		switch {
		case repeat && a.noWait && number >= quickNumbers:
			err = waiter.ErrBusy
		case repeat && ctx.Err() == nil:
			a.cfg.Log.Info("queuelock: gave several locks back, and takes a new ticket for all",
				"in the way", a.cfg.Waiters[queue].Queue.String(), "cause", err, "left behind", errors.Join(left...))
			if yields {
				a.yielded = true
				retry.Sleep(ctx, time.Until(closed.opens)) // without a place, as one in a later queue could be in the way of the order
			}
			continue
		case repeat:
			err = ctx.Err()
		}
		if ctx.Err() != nil {
			// The queue that was waited for, not the first that noticed the end.
			queue = max(0, slices.Index(r.locks, nil))
		}
		e := &Error{Queue: queue, Err: err, Left: left}
		if queue < len(r.waiters) {
			e.Status = r.waiters[queue].Status()
		}
		return nil, e
	}
}

// endless reports whether something is left that no lease ends. Another attempt would wait for it.
func (a *acquisition) endless(left []error) bool {
	for i, err := range left {
		if err != nil && a.cfg.Waiters[i].Entry.Terms.FailClosed {
			return true
		}
	}
	return false
}

package multilock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/ticket"
)

const (
	// sideBySide is the number of queues in which an Acquire looks as often as for one lock, and of calls that
	// Each makes at a time.
	sideBySide = 16
	// undoTimeout is how long undo works on only sideBySide queues at a time.
	undoTimeout = 500 * time.Millisecond
	// overdue is how long after the end of ctx a stuck round may still hold locks.
	overdue = 2 * time.Second
)

// round is one attempt with one number.
type round struct {
	a       *acquisition
	caller  context.Context
	ctx     context.Context // ends with the caller's, or the first failure
	cancel  context.CancelFunc
	slots   chan struct{}
	stuck   chan struct{} // has a value if a waiter is stuck
	waits   sync.WaitGroup
	waiters []*waiter.Waiter // of the queues entered so far

	mu    sync.Mutex
	locks []Held        // guarded by mu until all is over; by queue, nil: not held
	watch []func() bool // guarded by mu; each ends the watch of a lock
	err   error         // guarded by mu; the first failure
	at    int           // guarded by mu; its queue
	opens []time.Time   // guarded by mu; by queue, as far as it is known; zero: it is open
}

func newRound(ctx context.Context, a *acquisition) *round {
	r := &round{
		a: a, caller: ctx, slots: make(chan struct{}, sideBySide), stuck: make(chan struct{}, 1),
		locks: make([]Held, len(a.cfg.Waiters)), opens: make([]time.Time, len(a.cfg.Waiters)),
	}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// play enters all queues and waits in them. It returns when nothing is under way any more, with the first failure
// and its queue. Nil: all locks are held.
func (r *round) play() (queue int, err error) {
	defer r.cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.enterAll(random.Fork(r.ctx))
		r.waits.Wait()
	}()
	select {
	case <-over:
	case <-r.stuck:
		r.letGo()
	case <-r.caller.Done():
		select {
		case <-over:
		case <-time.After(overdue):
			r.letGo()
		}
	}
	<-over
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, w := range r.waiters {
		r.a.tried = r.a.tried || r.locks[i] == nil && w.Tried()
	}
	for _, unwatch := range r.watch {
		unwatch()
	}
	return r.at, r.err
}

// stick notes that a waiter is stuck, which keeps the locks that are held from all others.
func (r *round) stick() {
	select {
	case r.stuck <- struct{}{}:
	default:
	}
}

// letGo fails the round and releases what it holds. undo repeats what fails.
func (r *round) letGo() {
	r.fail(0, errLost)
	r.mu.Lock()
	held := slices.Clone(r.locks)
	r.mu.Unlock()
	Each(r.caller, len(held), nil, func(ctx context.Context, i int) {
		if held[i] != nil {
			_ = held[i].Release(ctx)
		}
	})
}

// enterAll enters one queue after the other.
func (r *round) enterAll(ctx context.Context) {
	var t ticket.Number
	for i, c := range r.a.cfg.Waiters {
		c.NoWait, c.Until, c.Several.Stuck = r.a.noWait, r.a.until, r.stick
		if r.a.cfg.Numbered {
			c.Several.Slots = r.slots // else it waits in one queue after the other
		}
		if !r.a.noWait && !r.a.yielded {
			c.Progress = r.watching(i, c)
		}
		w := waiter.New(ctx, &c)
		r.waiters = append(r.waiters, w)
		var err error
		if !r.a.cfg.Numbered {
			err = r.keep(ctx, i, w.Run)
		} else {
			if i == 0 {
				t, err = w.Number(ctx, r.a.highest)
			}
			if err == nil {
				err = r.enter(ctx, i, w, t)
			}
		}
		if err != nil {
			r.fail(i, err)
			return
		}
	}
}

// enter enters a queue with the common number. Without a grant it waits beside the other queues, once the row is in
// the table.
func (r *round) enter(ctx context.Context, i int, w *waiter.Waiter, t ticket.Number) error {
	grant, err := w.Enter(ctx, t)
	switch {
	case err != nil:
		return err
	case grant != nil:
		r.hold(ctx, i, grant)
		return nil
	case r.a.noWait:
		return r.keep(ctx, i, w.Await)
	}
	if err := w.AwaitRow(ctx); err != nil {
		return err
	}
	ctx = random.Fork(ctx)
	r.waits.Go(func() {
		if err := r.keep(ctx, i, w.Await); err != nil {
			r.fail(i, err)
		}
	})
	return nil
}

// keep acquires a lock and holds it.
func (r *round) keep(ctx context.Context, i int, acquire func(context.Context) (*waiter.Grant, error)) error {
	grant, err := acquire(ctx)
	if err == nil {
		r.hold(ctx, i, grant)
	}
	return err
}

// hold holds a lock that was granted, and ends the round if it is lost.
func (r *round) hold(ctx context.Context, i int, grant *waiter.Grant) {
	lock := r.a.cfg.Hold(ctx, i, grant)
	unwatch := context.AfterFunc(lock.Context(), func() { r.fail(i, errLost) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.locks[i] = lock
	r.watch = append(r.watch, unwatch)
	r.yield()
}

// watching reports what a waiter sees, and notes until when its queue is closed.
func (r *round) watching(i int, c waiter.Config) func(waiter.Progress) {
	return func(p waiter.Progress) {
		opens := time.Time{}
		if h := p.Status.Served(c.Queue, c.Observer); h != nil && h.Closed {
			opens = time.Now().Add(h.Remaining)
		}
		r.mu.Lock()
		r.opens[i] = opens
		r.yield()
		r.mu.Unlock()
		if c.Progress != nil {
			c.Progress(p)
		}
	}
}

// yield ends the round if locks are held beside a queue that is closed for long. r.mu is held.
func (r *round) yield() {
	if r.err != nil || !slices.ContainsFunc(r.locks, func(l Held) bool { return l != nil }) {
		return
	}
	for i, opens := range r.opens {
		if r.locks[i] == nil && time.Until(opens) > patience {
			r.err, r.at = &closedError{opens}, i
			r.cancel()
			return
		}
	}
}

// fail ends the round because of a queue.
func (r *round) fail(i int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err, r.at = err, i
		r.cancel()
	}
}

// undo releases the locks and leaves the queues. It returns Error.Left when all of that was done or given up: a caller
// that will not wait does not wait for a silent table until its leases end either.
func (r *round) undo() (left []error) {
	left = make([]error, len(r.locks))
	caller := r.caller
	if r.a.noWait {
		bounded, cancel := context.WithDeadline(caller, r.a.until)
		defer cancel()
		caller = bounded
	}
	// If the table does not answer, each takes its whole time, so they do not wait for each other. None is left
	// out, as nothing else ends a lock that fails closed.
	hurry, cancel := context.WithTimeout(context.Background(), undoTimeout)
	defer cancel()
	Each(caller, len(r.waiters), hurry.Done(), func(ctx context.Context, i int) {
		w, lock := r.waiters[i], r.locks[i]
		switch {
		case lock != nil:
			left[i] = lock.GiveBack(ctx, w.Remove)
			w.Wait()
		case r.a.cfg.Numbered:
			w.Leave(ctx)
		}
		if orphan := w.Orphan(); orphan != nil {
			left[i] = orphan
		}
	})
	for _, w := range r.waiters {
		if r.a.highest.Ticket.Less(w.Highest().Ticket) {
			r.a.highest = w.Highest()
		}
	}
	return left
}

// Each calls f for 0 to n-1, some at a time, and all that are left once hurry is closed. A nil hurry never is. Each
// call has its own random source.
func Each(ctx context.Context, n int, hurry <-chan struct{}, f func(ctx context.Context, i int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, sideBySide)
	for i := range n {
		ctx := random.Fork(ctx)
		select {
		case slots <- struct{}{}:
			wg.Go(func() {
				defer func() { <-slots }()
				f(ctx, i)
			})
		case <-hurry:
			wg.Go(func() { f(ctx, i) })
		}
	}
	wg.Wait()
}

package multilock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/group"
	"github.com/queuelock/queuelock/internal/play"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/ticket"
)

const (
	// sideBySide is the number of queues in which an Acquire looks as often as for one lock, and of calls that
	// Each makes at a time.
	sideBySide = 16
	// undoTimeout is how long locks are given back in only sideBySide queues at a time.
	undoTimeout = 500 * time.Millisecond
)

// round is one attempt with one number.
type round struct {
	a      *acquisition
	caller context.Context
	ctx    context.Context // ends with the caller's, or the first failure
	cancel context.CancelFunc
	wake   chan struct{} // something has happened
	each   []*one
	err    error          // the first failure
	at     int            // its queue
	undone sync.WaitGroup // of what is given back
}

// one is the wait in a queue, and then its lock.
type one struct {
	caller *play.Caller // nil: the queue was not entered
	over   bool         // the wait is
	lock   *play.Lock   // nil: it was not granted
	left   error        // see Error

	mu     sync.Mutex
	number ticket.Number // guarded by mu; once its row is in the table
	held   bool          // guarded by mu; the lock is
	opens  time.Time     // guarded by mu; as far as it is known; zero: it is open
}

func newRound(ctx context.Context, a *acquisition) *round {
	r := &round{a: a, caller: ctx, wake: make(chan struct{}, 1), each: make([]*one, len(a.cfg.Queues))}
	for i := range r.each {
		r.each[i] = &one{}
	}
	r.ctx, r.cancel = context.WithCancel(random.Fork(ctx))
	return r
}

// play enters all queues and waits in them. It returns when nothing is under way any more, with the first failure
// and its queue. Nil: all locks are held.
func (r *round) play() (queue int, err error) {
	defer r.cancel()
	ended := r.ctx.Done()
	for entered := 0; ; {
		if r.err == nil && entered < len(r.each) && r.mayEnter(entered) {
			r.enter(entered)
			entered++
			continue
		}
		if waits := slices.ContainsFunc(r.each[:entered], func(o *one) bool { return !o.over }); !waits {
			break
		}
		select {
		case <-r.wake:
		case <-ended:
			ended = nil
		}
		for i, o := range r.each[:entered] {
			r.goesOn(i, o)
		}
		r.yields()
		if r.caller.Err() != nil {
			r.fail(0, r.caller.Err())
		}
	}
	r.undone.Wait()
	for _, o := range r.each {
		r.a.tried = r.a.tried || o.lock == nil && o.caller != nil && o.caller.Tried()
	}
	return r.at, r.err
}

// mayEnter reports whether a queue may be entered: the row in the one before is in the table, or its lock is held.
func (r *round) mayEnter(i int) bool {
	return i == 0 || r.each[i-1].lock != nil || r.a.cfg.Numbered && r.a.until.IsZero() && !r.number(i-1).IsZero()
}

// number returns the number of a queue whose row is in the table, or whose lock is held; zero: neither.
func (r *round) number(i int) ticket.Number {
	o := r.each[i]
	if o.lock != nil {
		return o.lock.Ticket()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.number
}

// enter enters a queue.
func (r *round) enter(i int) {
	o, e := r.each[i], Entry{Wake: r.wake, Highest: r.a.highest, Until: r.a.until}
	if r.a.cfg.Numbered {
		e.Lazy = func() bool { return r.waitsBefore(i) >= sideBySide }
		e.Placed = func(t ticket.Number) {
			o.mu.Lock()
			o.number = t
			o.mu.Unlock()
			r.signal()
		}
		if i > 0 {
			e.Number = r.number(i - 1)
		}
	}
	if r.a.until.IsZero() && !r.a.yielded {
		e.Sees = func(opens time.Time) {
			o.mu.Lock()
			o.opens = opens
			o.mu.Unlock()
			r.signal()
		}
	}
	o.caller = r.a.cfg.Enter(r.ctx, i, e)
}

// waitsBefore returns in how many queues before one the round waits.
func (r *round) waitsBefore(i int) (n int) {
	for _, o := range r.each[:i] {
		o.mu.Lock()
		if !o.held {
			n++
		}
		o.mu.Unlock()
	}
	return n
}

func (r *round) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// goesOn takes what has become of a wait, or of its lock.
func (r *round) goesOn(i int, o *one) {
	if !o.over {
		var err error
		if o.over, o.lock, err = o.caller.Next(); o.over && o.lock == nil {
			r.fail(i, err)
		} else if o.over {
			r.holds(i, o)
		}
	}
	if o.lock != nil && r.err == nil && o.lock.Err() != nil {
		r.fail(i, errLost)
	}
}

// holds goes on with a lock that was granted. One that comes late is given back.
func (r *round) holds(i int, o *one) {
	o.mu.Lock()
	o.held = true
	o.mu.Unlock()
	if r.a.cfg.Granted(i, o.lock); r.err != nil {
		r.gives(random.Fork(r.caller), o)
		return
	}
	context.AfterFunc(o.lock.Context(), r.signal)
	for _, other := range r.each[i+1:] {
		if other.caller != nil && !other.over && r.a.cfg.Numbered && len(r.each) > sideBySide {
			other.caller.Nudge() // it may look more often now
			break
		}
	}
}

// yields ends the round if locks are held beside a queue that is closed for long.
func (r *round) yields() {
	if r.err != nil || !slices.ContainsFunc(r.each, func(o *one) bool { return o.lock != nil }) {
		return
	}
	for i, o := range r.each {
		o.mu.Lock()
		opens := o.opens
		o.mu.Unlock()
		if o.lock == nil && time.Until(opens) > patience {
			r.fail(i, &closedError{opens})
			return
		}
	}
}

// fail ends the round because of a queue, and gives back what it holds.
func (r *round) fail(i int, err error) {
	if r.err == nil {
		r.err, r.at = err, i
		r.cancel()
		r.undo()
	}
}

// undo gives back all locks. If the table does not answer, each takes its whole time, so they do not wait for each
// other. None is left out, as nothing else ends a lock that fails closed.
func (r *round) undo() {
	var held []*one
	for _, o := range r.each {
		if o.lock != nil {
			held = append(held, o)
		}
	}
	ctx := random.Fork(r.caller)
	r.undone.Go(func() {
		hurry, cancel := context.WithTimeout(context.Background(), undoTimeout)
		defer cancel()
		Each(ctx, len(held), hurry.Done(), func(ctx context.Context, i int) { r.giveBack(ctx, held[i]) })
	})
}

// gives gives a lock back, in the background.
func (r *round) gives(ctx context.Context, o *one) {
	r.undone.Go(func() { r.giveBack(ctx, o) })
}

// giveBack gives a lock back: a caller that will not wait does not wait for a silent table until its lease ends either.
func (r *round) giveBack(ctx context.Context, o *one) {
	if until := r.a.until; !until.IsZero() {
		var cancel func()
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	o.left = o.lock.GiveBack(ctx)
	o.caller.Cleared()
}

// leaves returns Error.Left once all was given back, and what is known of the tickets.
func (r *round) leaves() (left []error) {
	r.undone.Wait()
	r.a.before = nil
	for _, o := range r.each {
		if k := o.caller; k != nil {
			r.a.before = append(r.a.before, k)
			if high := k.Highest(); r.a.highest.Less(high) {
				r.a.highest = high
			}
			if orphan := k.Orphan(); orphan != nil {
				o.left = orphan
			}
		}
		left = append(left, o.left)
	}
	return left
}

// locks returns the locks of the round.
func (r *round) locks() (all []*play.Lock) {
	for _, o := range r.each {
		all = append(all, o.lock)
	}
	return all
}

// Each calls f for 0 to n-1, some at a time, and all that are left once hurry is closed. A nil hurry never is. Each
// call has its own random source. It ends like one that does not return.
func Each(ctx context.Context, n int, hurry <-chan struct{}, f func(ctx context.Context, i int)) {
	var all group.All
	slots := make(chan struct{}, sideBySide)
	for i := range n {
		ctx := random.Fork(ctx)
		select {
		case slots <- struct{}{}:
			all.Go(func() {
				defer func() { <-slots }()
				f(ctx, i)
			})
		case <-hurry:
			all.Go(func() { f(ctx, i) })
		}
	}
	all.Wait()()
}

package queuelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/callback"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// sideBySide is in how many of its queues an AcquireAll looks as often as an
// Acquire, and how many locks are released at a time.
const sideBySide = 16

// AcquireAll takes its turn at several locks and returns them all held, or none.
// Any number of keys is possible; a key that is given twice is one lock. An empty
// list is an error.
//
// With a wider Config.Scope one number is the ticket in all the queues. It is
// registered in one queue after the other, in the order of keys: by entity, then
// by reason, byte by byte. Where the lock is not idle its row is put, before the
// next queue is gone to. In all of them it then waits at the same time, is served
// in each when its turn comes, and keeps what it has. Overtaken in one of them, or
// with a lock lost while it waits for the others, it gives everything back, leaves
// all queues, and begins anew with a new number.
//
// Nobody waits for ever for each other: whoever waits with a ticket waits for
// lower ones only, as one who finds that a higher ticket was served before it
// gives way. So of all that wait, the lowest is served in every queue, as soon as
// holders that wait for nothing release or die. The one order keeps two from
// overtaking each other in turn. All this is true of those who take all that they
// need with one call: one who holds locks, and asks for more by another call, can
// wait for itself.
//
// With ScopeEntity the keys must be of one entity, as others have no common
// ticket; it is an error if they are not, and nothing is sent. With ScopeQueue, the
// default, there is no common ticket at all: the locks are acquired one after the
// other, in the order of keys. Those who follow that order with all the locks that
// they hold at a time do not wait for each other in a circle. But each that is held
// is idle until the last is, and the order of service is each queue's own.
//
// wait and ctx bound the whole, as for Acquire. With NoWait no row is put, and the
// first lock that is busy ends the attempt; with waitpolicy.Attempts so does each.
// Options are those of each lock. OnProgress gets the latest Progress of each queue.
// OnHandle is an error, and nothing is sent: what
// waits in several queues is not resumed.
//
// Errors are those of Acquire: of the key that stood in the way, or the first in
// the order of keys that was still waited for. Nothing of the attempt is left in
// the table, as for Acquire; and a call that gives up takes up to about four
// seconds more if the table does not answer.
//
// Of n idle locks: n + 1 requests, one after the other; 2n + 1 and the looks if it
// is to wait in all, and another n for the claims. It looks often in 16 queues at the
// most, and in the others when it has been served in those, or each few seconds.
// With ScopeQueue those of n Acquires.
func (c *Client) AcquireAll(ctx context.Context, keys []Key, wait waitpolicy.Wait, opts ...Option) (*Locks, error) {
	begun := time.Now()
	s, err := c.prepareAll(keys, wait, opts)
	if err != nil {
		return nil, err
	}
	s.begun = begun
	locks, err := s.try(ctx, wait)
	if !s.tried && s.cfg.tooShort(ctx, begun, err) {
		locks, err = s.try(ctx, waitpolicy.NoWait)
	}
	return locks, err
}

// try is AcquireAll without the second attempt.
func (s *several) try(ctx context.Context, wait waitpolicy.Wait) (*Locks, error) {
	ctx, end, err := s.client.begin(ctx, wait)
	if err != nil {
		return nil, err
	}
	defer end()
	ctx, s.calls = callback.New(ctx, s.client.background.Run)
	defer s.calls.Raise()
	tries, _ := wait.Tries()
	for try := 1; ; try++ {
		locks, err := s.acquire(ctx, tries > 0)
		if err == nil {
			return newLocks(ctx, s.given, locks, s.numbered), nil
		}
		_, stands := errors.AsType[*UnreleasedError](err)
		if try >= tries || stands || !errors.Is(err, ErrNotAcquired) && !errors.Is(err, ErrUnavailable) || !pause(ctx, wait) {
			return nil, err
		}
	}
}

// pause sleeps between two attempts.
func pause(ctx context.Context, wait waitpolicy.Wait) bool {
	timer := time.NewTimer(wait.Pause(random.Float64(ctx)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// several is one AcquireAll.
type several struct {
	client   *Client
	cfg      settings
	given    []Key // as they were given, each once
	members  []member
	numbered bool           // there is a common ticket
	highest  waiter.Highest // that is known to have been issued
	begun    time.Time
	calls    *callback.Caller
	tried    bool // the table was asked for a lock that was not had
}

// member is one of the queues, in the order in which they are gone to.
type member struct {
	key   Key
	queue table.Queue
}

func (c *Client) prepareAll(keys []Key, wait waitpolicy.Wait, opts []Option) (*several, error) {
	if len(keys) == 0 {
		return nil, errors.New("queuelock: AcquireAll: no keys: name what is to be locked")
	}
	s := &several{client: c, numbered: c.cfg.Scope != ScopeQueue}
	seen := map[Key]bool{}
	for _, key := range keys {
		cfg, q, err := c.prepare(key, wait, opts)
		if err != nil {
			return nil, err
		}
		if cfg.placed != nil {
			return nil, errors.New("queuelock: AcquireAll: OnHandle is for Acquire: a wait for several locks cannot be resumed")
		}
		key = key.normal()
		if c.cfg.Scope == ScopeEntity && key.Entity != keys[0].Entity {
			return nil, fmt.Errorf("queuelock: AcquireAll: the keys are of the entities %q and %q, which have no common ticket with ScopeEntity: use ScopeShared", keys[0].Entity, key.Entity)
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		s.cfg = cfg
		s.given = append(s.given, key)
		s.members = append(s.members, member{key, q})
	}
	slices.SortFunc(s.members, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.key.Entity, b.key.Entity), cmp.Compare(a.key.Reason, b.key.Reason))
	})
	return s, nil
}

// quickRounds is how many numbers a caller that will not wait takes, each
// overtaken, before the locks count as busy.
const quickRounds = 5

// acquire tries until it has all locks, or until something else ends it than
// being overtaken, or losing a lock that it has.
func (s *several) acquire(ctx context.Context, noWait bool) ([]*Lock, error) {
	for number := 1; ; number++ {
		r := s.newRound(ctx, noWait)
		err, at := r.play()
		if err == nil && s.calls.Close() {
			err = callback.ErrFailed
		}
		if err == nil && context.Cause(ctx) != nil && context.Cause(ctx) != errWaitOver {
			err = ctx.Err() // served while the caller gave up
		}
		if err == nil {
			for _, lock := range r.locks {
				close(lock.given)
			}
			return r.locks, nil
		}
		undone := r.undo()
		again := errors.Is(err, waiter.ErrNewTicket) || errors.Is(err, errLostMeanwhile)
		if _, stands := errors.AsType[*UnreleasedError](undone); stands {
			return nil, errors.Join(r.failure(err, at), undone) // it would wait for itself
		}
		switch {
		case again && noWait && number >= quickRounds:
			err = waiter.ErrBusy
		case again && ctx.Err() == nil:
			s.cfg.Logger.Info("queuelock: gave several locks back, and takes a new ticket for all", "stood in the way", s.members[at].queue.String(), "cause", err, "left behind", undone)
			continue
		case again:
			err = ctx.Err()
		}
		return nil, errors.Join(r.failure(err, at), undone)
	}
}

// errLostMeanwhile says that a lock was lost while others were waited for.
var errLostMeanwhile = errors.New("a lock was lost while others were waited for")

// round is one attempt, with one number.
type round struct {
	*several
	caller context.Context
	noWait bool
	ctx    context.Context // ends with the caller's, or the first failure
	cancel context.CancelFunc
	slots  chan struct{}

	waits   sync.WaitGroup
	waiters []*waiter.Waiter // of the members gone to so far

	mu    sync.Mutex
	locks []*Lock       // guarded by mu until all is over; by member, nil: not held
	watch []func() bool // guarded by mu; each ends the watch over a lock
	err   error         // guarded by mu; the first failure
	at    int           // guarded by mu; its member
}

func (s *several) newRound(ctx context.Context, noWait bool) *round {
	r := &round{several: s, caller: ctx, noWait: noWait, slots: make(chan struct{}, sideBySide), locks: make([]*Lock, len(s.members))}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// overdue is how long after the end of ctx a round may still hold locks because
// something in it is stuck.
const overdue = 2 * time.Second

// play goes into all queues and waits in them. It returns when nothing is under
// way any more, with the first failure and its member; nil: all locks are held.
func (r *round) play() (err error, at int) {
	defer r.cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.enter(random.Fork(r.ctx))
		r.waits.Wait()
	}()
	select {
	case <-over:
	case <-r.caller.Done():
		select {
		case <-over:
		case <-time.After(overdue):
			r.letGo()
			<-over
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, w := range r.waiters {
		r.tried = r.tried || r.locks[i] == nil && w.Tried()
	}
	for _, unwatch := range r.watch {
		unwatch()
	}
	return r.err, r.at
}

// letGo fails the round and releases what it holds. undo repeats what fails.
func (r *round) letGo() {
	r.fail(0, errLostMeanwhile)
	r.mu.Lock()
	held := slices.Clone(r.locks)
	r.mu.Unlock()
	eachSideBySide(len(held), nil, func(i int) {
		if held[i] != nil {
			_ = held[i].Release(r.caller)
		}
	})
}

// enter goes from queue to queue. Where the lock is not had at once, it is waited
// for beside the others.
func (r *round) enter(ctx context.Context) {
	var t ticket.Number
	for i, m := range r.members {
		cfg := r.client.waiter(r.cfg, m.queue, r.client.progress(r.calls, r.cfg.progress, m.key, m.queue, r.begun))
		if r.numbered {
			cfg.Slots = r.slots // else it waits in one queue after the other
		}
		cfg.NoWait = r.noWait
		w := waiter.New(cfg)
		r.waiters = append(r.waiters, w)
		if i == 0 && r.numbered {
			var err error
			if t, err = w.Number(ctx, r.highest); err != nil {
				r.fail(i, err)
				return
			}
		}
		var grant waiter.Grant
		var err error
		served := true
		if r.numbered {
			grant, served, err = w.Enter(ctx, t)
			if err == nil && !served {
				err = w.AwaitRow(ctx)
			}
			if err == nil && !served && r.noWait {
				grant, err = w.Await(ctx)
				served = true
			}
		} else {
			grant, err = w.Run(ctx)
		}
		switch {
		case err != nil:
			r.fail(i, err)
			return
		case served:
			r.hold(ctx, i, grant)
		default:
			ctx := random.Fork(ctx)
			r.waits.Go(func() {
				grant, err := w.Await(ctx)
				if err != nil {
					r.fail(i, err)
					return
				}
				r.hold(ctx, i, grant)
			})
		}
	}
}

// hold keeps a lock that was granted, and ends the round if it is lost.
func (r *round) hold(ctx context.Context, i int, grant waiter.Grant) {
	lock := r.client.hold(ctx, r.members[i].key, r.cfg, r.members[i].queue, grant)
	unwatch := context.AfterFunc(lock.ctx, func() { r.fail(i, errLostMeanwhile) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.locks[i] = lock
	r.watch = append(r.watch, unwatch)
}

// fail ends the round, because of a member.
func (r *round) fail(i int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err, r.at = err, i
		r.cancel()
	}
}

// undoPatience is for how long only some of what is given back is sent at a time.
const undoPatience = 500 * time.Millisecond

// undo gives everything back: locks are released, queues are left. It returns
// when that has been done, or given up, and what could not be released.
func (r *round) undo() error {
	errs := make([]error, len(r.waiters))
	// A table that does not answer takes each its whole time: not one batch after
	// the other. None is left out, as nothing else ends a lock that fails closed.
	hurry, cancel := context.WithTimeout(context.Background(), undoPatience)
	defer cancel()
	eachSideBySide(len(r.waiters), hurry.Done(), func(i int) {
		w, lock := r.waiters[i], r.locks[i]
		switch {
		case lock != nil:
			errs[i] = r.giveBack(w, lock)
			w.Wait()
		case r.numbered:
			w.Leave(r.caller)
		}
		if orphan := w.Orphan(); orphan != nil {
			errs[i] = &UnreleasedError{Key: r.members[i].key, Ticket: orphan.Ticket, Err: orphan.Err}
		}
	})
	for _, w := range r.waiters {
		if r.highest.Ticket.Less(w.Highest().Ticket) {
			r.highest = w.Highest()
		}
	}
	return errors.Join(errs...)
}

// giveBack releases a lock that the round does not need any more. If its lease ended
// before a request got through, a lock delay would keep the queue closed, and the
// next round would wait for that too. So the removal is then tried for longer.
func (r *round) giveBack(w *waiter.Waiter, lock *Lock) error {
	err := lock.Release(r.caller)
	loss, lost := errors.AsType[*LostError](err)
	switch {
	case lock.terms.Delay == 0 && unreleased(err):
		return err
	case lock.terms.Delay == 0, err == nil, lost && loss.Cause == Evicted:
		return nil
	}
	end := lock.keeper.Deadline().Add(lock.terms.Margin + lock.terms.Delay)
	if err := w.Remove(r.caller, lock.id, end); err != nil {
		return fmt.Errorf("queuelock: %s was lost before it was returned, and may keep its queue closed for its lock delay of %v: %w", lock, lock.terms.Delay, err)
	}
	return nil
}

// failure is the error of a round that was the last.
func (r *round) failure(err error, at int) error {
	if r.caller.Err() != nil {
		at = max(0, slices.Index(r.locks, nil)) // what was waited for, not who noticed
	}
	m, last := r.members[at], waiter.Status{}
	if at < len(r.waiters) {
		last = r.waiters[at].Status()
	}
	return acquireError(r.caller, m.key, err, r.client.served(m.queue, last), last, time.Since(r.begun))
}

// eachSideBySide calls f for 0 to n-1, some at a time, and all that are left once
// hurry is closed; nil never is.
func eachSideBySide(n int, hurry <-chan struct{}, f func(i int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, sideBySide)
	for i := range n {
		select {
		case slots <- struct{}{}:
			wg.Go(func() {
				defer func() { <-slots }()
				f(i)
			})
		case <-hurry:
			wg.Go(func() { f(i) })
		}
	}
	wg.Wait()
}

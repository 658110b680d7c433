package queuelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/callback"
	"github.com/queuelock/queuelock/internal/multilock"
	"github.com/queuelock/queuelock/internal/play"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// AcquireAll acquires several locks, all or none. A repeated key is one lock. wait and ctx bound the whole, and opts,
// without OnHandle, KeepPlace, MaxWaiters and Supersede, apply to each lock. Errors are Acquire's for the key that
// failed. If one of the queues is closed for more than 2 s (HoldAtLeast), it holds nothing until that opens, once in a
// call.
//
// With a wider Config.Scope all locks have one ticket. AcquireAll waits in all queues at the same time; if it
// is overtaken or loses a lock, it gives all back and begins again. So calls never deadlock with each other.
// With ScopeEntity the keys must be of one entity.
//
// With ScopeQueue, the default, it acquires the locks one after another in the order of keys. A process that
// holds locks, and asks for more by another call, can deadlock.
func (c *Client) AcquireAll(
	ctx context.Context, keys []Key, wait waitpolicy.Wait, opts ...AcquireOption,
) (*Locks, error) {
	s, err := c.prepareAll(keys, wait, opts)
	if err != nil {
		return nil, err
	}
	acquire := acquires.Add(1)
	for _, cfg := range s.each {
		c.number(ctx, cfg, acquire)
	}
	locks, tried, err := s.try(ctx, wait)
	if s.each[0].again(ctx, tried, err) {
		locks, _, err = s.try(ctx, waitpolicy.NoWait)
	}
	return locks, s.each[s.failed].reportFailure(err)
}

// several is one AcquireAll.
type several struct {
	client *Client
	given  []Key       // as they were given, each once
	each   []*settings // by queue, in the order in which they are entered
	failed int         // the queue that was in the way last
}

func (c *Client) prepareAll(keys []Key, wait waitpolicy.Wait, opts []AcquireOption) (*several, error) {
	if len(keys) == 0 {
		return nil, errors.New("queuelock: AcquireAll: there are no keys: name what is to be locked")
	}
	s := &several{client: c}
	for _, key := range keys {
		cfg := with(c, opts)
		cfg.wait = wait
		switch err := key.prepare(c, cfg); {
		case err != nil:
			return nil, err
		case cfg.placed != nil || cfg.keep != nil:
			return nil, errors.New("queuelock: AcquireAll: OnHandle and KeepPlace are for Acquire: " +
				"a wait for several locks cannot be resumed")
		case cfg.maxWaiters != nil || cfg.supersede != nil:
			return nil, errors.New("queuelock: AcquireAll: MaxWaiters and Supersede are for Acquire: " +
				"each queue would decide alone")
		case c.cfg.Scope == ticket.ScopeEntity && key.Entity != keys[0].Entity:
			return nil, fmt.Errorf("queuelock: AcquireAll: the keys are of the entities %q and %q, "+
				"which have no common ticket with ScopeEntity: use ScopeTable", keys[0].Entity, key.Entity)
		}
		if key = keyOf(cfg.queue); !slices.Contains(s.given, key) {
			s.given = append(s.given, key)
			s.each = append(s.each, cfg)
		}
	}
	slices.SortFunc(s.each, func(a, b *settings) int {
		return cmp.Or(cmp.Compare(a.queue.Entity, b.queue.Entity), cmp.Compare(a.queue.Reason, b.queue.Reason))
	})
	return s, nil
}

// try makes one attempt. tried reports whether a request was made.
func (s *several) try(ctx context.Context, wait waitpolicy.Wait) (_ *Locks, tried bool, _ error) {
	call, err := s.client.begin(ctx, wait)
	if err != nil {
		return nil, false, err
	}
	defer call.end()
	call.calls(s.each[0])
	ctx = call.ctx
	config := multilock.Config{
		Numbered: s.each[0].Scope != ticket.ScopeQueue, FailClosed: s.each[0].failClosed, Log: s.each[0].Logger,
		Enter:   func(ctx context.Context, i int, e multilock.Entry) *play.Caller { return s.enter(ctx, call, i, e) },
		Granted: func(i int, turn *play.Lock) { s.client.granted(ctx, s.each[i], turn.Ticket(), turn.Handover()) },
		Ready: func() error {
			if call.callbacks.Close() {
				return callback.ErrFailed
			}
			if cause := s.client.over(ctx); cause != nil {
				return cmp.Or(ctx.Err(), cause) // served while the caller gave up
			}
			return nil
		},
	}
	for _, cfg := range s.each {
		config.Queues = append(config.Queues, cfg.queue)
	}
	held, err := multilock.Acquire(ctx, config, wait)
	if failed, ok := errors.AsType[*multilock.Error](err); ok {
		s.failed = failed.Queue
		return nil, failed.Tried, s.failure(ctx, failed)
	}
	locks := make([]*Lock, len(held))
	for i, turn := range held {
		locks[slices.Index(s.given, keyOf(s.each[i].queue))] = s.client.deliver(turn, s.each[i])
	}
	return newLocks(ctx, locks, config.Numbered), true, nil
}

// one is the wait of an AcquireAll in one queue.
type one struct {
	acquiring
	sees func(opens time.Time) // see multilock.Entry
}

// enter enters a queue.
func (s *several) enter(ctx context.Context, call *call, i int, e multilock.Entry) *play.Caller {
	c, cfg := s.client, s.each[i]
	wants := *c.wants(cfg, nil)
	wants.Until, wants.Wake, wants.Highest, wants.Lazy = e.Until, e.Wake, e.Highest, e.Lazy
	wants.Kind.NoWait = !e.Until.IsZero()
	if e.Placed != nil {
		wants.Kind.Common, wants.Kind.Puts, wants.Kind.Number = true, !wants.Kind.NoWait, e.Number
		wants.Saves = func(h queue.Handle) <-chan struct{} { e.Placed(h.Ticket); return nil }
	}
	o := &one{acquiring: acquiring{call: *call, caller: call.ctx, cfg: cfg, wants: &wants}, sees: e.Sees}
	return c.players.Enter(ctx, o)
}

// Progress notes until when the queue is closed.
func (o *one) Progress() func(play.Progress) {
	report, cfg, observer := o.acquiring.Progress(), o.cfg, o.client.observer
	if o.sees == nil {
		return report
	}
	return func(p play.Progress) {
		opens := time.Time{}
		if h := p.Status.Served(cfg.queue, observer); h != nil && h.Closed {
			opens = time.Now().Add(h.Remaining)
		}
		if o.sees(opens); report != nil {
			report(p)
		}
	}
}

// failure makes the error of a failed attempt, joined with what it could not undo.
func (s *several) failure(ctx context.Context, failed *multilock.Error) error {
	errs := []error{s.client.acquireError(ctx, s.each[failed.Queue], failed.Err, failed.Status)}
	for i, err := range failed.Left {
		if orphan, ok := errors.AsType[*play.Orphan](err); ok {
			err = &UnreleasedError{Key: keyOf(s.each[i].queue), Ticket: orphan.Ticket, Err: orphan.Err}
		}
		errs = append(errs, publicError(err))
	}
	return errors.Join(errs...)
}

// Locks are the locks that one AcquireAll acquired. Each is a [Lock] of its own. Methods are safe for concurrent use.
type Locks struct {
	all      []*Lock // as their keys were given
	numbered bool    // they have a common ticket

	ctx    context.Context
	cancel context.CancelCauseFunc

	mu  sync.Mutex
	end error // guarded by mu; why the first of them ended
}

func newLocks(ctx context.Context, all []*Lock, numbered bool) *Locks {
	ls := &Locks{all: all, numbered: numbered}
	inner, cancel := context.WithCancelCause(random.Fork(context.WithoutCancel(ctx)))
	ls.ctx, ls.cancel = locksContext{inner, ls}, cancel
	for _, lock := range all {
		context.AfterFunc(lock.Context(), func() { ls.finish(lock.Err()) })
	}
	return ls
}

// String prints the locks for people.
func (ls *Locks) String() string {
	var all []string
	for _, lock := range ls.all {
		all = append(all, lock.String())
	}
	return strings.Join(all, ", ")
}

// All returns the locks in the order in which their keys were given, each once.
func (ls *Locks) All() []*Lock { return slices.Clone(ls.all) }

// Ticket returns the common ticket, the fencing token of each lock. ok is false with ScopeQueue, where each
// lock has its own.
func (ls *Locks) Ticket() (t ticket.Number, ok bool) {
	if ls.numbered {
		t = ls.all[0].Ticket()
	}
	return t, ls.numbered
}

// Context returns a context like that of Lock.Context, which is cancelled when any of the locks is lost or released.
func (ls *Locks) Context() context.Context { return ls.ctx }

// Err returns nil while all of the locks are held, and then the first [*LostError] or [ErrReleased]. It reads the
// clock and makes no request.
func (ls *Locks) Err() error {
	for _, lock := range ls.all {
		if err := lock.Err(); err != nil {
			ls.finish(err)
			break
		}
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.end
}

// finish ends the context, unless it has ended before.
func (ls *Locks) finish(reason error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.end == nil {
		ls.end = reason
		ls.cancel(reason)
	}
}

// locksContext is a context whose Err reads the clock, as that of Lock.Context.
type locksContext struct {
	context.Context
	locks *Locks
}

func (c locksContext) Err() error {
	_ = c.locks.Err() // ends it, if a lease is over
	return c.Context.Err()
}

// Release releases all of the locks, whether or not some of them fail. Context is cancelled before anything is
// sent. Returns the joined errors of Lock.Release.
func (ls *Locks) Release(ctx context.Context) error {
	_ = ls.Err() // a lease that has ended is a loss, not a release
	ls.finish(ErrReleased)
	return ls.each(ctx, func(ctx context.Context, lock *Lock) error { return lock.Release(ctx) })
}

// Extend renews all of the leases now, whether or not some of them fail. Returns the joined errors of Lock.Extend.
func (ls *Locks) Extend(ctx context.Context) error {
	return ls.each(ctx, func(ctx context.Context, lock *Lock) error { return lock.Extend(ctx) })
}

// each calls f for the locks, some at a time, and joins the errors.
func (ls *Locks) each(ctx context.Context, f func(context.Context, *Lock) error) error {
	errs := make([]error, len(ls.all))
	multilock.Each(ctx, len(ls.all), nil, func(ctx context.Context, i int) { errs[i] = f(ctx, ls.all[i]) })
	return errors.Join(errs...)
}

// Transact makes the writes, all or none, only if all of the locks are still held. Errors are those of
// Lock.Transact; an [UnknownOutcomeError] has the first lock's [Key]. Items and locks together are at most 100.
func (ls *Locks) Transact(ctx context.Context, items ...types.TransactWriteItem) error {
	var held []*play.Lock
	for _, lock := range ls.all {
		held = append(held, lock.turn)
	}
	return play.Transact(ctx, held, ls.Err, items)
}

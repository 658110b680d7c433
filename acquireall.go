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
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/session"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// AcquireAll acquires several locks, all or none. A key that is given twice is one
// lock, and an empty list is an error.
//
// With a wider Config.Scope one number is the ticket in all queues. They are entered
// in the order of keys: by entity, then by reason, byte by byte. Then AcquireAll waits
// in all of them at the same time, and keeps what it is granted. If it is overtaken in
// one of them, or loses a lock while it waits for the others, it gives everything back
// and begins again with a new number. So calls never deadlock with each other. A
// process that holds locks, and asks for more by another call, can wait for itself.
//
// With ScopeEntity the keys must be of one entity. With ScopeQueue, the default, there
// is no common ticket, and the locks are acquired one after the other, in the order of
// keys. Each that is held is idle until the last is.
//
// wait and ctx bound the whole, and opts are those of each lock, as for Acquire. With
// NoWait the first lock that is busy ends the attempt. OnProgress receives the latest
// Progress of each queue. OnHandle is an error: a wait for several locks is not resumed.
//
// Errors are those of Acquire, for the key that stood in the way, or the first that was
// still waited for. Nothing of the attempt is left in the table, as for Acquire. A call
// that gives up takes up to about four seconds more if the table does not answer.
//
// Of n idle locks: n + 1 requests, one after the other; 2n + 1 and the looks if it
// is to wait in all, and another n for the claims. It looks often in at most 16 queues,
// and in the others when it has been served in those, or each few seconds.
// With ScopeQueue those of n Acquires.
func (c *Client) AcquireAll(ctx context.Context, keys []Key, wait waitpolicy.Wait, opts ...Option) (*Locks, error) {
	begun := time.Now()
	s, err := c.prepareAll(keys, wait, opts)
	if err != nil {
		return nil, err
	}
	s.begun = begun
	locks, tried, err := s.try(ctx, wait)
	if !tried && s.cfg.tooShort(ctx, begun, err) {
		locks, _, err = s.try(ctx, waitpolicy.NoWait)
	}
	return locks, err
}

// several is one AcquireAll.
type several struct {
	client   *Client
	cfg      settings
	given    []Key // as they were given, each once
	members  []member
	numbered bool // there is a common ticket
	begun    time.Time
}

// member is one of the queues, in the order in which they are entered.
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
			return nil, fmt.Errorf("queuelock: AcquireAll: the keys are of the entities %q and %q, which have no common ticket with ScopeEntity: use ScopeTable", keys[0].Entity, key.Entity)
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

// try is AcquireAll without the second attempt. tried reports whether the table was
// asked.
func (s *several) try(ctx context.Context, wait waitpolicy.Wait) (_ *Locks, tried bool, _ error) {
	ctx, end, err := s.client.begin(ctx, wait)
	if err != nil {
		return nil, true, err
	}
	defer end()
	ctx, calls := callback.New(ctx, s.client.background.Run)
	defer calls.Raise()
	held, err := multilock.Acquire(ctx, s.config(ctx, calls), wait)
	if failed, ok := errors.AsType[*multilock.Error](err); ok {
		return nil, failed.Tried, s.failure(ctx, failed)
	}
	locks := make([]*Lock, len(held))
	for i, h := range held {
		locks[i] = s.client.deliver(h.(*session.Session), s.cfg)
	}
	return newLocks(ctx, s.given, locks, s.numbered), true, nil
}

// config returns what the attempt goes by. ctx bounds it.
func (s *several) config(ctx context.Context, calls *callback.Caller) multilock.Config {
	c := multilock.Config{
		Numbered: s.numbered, Log: s.cfg.Logger,
		Hold: func(ctx context.Context, i int, grant waiter.Grant) multilock.Held {
			return s.client.hold(ctx, s.members[i].key, s.cfg, s.members[i].queue, grant)
		},
		Ready: func() error {
			if calls.Close() {
				return callback.ErrFailed
			}
			if cause := context.Cause(ctx); cause != nil && cause != errWaitOver {
				return ctx.Err() // served while the caller gave up
			}
			return nil
		},
	}
	for _, m := range s.members {
		c.Waiters = append(c.Waiters, s.client.waiter(s.cfg, m.queue, s.client.progress(calls, s.cfg.progress, m.key, m.queue, s.begun)))
	}
	return c
}

// failure is the error of an attempt that failed, and of all that is left of it.
func (s *several) failure(ctx context.Context, failed *multilock.Error) error {
	m := s.members[failed.Queue]
	errs := []error{acquireError(ctx, m.key, failed.Err, s.client.served(m.queue, failed.Status), failed.Status, time.Since(s.begun))}
	for i, err := range failed.Left {
		if orphan, ok := errors.AsType[*multilock.OrphanError](err); ok {
			err = &UnreleasedError{Key: s.members[i].key, Ticket: orphan.Ticket, Err: orphan.Err}
		}
		errs = append(errs, publicError(err))
	}
	return errors.Join(errs...)
}

// Locks are the locks that one AcquireAll acquired. Each is a Lock like any
// other, with a heartbeat of its own. Its methods are safe for concurrent use.
type Locks struct {
	all      []*Lock // as their keys were given
	byKey    map[Key]*Lock
	numbered bool

	ctx    context.Context
	cancel context.CancelCauseFunc

	mu  sync.Mutex
	end error // guarded by mu; why not all are held any more
}

func newLocks(ctx context.Context, given []Key, held []*Lock, numbered bool) *Locks {
	ls := &Locks{byKey: map[Key]*Lock{}, numbered: numbered}
	for _, lock := range held {
		ls.byKey[lock.key] = lock
	}
	for _, key := range given {
		ls.all = append(ls.all, ls.byKey[key])
	}
	inner, cancel := context.WithCancelCause(random.Fork(context.WithoutCancel(ctx)))
	ls.ctx, ls.cancel = locksContext{inner, ls}, cancel
	for _, lock := range ls.all {
		context.AfterFunc(lock.Context(), func() { ls.finish(lock.Err()) })
	}
	return ls
}

// String prints the locks for people, as they were given.
func (ls *Locks) String() string {
	var all []string
	for _, lock := range ls.all {
		all = append(all, lock.String())
	}
	return strings.Join(all, ", ")
}

// All returns the locks in the order in which their keys were given, each once.
func (ls *Locks) All() []*Lock { return append([]*Lock{}, ls.all...) }

// Get returns the lock of a key, or nil if it was not among those given.
func (ls *Locks) Get(key Key) *Lock { return ls.byKey[key.normal()] }

// Ticket is the number that all of the locks have in common, and the fencing
// token of each of them. ok is false with ScopeQueue, where each has its own.
func (ls *Locks) Ticket() (t ticket.Number, ok bool) {
	if !ls.numbered {
		return ticket.Number{}, false
	}
	return ls.all[0].Ticket(), true
}

// Context carries the values of the context given to AcquireAll, but not its
// end: it is cancelled when any of the locks is lost or released, and
// context.Cause says how. Its Err looks at the clock, as that of Lock.Context.
func (ls *Locks) Context() context.Context { return ls.ctx }

// Done is closed when any of the locks is lost or released.
func (ls *Locks) Done() <-chan struct{} { return ls.ctx.Done() }

// Err is nil while all of the locks are held. Then it is the reason why the first
// of them was not: a *LostError, or ErrReleased. It looks at the clock, and makes
// no request.
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

// finish ends the context for that reason, if no other has before.
func (ls *Locks) finish(reason error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.end == nil {
		ls.end = reason
		ls.cancel(reason)
	}
}

// locksContext is a context that ends with the first of several locks; see
// lockContext.
type locksContext struct {
	context.Context
	locks *Locks
}

func (c locksContext) Err() error {
	_ = c.locks.Err() // ends it, if a lease is over
	return c.Context.Err()
}

// Release releases all of the locks, at most 16 at a time, each tried whatever
// becomes of the others. Context is cancelled before anything is sent.
//
// nil says that all were released, by this call or earlier ones. Otherwise it
// joins the errors of Lock.Release: those that match ErrLost of locks that were
// lost before; any other of locks that may still be in the table, until their
// leases end. Then Release may be called again.
//
// Requests are those of Lock.Release, for each.
func (ls *Locks) Release(ctx context.Context) error {
	_ = ls.Err() // a lease that has run out is a loss, not a release
	ls.finish(ErrReleased)
	errs := make([]error, len(ls.all))
	multilock.Each(ctx, len(ls.all), nil, func(ctx context.Context, i int) { errs[i] = ls.all[i].Release(ctx) })
	return errors.Join(errs...)
}

// Transact makes the writes, all or none, only if all of the locks are still held
// when they are made: see Lock.Transact, whose errors it has. One request, with
// the Condition of each lock behind the items: DynamoDB takes 100 in all, so that
// of items and locks together no more are possible. Each condition costs two write
// units. In an UnknownOutcomeError, Key is the first lock's.
func (ls *Locks) Transact(ctx context.Context, items ...types.TransactWriteItem) error {
	if len(items) == 0 || len(items)+len(ls.all) > maxTransactItems+1 {
		return fmt.Errorf("queuelock: Transact: %d items beside the conditions of %d locks: one item or more, and %d in all, are possible", len(items), len(ls.all), maxTransactItems+1)
	}
	var held []*session.Session
	for _, lock := range ls.all {
		held = append(held, lock.session)
	}
	return session.Transact(ctx, held, ls.Err, items)
}

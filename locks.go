package queuelock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/multi"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/session"
	"github.com/queuelock/queuelock/ticket"
)

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
	multi.Each(len(ls.all), nil, func(i int) { errs[i] = ls.all[i].Release(ctx) })
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

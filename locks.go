package queuelock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/multilock"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/session"
	"github.com/queuelock/queuelock/ticket"
)

// Locks are the locks that one AcquireAll acquired. Each is a Lock of its own. Methods are safe for
// concurrent use.
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

// Get returns the lock of a key, or nil if the key was not given.
func (ls *Locks) Get(key Key) *Lock {
	for _, lock := range ls.all {
		if lock.Key() == key.normal() {
			return lock
		}
	}
	return nil
}

// Ticket returns the common ticket, the fencing token of each lock. ok is false with ScopeQueue, where
// each lock has its own.
func (ls *Locks) Ticket() (t ticket.Number, ok bool) {
	if ls.numbered {
		t = ls.all[0].Ticket()
	}
	return t, ls.numbered
}

// Context returns a context like that of Lock.Context, which is cancelled when any of the locks is lost or
// released.
func (ls *Locks) Context() context.Context { return ls.ctx }

// Done returns a channel that is closed when any of the locks is lost or released.
func (ls *Locks) Done() <-chan struct{} { return ls.ctx.Done() }

// Err returns nil while all of the locks are held, and then the first *LostError or ErrReleased. It reads
// the clock and makes no request.
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

// Release releases all of the locks, whether or not some of them fail. Context is cancelled before anything
// is sent. Returns the joined errors of Lock.Release.
func (ls *Locks) Release(ctx context.Context) error {
	_ = ls.Err() // a lease that has ended is a loss, not a release
	ls.finish(ErrReleased)
	errs := make([]error, len(ls.all))
	multilock.Each(ctx, len(ls.all), nil, func(ctx context.Context, i int) { errs[i] = ls.all[i].Release(ctx) })
	return errors.Join(errs...)
}

// Transact makes the writes, all or none, only if all of the locks are still held. Errors are those of
// Lock.Transact; an UnknownOutcomeError has the first lock's Key. Items and locks together are at most 100.
func (ls *Locks) Transact(ctx context.Context, items ...types.TransactWriteItem) error {
	if len(items) == 0 || len(items)+len(ls.all) > maxTransactItems+1 {
		return fmt.Errorf("queuelock: Transact: %d items beside the conditions of %d locks: "+
			"one item or more, and %d in all, are possible", len(items), len(ls.all), maxTransactItems+1)
	}
	var held []*session.Session
	for _, lock := range ls.all {
		held = append(held, lock.session)
	}
	return session.Transact(ctx, held, ls.Err, items)
}

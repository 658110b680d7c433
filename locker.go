package queuelock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/queuelock/queuelock/waitpolicy"
)

// Locker returns a sync.Locker for code that takes no other. Prefer Do: a Locker cannot report that its lock was
// lost, and gives no context and no ticket. One goroutine at a time has it, also after a loss.
//
// Lock waits in the queue, also while the table is unavailable, and panics with Acquire's error when ctx or the
// client ends, and for an invalid key or option. Unlock panics if the Locker is not locked. It drops errors of
// Release, whose lease ends what is left, and panics with an *UnreleasedError.
func (c *Client) Locker(ctx context.Context, key Key, opts ...Option) sync.Locker {
	return &locker{client: c, ctx: ctx, key: key, opts: opts, turn: make(chan struct{}, 1)}
}

type locker struct {
	client *Client
	ctx    context.Context
	key    Key
	opts   []Option
	turn   chan struct{} // has an element from Lock to Unlock
	lock   atomic.Pointer[Lock]
}

func (l *locker) Lock() {
	select {
	case l.turn <- struct{}{}:
	case <-l.ctx.Done():
		panic(fmt.Errorf("queuelock: Lock of %s: %w", l.key, context.Cause(l.ctx)))
	}
	locked := false
	defer func() {
		if !locked { // also after a panic of OnProgress or OnHandle
			<-l.turn
		}
	}()
	for {
		lock, err := l.client.Acquire(l.ctx, l.key, waitpolicy.Forever, l.opts...)
		if err == nil {
			l.lock.Store(lock)
			locked = true
			return
		}
		if !errors.Is(err, ErrUnavailable) || l.ctx.Err() != nil {
			panic(err)
		}
	}
}

func (l *locker) Unlock() {
	lock := l.lock.Swap(nil)
	if lock == nil {
		panic(fmt.Sprintf("queuelock: Unlock of %s, which is not locked", l.key))
	}
	err := lock.Release(l.ctx)
	<-l.turn
	if _, unreleased := errors.AsType[*UnreleasedError](err); unreleased {
		panic(err)
	}
}

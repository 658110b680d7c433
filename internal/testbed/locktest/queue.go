package locktest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Result is the result of a call in the background.
type Result[L any] struct {
	Lock L
	Err  error
	At   time.Time
}

// The results of Acquire, LockItem and AcquireAll.
type (
	Outcome        = Result[*queuelock.Lock]
	ItemOutcome    = Result[*queuelock.ItemLock]
	SeveralOutcome = Result[*queuelock.Locks]
)

// Background makes a call in the background.
func Background[L any](call func() (L, error)) <-chan Result[L] {
	done := make(chan Result[L], 1)
	go func() {
		lock, err := call()
		done <- Result[L]{lock, err, time.Now()}
	}()
	return done
}

// Lock returns the lock of a call that must have succeeded.
func Lock[L any](t *testing.T, of Result[L]) L {
	t.Helper()
	if of.Err != nil {
		t.Fatal(of.Err)
	}
	return of.Lock
}

// QueueUp calls Acquire in the background. In a bubble, synctest.Wait returns once
// it waits.
func QueueUp(ctx context.Context, c *queuelock.Client, wait waitpolicy.Wait, opts ...queuelock.AcquireOption) <-chan Outcome {
	return Background(func() (*queuelock.Lock, error) { return c.Acquire(ctx, Order, wait, opts...) })
}

// LockBy calls Acquire in the background and waits without limit.
func LockBy(t *testing.T, c *queuelock.Client, opts ...queuelock.AcquireOption) <-chan Outcome {
	return QueueUp(t.Context(), c, waitpolicy.Forever, opts...)
}

// Waiting calls [LockBy], and returns a second later: the call waits with its row.
func Waiting(t *testing.T, c *queuelock.Client, opts ...queuelock.AcquireOption) <-chan Outcome {
	waiting := LockBy(t, c, opts...)
	time.Sleep(time.Second) // in a bubble
	return waiting
}

// OnceItWaits returns an option of Acquire, and a channel that is closed once that
// Acquire has looked at the queue and waits with its ticket.
func OnceItWaits() (<-chan struct{}, queuelock.Option) {
	queued := make(chan struct{})
	first := sync.OnceFunc(func() { close(queued) })
	return queued, queuelock.OnProgress(func(queuelock.Progress) { first() })
}

// Granted returns the lock of an Acquire that must have succeeded by now.
func Granted[L any](t *testing.T, what string, done <-chan Result[L]) (lock L) {
	t.Helper()
	select {
	case got := <-done:
		return Lock(t, got)
	default:
		t.Fatalf("%s still waits", what)
		return lock
	}
}

// StillWaits checks that an Acquire has not returned yet.
func StillWaits[L any](t *testing.T, what string, done <-chan Result[L]) {
	t.Helper()
	select {
	case got := <-done:
		t.Fatalf("%s: %+v, want that it waits", what, got)
	default:
	}
}

// Within returns the result of an Acquire, which must return within limit.
func Within[L any](t *testing.T, what string, limit time.Duration, done <-chan Result[L]) (got Result[L]) {
	t.Helper()
	select {
	case got = <-done:
	case <-time.After(limit):
		t.Fatalf("%s has not returned after %v", what, limit)
	}
	return got
}

// Attend acquires the lock in the background and holds it for a time. The channel
// is closed after the release.
func Attend(t *testing.T, c *queuelock.Client, turn time.Duration, opts ...queuelock.AcquireOption) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		Check(t, c.Do(t.Context(), Order, waitpolicy.Forever, func(context.Context, *queuelock.Lock) error {
			time.Sleep(turn)
			return nil
		}, opts...))
	}()
	return done
}

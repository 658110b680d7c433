package locktest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Outcome is the result of an Acquire in the background.
type Outcome struct {
	Lock *queuelock.Lock
	Err  error
	At   time.Time
}

// QueueUp calls Acquire in the background. In a bubble, synctest.Wait returns once
// it waits.
func QueueUp(ctx context.Context, c *queuelock.Client, wait waitpolicy.Wait, opts ...queuelock.Option) <-chan Outcome {
	done := make(chan Outcome, 1)
	go func() {
		lock, err := c.Acquire(ctx, Order, wait, opts...)
		done <- Outcome{lock, err, time.Now()}
	}()
	return done
}

// LockBy calls Acquire in the background and waits without limit.
func LockBy(t *testing.T, c *queuelock.Client, opts ...queuelock.Option) <-chan Outcome {
	return QueueUp(t.Context(), c, waitpolicy.Forever, opts...)
}

// OnceItWaits returns an option of Acquire, and a channel that is closed once that
// Acquire has looked at the queue and waits with its ticket.
func OnceItWaits() (<-chan struct{}, queuelock.ItemOption) {
	queued := make(chan struct{})
	first := sync.OnceFunc(func() { close(queued) })
	return queued, queuelock.OnProgress(func(queuelock.Progress) { first() })
}

// Granted returns the lock of an Acquire that must have succeeded by now.
func Granted(t *testing.T, what string, done <-chan Outcome) *queuelock.Lock {
	t.Helper()
	select {
	case got := <-done:
		if got.Err != nil {
			t.Fatalf("%s: %v", what, got.Err)
		}
		return got.Lock
	default:
		t.Fatalf("%s still waits", what)
		return nil
	}
}

// StillWaits checks that an Acquire has not returned yet.
func StillWaits(t *testing.T, what string, done <-chan Outcome) {
	t.Helper()
	select {
	case got := <-done:
		t.Fatalf("%s: %+v, want that it waits", what, got)
	default:
	}
}

// Within returns the result of an Acquire, which must return within limit.
func Within(t *testing.T, what string, limit time.Duration, done <-chan Outcome) Outcome {
	t.Helper()
	select {
	case got := <-done:
		return got
	case <-time.After(limit):
		t.Fatalf("%s has not returned after %v", what, limit)
	}
	return Outcome{}
}

// Attend acquires the lock in the background and holds it for a time. The channel
// is closed after the release.
func Attend(t *testing.T, c *queuelock.Client, turn time.Duration, opts ...queuelock.Option) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := c.Do(t.Context(), Order, waitpolicy.Forever, func(context.Context, *queuelock.Lock) error {
			time.Sleep(turn)
			return nil
		}, opts...)
		if err != nil {
			t.Error(err)
		}
	}()
	return done
}

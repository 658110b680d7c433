// Package once computes a result once for all processes that ask for it at the same time, and keeps it for a while: the
// first caller computes under a lock, and the others wait and take its result.
//
// # What it promises
//
//   - While a caller computes and its lease lasts, no other one does.
//   - Callers that wait leave with the result, in any order: none is granted the lock for that.
//   - If the computing process crashes, exactly one of those that wait takes over, when its lease has ended. After an
//     error the next one computes at once: errors are not kept.
//   - A caller that comes within the ttl has the result by one read.
//
// # What it does not promise
//
// A process that was paused past its lease may compute beside the next one, as under any lock. Its result is not left:
// it returns the other one, or an error that matches [queuelock.ErrLost]. So the result is one, but the effects of the
// function may be two: fence them with the lock that the function receives.
//
// # Where the result is
//
// In the serving record of the key's queue. The write that releases the lock leaves it there, so both are made or
// neither, and a look that would show the end of the turn shows the result. As an item of its own it would need a
// transaction, or leave a gap in which the next caller is granted the lock and computes again; and each caller that
// waits would have to read that item too. The price is that each write of the record costs up to four write units more.
// So use a key for one function only.
//
// An Acquire of the same key, also by a version without this package, works beside it as at any lock. It pays for the
// size of the record, and leaves the result alone.
//
// # Time
//
// The life of a result counts on DynamoDB's clock, and is shortened by what is not known of that. A caller that has
// waited takes the result even if it is over. Without DynamoDB's dates, or with Config.ObserveExpiry, a result is
// only for callers that have waited.
//
// # One process
//
// Calls of one [queuelock.Client] for one key that overlap are one: one of them is in the queue, and the function runs
// with its arguments, with the values of its context, and in a goroutine of its own. An error or a panic of the
// function reaches all that have called before. The context of the function ends when the lock is lost, and when the
// last of these callers has left.
package once

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/oncecall"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

const (
	// MaxSize is the most bytes of a result.
	MaxSize = queue.MaxResult
	// MaxTTL is the longest life of a result. It is at most the least Config.Forget: no fresh one is forgotten.
	MaxTTL = 24 * time.Hour
)

// ErrTooLarge reports that a result has more than MaxSize bytes. It is not kept. Store it elsewhere, and return a
// pointer to it, such as the key of an object.
var ErrTooLarge = errors.New("once: the result is too large")

// Func computes a result of at most MaxSize bytes. It must return when ctx ends: the lock was lost, or no caller is
// left. The lock is for its ticket, and for transactions: Do releases it. A Func that calls Do for its own key waits
// for itself.
type Func func(ctx context.Context, lock *queuelock.Lock) ([]byte, error)

// Do returns the result of fn for the key. One that was left less than its ttl ago is returned at once. Otherwise Do
// waits for the caller that computes, or calls fn itself, and leaves the result for ttl, from 1 ms to MaxTTL. The bytes
// are the caller's own. The end of ctx ends the wait; the last caller of a process waits until fn has returned. Returns
//
//   - the error of fn, [ErrTooLarge], or an error of Release if fn has run.
//   - an error that matches [queuelock.ErrLost] if the lock was lost while fn ran, and no other result is there.
//   - [*queue.MalformedError] if another program wrote the result.
//   - the errors of Acquire otherwise, and that of ctx.
func Do(ctx context.Context, locks *queuelock.Client, key queuelock.Key, ttl time.Duration,
	fn Func, opts ...queuelock.Option) ([]byte, error) {
	switch {
	case locks == nil:
		return nil, errors.New("once: the client is nil: queuelock.New makes one")
	case fn == nil:
		return nil, errors.New("once: the function is nil")
	case ttl < time.Millisecond || ttl > MaxTTL:
		return nil, fmt.Errorf("once: the ttl is %v: between 1ms and %v are possible", ttl, MaxTTL)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("once: %s: %w", key, ctx.Err())
	}
	key.Reason = cmp.Or(key.Reason, queuelock.DefaultReason)
	f := join(ctx, flightKey{locks, key}, func(ctx context.Context, failed func()) ([]byte, error) {
		return compute(ctx, failed, locks, key, ttl, fn, opts)
	})
	select {
	case <-f.done:
	case <-ctx.Done():
		if !f.leave(context.Cause(ctx)) {
			return nil, fmt.Errorf("once: %s: no result yet: %w", key, ctx.Err())
		}
		<-f.done
	}
	return f.result()
}

// compute returns the result that another caller has left, or computes one and leaves it. It calls failed as soon as fn
// has ended without a result.
func compute(ctx context.Context, failed func(), locks *queuelock.Client, key queuelock.Key, ttl time.Duration,
	fn Func, opts []queuelock.Option) (value []byte, err error) {
	var call oncecall.Call
	all := []queuelock.AcquireOption{oncecall.Option(&call).(queuelock.AcquireOption)}
	for _, opt := range opts {
		all = append(all, opt)
	}
	computed := false
	err = locks.Do(ctx, key, waitpolicy.Forever, func(held context.Context, lock *queuelock.Lock) (err error) {
		if call.Result != nil { // it was left just before the grant
			return nil
		}
		defer func() {
			if !computed {
				failed()
			}
		}()
		if value, err = fn(held, lock); err != nil {
			return err
		}
		if len(value) > MaxSize {
			return fmt.Errorf("%w: %s: it has %d bytes, at most %d are possible: store it elsewhere, "+
				"and return a pointer to it, such as the key of an object", ErrTooLarge, key, len(value), MaxSize)
		}
		computed = true
		return call.Publish(ctx, value, ttl)
	}, all...)
	switch {
	case call.Result != nil: // whatever became of the lock, which a lease ends
		return call.Result.Value, nil
	case err == nil:
		return value, nil
	case call.Look != nil && (computed || errors.Is(err, queuelock.ErrLost)):
		// The result may be there: its own, although the write was not answered, or that of the caller which took over.
		if found, lookErr := call.Look(ctx); lookErr == nil && found != nil {
			return found.Value, nil
		}
	}
	return nil, err
}

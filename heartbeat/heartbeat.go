package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/random"
)

// ErrStopped is what Extend returns once Stop was called.
var ErrStopped = errors.New("the lease is not kept any more")

// ErrEvicted is what a Renew returns when the table says that the lease was removed.
// The lease is lost at once.
var ErrEvicted = errors.New("the lease was removed by another client")

// Cause says how a lease was lost.
type Cause int

// The causes.
const (
	Evicted Cause = iota + 1
	Expired
	Unreachable
)

func (c Cause) String() string {
	if c < Evicted || c > Unreachable {
		return fmt.Sprintf("heartbeat.Cause(%d)", int(c))
	}
	return [...]string{"evicted", "expired", "unreachable"}[c-Evicted]
}

// LossError says that a lease was lost, and how.
type LossError struct {
	Cause Cause
	Err   error // the last renewal's error, if one failed
}

func (e *LossError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("lease lost (%s): %v", e.Cause, e.Err)
	}
	return fmt.Sprintf("lease lost (%s)", e.Cause)
}

func (e *LossError) Unwrap() error { return e.Err }

// Renew renews the lease once, and must return when ctx ends. nil says that the lease
// has its full length from before the call, and ErrEvicted that it is lost. Any other
// error is retried.
type Renew func(ctx context.Context) error

// Config is the rhythm of a Keeper. TTL and Interval are required, and so is Margin for
// a lease with an end.
type Config struct {
	TTL      time.Duration // length of the lease
	Interval time.Duration // from a renewal to the next; less than TTL
	Margin   time.Duration // the deadline is TTL less Margin after the last renewal
	First    time.Duration // from the start to the first renewal; zero: at once
	Spread   float64       // a renewal comes earlier by up to this part of its wait, at random; zero: none
	Warnings []Warning     // of a deadline that comes near
	// Endless says that the lease has no end. Margin and Warnings are not used then,
	// and TTL sets only the rhythm of retries.
	Endless bool
}

// Keeper keeps one lease. Its methods are safe for concurrent use.
type Keeper struct {
	config  Config
	renew   Renew
	cancel  context.CancelFunc
	asks    chan chan error // of Extend
	lost    chan struct{}
	stopped <-chan struct{} // Stop was called, or the lease was lost
	ended   chan struct{}   // the goroutine has returned
	pause   time.Duration   // after the last failure; used by the goroutine only

	mu       sync.Mutex
	deadline time.Time // guarded by mu
	warnings []warning // guarded by mu; none after Stop
	failed   error     // guarded by mu; the last attempt's error since the last renewal
	busy     bool      // guarded by mu, changed by the goroutine; an attempt is under way
	loss     error     // guarded by mu
}

// Start begins to keep a lease that was taken or renewed by a request sent at that
// instant. It starts one goroutine, and one for each attempt, which end with Stop or
// the loss. ctx carries values to Renew; its end does not end the lease.
func Start(ctx context.Context, sent time.Time, c Config, renew Renew) *Keeper {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k := &Keeper{
		config: c, renew: renew, cancel: cancel,
		asks: make(chan chan error), lost: make(chan struct{}), stopped: ctx.Done(), ended: make(chan struct{}),
	}
	if !c.Endless {
		k.deadline = sent.Add(c.TTL - c.Margin)
		for _, w := range c.Warnings {
			k.warnings = append(k.warnings, warning{Warning: w})
		}
	}
	go k.run(ctx, sent)
	return k
}

// Lost returns a channel that is closed when the lease is lost. Err then says how.
func (k *Keeper) Lost() <-chan struct{} { return k.lost }

// Err returns nil while the lease is kept, and the *LossError once it is lost. It does
// not read the clock; see Check.
func (k *Keeper) Err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.loss
}

// Deadline returns when the lease is lost unless it is renewed; zero if it has no end.
func (k *Keeper) Deadline() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.deadline
}

// Check returns Err after reading the clock, so that a process that was paused past the
// deadline reports the loss at once.
func (k *Keeper) Check() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.loss != nil || k.config.Endless {
		return k.loss
	}
	now := time.Now()
	k.warn(now)
	if !now.Before(k.deadline) {
		loss := &LossError{Cause: Expired}
		if k.failed != nil || k.busy {
			loss = &LossError{Cause: Unreachable, Err: k.failed}
		}
		k.lose(loss)
	}
	return k.loss
}

// Stop ends the renewals and the warnings, and waits for the renewal under way. It does
// not end the lease. Lost is closed only by Check from then on. Calling it again is
// safe.
func (k *Keeper) Stop() {
	k.mu.Lock()
	k.warnings = nil
	k.mu.Unlock()
	k.cancel()
	<-k.ended
}

// Extend renews the lease now by one renewal, sent after the call and after the answer
// of one under way. Concurrent calls share one. The next renewal counts from it. If ctx
// ends first, the renewal is made all the same. Returns
//
//   - ctx's error, or ErrStopped after Stop.
//   - *LossError if the lease is lost.
//   - any other error of the renewal, which is retried. The lease is as before.
func (k *Keeper) Extend(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	answer := make(chan error, 1)
	select {
	case k.asks <- answer:
	case <-k.stopped:
	case <-ctx.Done():
	}
	var err error
	select {
	case err = <-answer:
	case <-k.stopped:
		err = ErrStopped
	case <-ctx.Done():
		err = ctx.Err()
	}
	if loss := k.Check(); loss != nil {
		return loss
	}
	return err
}

// lose reports the loss. It is called once, and k.mu is held.
func (k *Keeper) lose(loss *LossError) {
	k.loss = loss
	close(k.lost)
}

// run waits for the next attempt, a call of Extend, an answer, a warning or the deadline.
func (k *Keeper) run(ctx context.Context, sent time.Time) {
	defer close(k.ended)
	attempt := time.NewTimer(time.Until(sent.Add(k.early(ctx, k.config.First))))
	defer attempt.Stop()
	alarm := time.NewTimer(k.untilAlarm())
	defer alarm.Stop()
	answers := make(chan answer, 1)
	var asked []chan error // calls of Extend for the next attempt
	send := func() {
		// The deadline may have passed if the process was paused.
		if k.Check() != nil {
			return
		}
		attempt.Stop()
		k.mu.Lock()
		k.busy = true
		k.mu.Unlock()
		calls := asked
		asked = nil
		go func() { answers <- k.attempt(ctx, calls) }()
	}
	for {
		select {
		case <-ctx.Done():
			if k.busy {
				<-answers // so that nothing is sent after Stop
			}
			return
		case <-k.lost: // by Check
			k.cancel()
		case <-alarm.C:
			if ctx.Err() == nil {
				_ = k.Check()
			}
			alarm.Reset(k.untilAlarm())
		case <-attempt.C:
			send()
		case call := <-k.asks:
			if asked = append(asked, call); !k.busy {
				send()
			}
		case a := <-answers:
			next, kept := k.settle(ctx, a)
			a.pass(kept)
			if !kept {
				continue
			}
			if len(asked) > 0 {
				send()
			} else {
				attempt.Reset(next)
			}
			alarm.Reset(k.untilAlarm())
		}
	}
}

// answer is the result of an attempt that was sent at that instant.
type answer struct {
	sent  time.Time
	err   error
	calls []chan error // of Extend, that wait for it
}

// attempt renews once, at most until the deadline.
func (k *Keeper) attempt(ctx context.Context, calls []chan error) answer {
	sent := time.Now()
	if !k.config.Endless {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, k.Deadline())
		defer cancel()
	}
	return answer{sent, k.renew(ctx), calls}
}

// pass passes the answer on to the calls of Extend. kept says that the lease is still kept.
func (a answer) pass(kept bool) {
	if a.err == nil && !kept {
		a.err = ErrStopped // or lost: its answer came too late
	}
	for _, call := range a.calls {
		call <- a.err
	}
}

// settle applies an answer, and returns the time until the next attempt, or false if
// the lease is lost or no longer kept.
func (k *Keeper) settle(ctx context.Context, a answer) (next time.Duration, kept bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.busy = false
	if k.loss != nil || ctx.Err() != nil {
		return 0, false
	}
	k.warn(time.Now()) // a process that was paused is warned even if this answer renews the lease
	switch {
	case a.err == nil:
		// An answer after the deadline counts if the timer has not fired yet: the new
		// deadline is taken from the time at which the renewal was sent.
		k.failed, k.pause = nil, 0
		if !k.config.Endless {
			k.deadline = a.sent.Add(k.config.TTL - k.config.Margin)
		}
		return time.Until(a.sent.Add(k.early(ctx, k.config.Interval))), true
	case errors.Is(a.err, ErrEvicted):
		k.lose(&LossError{Cause: Evicted, Err: a.err})
		return 0, false
	}
	k.failed = a.err
	return k.soon(ctx), true
}

// early shortens a wait at random, so that leases taken together are not renewed together.
func (k *Keeper) early(ctx context.Context, wait time.Duration) time.Duration {
	return wait - time.Duration(float64(wait)*k.config.Spread*random.Float64(ctx))
}

// soon returns the time until the next attempt after a failure: short at first, and for
// some twenty in half a lease. Without an end the attempts slow down to the interval.
func (k *Keeper) soon(ctx context.Context) time.Duration {
	longest := k.config.TTL / 40
	if k.config.Endless {
		longest = k.config.Interval
	}
	if k.pause == 0 {
		k.pause = k.config.TTL / 200
	} else {
		k.pause = min(2*k.pause, longest)
	}
	return random.Around(ctx, k.pause)
}

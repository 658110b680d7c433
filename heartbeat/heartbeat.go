package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/queuelock/queuelock/internal/random"
)

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
	switch c {
	case Evicted:
		return "evicted"
	case Expired:
		return "expired"
	case Unreachable:
		return "unreachable"
	}
	return fmt.Sprintf("heartbeat.Cause(%d)", int(c))
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

	mu       sync.Mutex
	deadline time.Time // guarded by mu
	warnings []warning // guarded by mu; none after Stop
	failed   error     // guarded by mu; the last attempt's error since the last renewal
	busy     bool      // guarded by mu; an attempt is under way
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
	k.look()
	return k.loss
}

// look gives the warnings that are due, and declares the loss if the deadline has
// passed. k.mu is held.
func (k *Keeper) look() {
	if k.loss != nil || k.config.Endless {
		return
	}
	now := time.Now()
	k.warn(now)
	if !now.Before(k.deadline) {
		k.lose(k.missed())
	}
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

// missed returns the loss of a deadline that passed. k.mu is held.
func (k *Keeper) missed() *LossError {
	if k.failed != nil || k.busy {
		return &LossError{Cause: Unreachable, Err: k.failed}
	}
	return &LossError{Cause: Expired}
}

// lose reports the loss once. k.mu is held.
func (k *Keeper) lose(loss *LossError) {
	if k.loss == nil {
		k.loss = loss
		close(k.lost)
	}
}

// run waits for the next attempt, a call of Extend, an answer, a warning or the
// deadline.
func (k *Keeper) run(ctx context.Context, sent time.Time) {
	defer close(k.ended)
	attempt := time.NewTimer(time.Until(sent.Add(k.early(ctx, k.config.First))))
	defer attempt.Stop()
	alarm := time.NewTimer(k.untilAlarm())
	defer alarm.Stop()
	retry := k.retries()
	answers := make(chan answer, 1)
	var asked askers
	send := func() {
		// The deadline may have passed if the process was paused.
		if k.Check() != nil {
			return
		}
		attempt.Stop()
		asked.send()
		k.mu.Lock()
		k.busy = true
		k.mu.Unlock()
		go func() { answers <- k.attempt(ctx) }()
	}
	for {
		select {
		case <-ctx.Done():
			k.drain(answers)
			return
		case <-k.lost: // by Check
			k.cancel()
		case <-alarm.C:
			k.mu.Lock()
			if ctx.Err() == nil {
				k.look()
			}
			k.mu.Unlock()
			alarm.Reset(k.untilAlarm())
		case <-attempt.C:
			send()
		case ask := <-k.asks:
			if asked.ask(ask) {
				send()
			}
		case a := <-answers:
			next, ok := k.settle(ctx, a, retry)
			again := asked.answer(a.err, ok)
			switch {
			case !ok:
			case again:
				send()
			default:
				attempt.Reset(next)
			}
			if ok {
				alarm.Reset(k.untilAlarm())
			}
		}
	}
}

// answer is the result of an attempt that was sent at that instant.
type answer struct {
	sent time.Time
	err  error
}

// attempt renews once, at most until the deadline.
func (k *Keeper) attempt(ctx context.Context) answer {
	a := answer{sent: time.Now()}
	if !k.config.Endless {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, k.Deadline())
		defer cancel()
	}
	a.err = k.renew(ctx)
	return a
}

// settle applies an answer, and returns the time until the next attempt, or false if
// the lease is lost or no longer kept.
func (k *Keeper) settle(ctx context.Context, a answer, retry *backoff.ExponentialBackOff) (time.Duration, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.busy = false
	if k.loss == nil && ctx.Err() == nil {
		// A process that was paused is warned even if this answer renews the lease.
		k.warn(time.Now())
	}
	switch {
	case k.loss != nil || ctx.Err() != nil:
		return 0, false
	case a.err == nil:
		// An answer after the deadline counts if the timer has not fired yet: the new
		// deadline is taken from the time at which the renewal was sent.
		k.failed = nil
		if !k.config.Endless {
			k.deadline = a.sent.Add(k.config.TTL - k.config.Margin)
		}
		retry.Reset()
		return time.Until(a.sent.Add(k.early(ctx, k.config.Interval))), true
	case errors.Is(a.err, ErrEvicted):
		k.lose(&LossError{Cause: Evicted, Err: a.err})
		return 0, false
	}
	k.failed = a.err
	return random.Around(ctx, retry.NextBackOff()), true
}

// early shortens a wait at random, so that leases taken together are not renewed
// together.
func (k *Keeper) early(ctx context.Context, wait time.Duration) time.Duration {
	if k.config.Spread == 0 {
		return wait
	}
	return wait - time.Duration(float64(wait)*k.config.Spread*random.Float64(ctx))
}

// drain waits for the attempt under way, so that nothing is sent after Stop.
func (k *Keeper) drain(answers <-chan answer) {
	k.mu.Lock()
	busy := k.busy
	k.mu.Unlock()
	if busy {
		<-answers
	}
}

// retries returns the schedule of attempts after a failure: quick at first, and some
// twenty in half a lease. Without an end they slow down to the interval.
func (k *Keeper) retries() *backoff.ExponentialBackOff {
	slowest := k.config.TTL / 40
	if k.config.Endless {
		slowest = k.config.Interval
	}
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(k.config.TTL/200),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(slowest),
		backoff.WithMaxElapsedTime(0),
		backoff.WithRandomizationFactor(0), // settle does that
	)
}

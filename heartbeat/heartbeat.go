package heartbeat

import (
	"cmp"
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
	// Evicted: another client evicted the holder after its lease had ended, or an operator did.
	Evicted Cause = iota + 1
	// Expired: the lease ended on the process's own clock and no renewal had failed: the process was paused, or
	// sends no heartbeats.
	Expired
	// Unreachable: the lease ended because renewals failed or hung.
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

// Config is the rhythm of a Keeper. TTL is required, and so is Margin for a lease with an
// end.
type Config struct {
	TTL      time.Duration // length of the lease
	Interval time.Duration // from a renewal to the next; less than TTL; zero: only Extend renews
	Margin   time.Duration // the deadline is TTL less Margin after the last renewal
	First    time.Duration // from the start to the first renewal; zero: at once
	Deadline time.Time     // of the lease as it was taken, if that is not TTL less Margin after the start; zero: it is
	Spread   float64       // a renewal comes earlier by up to this part of its wait, at random; zero: none
	Warnings []Warning     // of a deadline that comes near
	// Endless says that the lease has no end. Margin and Warnings are not used then,
	// and TTL sets only the rhythm of retries.
	Endless bool
	// OnLoss is called once, when the lease is lost, after Lost is closed. It must return at
	// once, and must not call the Keeper. Optional.
	OnLoss func(*LossError)
}

// Keeper keeps one lease. Its methods are safe for concurrent use.
type Keeper struct {
	config Config
	renew  Renew
	ctx    context.Context // ends with Stop or the loss; cancelled under mu
	cancel context.CancelFunc
	lost   chan struct{}

	// mu guards the fields below. It is not held during a renewal.
	mu       sync.Mutex
	next     *time.Timer // makes the renewal that is due
	due      time.Time   // of next
	alarm    *time.Timer // at a warning or the deadline; nil if the lease has no end
	deadline time.Time
	warnings []warning // none after Stop
	current  *renewal  // under way; nil: none
	asked    *renewal  // of Extend, to follow; nil: none
	failure  struct {
		err   error         // of the last renewal since the last success
		pause time.Duration // after it
	}
	loss error
}

// renewal is one call of Renew.
type renewal struct {
	done chan struct{} // closed when it has returned
	err  error         // set before
}

// Start begins to keep a lease that was taken or renewed by a request sent at that
// instant. Each renewal has a goroutine, and there is none in between. Timers end with
// Stop or the loss. ctx carries values to Renew; its end does not end the lease.
func Start(ctx context.Context, sent time.Time, c Config, renew Renew) *Keeper {
	k := &Keeper{config: c, renew: renew, lost: make(chan struct{})}
	k.ctx, k.cancel = context.WithCancel(random.Fork(context.WithoutCancel(ctx)))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.due = sent.Add(k.early(c.First))
	k.next = time.AfterFunc(time.Until(k.due), k.run)
	if c.Endless {
		return k
	}
	k.deadline = cmp.Or(c.Deadline, sent.Add(c.TTL-c.Margin))
	for _, w := range c.Warnings {
		k.warnings = append(k.warnings, warning{Warning: w})
	}
	k.alarm = time.AfterFunc(k.untilAlarm(), k.ring)
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
	return k.check()
}

// Stop ends the renewals and the warnings, and waits for the renewal under way. It does
// not end the lease. Lost is closed only by Check from then on. Calling it again is
// safe.
func (k *Keeper) Stop() {
	k.mu.Lock()
	k.warnings = nil
	k.end()
	last := k.current
	k.mu.Unlock()
	if last != nil {
		<-last.done
	}
}

// Extend renews the lease now by one renewal, sent after the call and after the answer
// of one under way. Concurrent calls share one. The next renewal counts from it. If ctx
// ends first, the renewal is made all the same. Returns
//
//   - ctx's error, or ErrStopped after Stop.
//   - *LossError if the lease is lost.
//   - any other error of the renewal, which is retried unless Interval is zero. The
//     lease is as before.
func (k *Keeper) Extend(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	k.mu.Lock()
	if k.asked == nil {
		k.asked = &renewal{done: make(chan struct{})}
		go k.run()
	}
	mine := k.asked
	k.mu.Unlock()
	var err error
	select {
	case <-mine.done:
		err = mine.err
	case <-k.ctx.Done():
		err = ErrStopped
	case <-ctx.Done():
		err = ctx.Err()
	}
	if loss := k.Check(); loss != nil {
		return loss
	}
	return err
}

// The functions below are called with k.mu held, except run, ring and send.

// check is Check.
func (k *Keeper) check() error {
	if k.loss != nil || k.config.Endless {
		return k.loss
	}
	now := time.Now()
	k.warn(now)
	if !now.Before(k.deadline) {
		loss := &LossError{Cause: Expired}
		if k.failure.err != nil || k.current != nil {
			loss = &LossError{Cause: Unreachable, Err: k.failure.err}
		}
		k.lose(loss)
	}
	return k.loss
}

// lose reports the loss. It is called once.
func (k *Keeper) lose(loss *LossError) {
	k.loss = loss
	k.end()
	close(k.lost)
	if k.config.OnLoss != nil {
		k.config.OnLoss(loss)
	}
}

// end ends the renewals and the timers.
func (k *Keeper) end() {
	k.cancel()
	k.next.Stop()
	if k.alarm != nil {
		k.alarm.Stop()
	}
}

// kept reports whether the lease is still to be kept. It reads the clock: the deadline may
// have passed if the process was paused.
func (k *Keeper) kept() bool { return k.ctx.Err() == nil && k.check() == nil }

// ring gives the warnings that are due, and reports the loss at the deadline.
func (k *Keeper) ring() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept() {
		k.alarm.Reset(k.untilAlarm())
	}
}

// run makes the renewals that are due or asked for, one by one, unless another run does.
func (k *Keeper) run() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current != nil {
		return
	}
	for k.kept() {
		switch wait := time.Until(k.due); {
		case k.asked != nil:
			k.current, k.asked = k.asked, nil
		case k.config.Interval == 0:
			return
		case wait > 0:
			k.next.Reset(wait)
			return
		default:
			k.current = &renewal{done: make(chan struct{})}
		}
		k.next.Stop()
		sent, r, deadline := time.Now(), k.current, k.deadline
		k.mu.Unlock()
		err := k.send(deadline)
		k.mu.Lock()
		k.current = nil
		if r.err = err; !k.settle(sent, err) && err == nil {
			r.err = ErrStopped // or lost: its answer came too late
		}
		close(r.done)
	}
}

// send renews once, at most until the deadline.
func (k *Keeper) send(deadline time.Time) error {
	if k.config.Endless {
		return k.renew(k.ctx)
	}
	ctx, cancel := context.WithDeadline(k.ctx, deadline)
	defer cancel()
	return k.renew(ctx)
}

// settle applies the answer to a renewal that was sent at that instant, and reports whether
// the lease is still kept.
func (k *Keeper) settle(sent time.Time, err error) (kept bool) {
	if k.ctx.Err() != nil {
		return false
	}
	k.warn(time.Now()) // a process that was paused is warned even if this answer renews the lease
	switch {
	case err == nil:
		// An answer after the deadline counts if the timer has not fired yet: the new
		// deadline is taken from the time at which the renewal was sent.
		k.failure.err, k.failure.pause = nil, 0
		k.due = sent.Add(k.early(k.config.Interval))
		if !k.config.Endless {
			k.deadline = sent.Add(k.config.TTL - k.config.Margin)
			k.alarm.Reset(k.untilAlarm())
		}
	case errors.Is(err, ErrEvicted):
		k.lose(&LossError{Cause: Evicted, Err: err})
		return false
	default:
		// One that the deadline has cut short says less than the failure before it.
		if k.failure.err == nil || k.config.Endless || time.Now().Before(k.deadline) {
			k.failure.err = err
		}
		k.due = time.Now().Add(k.soon())
	}
	return true
}

// early shortens a wait at random, so that leases taken together are not renewed together.
func (k *Keeper) early(wait time.Duration) time.Duration {
	return wait - time.Duration(float64(wait)*k.config.Spread*random.Float64(k.ctx))
}

// soon returns the time until the next attempt after a failure: short at first, and for
// some twenty in half a lease. Without an end the attempts slow down to the interval.
func (k *Keeper) soon() time.Duration {
	longest := k.config.TTL / 40
	if k.config.Endless {
		longest = k.config.Interval
	}
	if k.failure.pause == 0 {
		k.failure.pause = k.config.TTL / 200
	} else {
		k.failure.pause = min(2*k.failure.pause, longest)
	}
	return random.Around(k.ctx, k.failure.pause)
}

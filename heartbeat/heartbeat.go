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

// ErrEvicted is what a [Renew] returns when the table says that the lease was removed. The lease is lost at once.
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

// Renew renews the lease once, and must return when ctx ends. nil says that the lease has its full length from before
// the call, and [ErrEvicted] that it is lost. Any other error is retried.
type Renew func(ctx context.Context) error

// Config is the rhythm of a [Keeper]. TTL is required, and so is Margin for a lease with an end.
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
	renew   Renew
	ctx     context.Context // carries values
	lost    chan struct{}
	sending sync.WaitGroup // the goroutine of the renewal under way

	// mu guards the fields below. It is not held during a renewal.
	mu      sync.Mutex
	machine machine
	timer   *time.Timer // makes the step that is due
	armed   time.Time   // when it fires; zero: it has fired, or is stopped
	current *renewal    // under way; nil: none
	asked   *renewal    // of Extend, to follow; nil: none
}

// renewal is one call of Renew.
type renewal struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when it has returned, or the lease is not kept any more
	err    error         // set before
}

// Start begins to keep a lease that was taken or renewed by a request sent at that
// instant. Each renewal has a goroutine, and there is none in between. The timer ends with
// Stop or the loss. ctx carries values to [Renew]; its end does not end the lease.
func Start(ctx context.Context, sent time.Time, c Config, renew Renew) *Keeper {
	k := &Keeper{renew: renew, ctx: random.Fork(context.WithoutCancel(ctx)), lost: make(chan struct{})}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.machine = begin(sent, c, k.random)
	k.arm()
	return k
}

// Lost returns a channel that is closed when the lease is lost. Err then says how.
func (k *Keeper) Lost() <-chan struct{} { return k.lost }

// Err returns nil while the lease is kept, and the [*LossError] once it is lost. It does not read the clock; see Check.
func (k *Keeper) Err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err()
}

// Deadline returns when the lease is lost unless it is renewed; zero if it has no end.
func (k *Keeper) Deadline() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.machine.deadline
}

// Due returns when the next renewal is to be sent, if none is under way.
func (k *Keeper) Due() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.machine.due
}

// Check returns Err after reading the clock, so that a process that was paused past the
// deadline reports the loss at once.
func (k *Keeper) Check() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.follow(k.machine.step(time.Now()))
	return k.err()
}

// Stop ends the renewals and the warnings, and waits for the renewal under way. It does not end the lease. Lost is
// closed only by Check from then on. Calling it again is safe.
func (k *Keeper) Stop() {
	k.mu.Lock()
	k.machine.stop()
	k.follow(todo{})
	k.mu.Unlock()
	k.sending.Wait()
}

// Extend renews the lease now by one renewal, sent after the call and after the answer of one under way. Concurrent
// calls share one. The next renewal counts from it. If ctx ends first, the renewal is made all the same. Returns
//
//   - ctx's error, or [ErrStopped] after Stop.
//   - [*LossError] if the lease is lost.
//   - any other error of the renewal, which is retried unless Interval is zero. The lease is as before.
func (k *Keeper) Extend(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	k.mu.Lock()
	if k.asked == nil {
		k.asked = newRenewal()
	}
	mine := k.asked
	k.follow(k.machine.extend(time.Now()))
	k.mu.Unlock()
	var err error
	select {
	case <-mine.done:
		err = mine.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	return cmp.Or(k.Check(), err)
}

func newRenewal() *renewal { return &renewal{done: make(chan struct{})} }

func (r *renewal) end(err error) {
	r.err = err
	close(r.done)
}

// The functions below are called with k.mu held, except ring, send and random.

func (k *Keeper) err() error {
	if k.machine.loss == nil {
		return nil
	}
	return k.machine.loss
}

// follow does what follows from a step.
func (k *Keeper) follow(do todo) {
	for _, w := range do.warn {
		w.Func()
	}
	if k.machine.over() {
		k.end()
	}
	if do.lost {
		close(k.lost)
		if report := k.machine.config.OnLoss; report != nil {
			report(k.machine.loss)
		}
	}
	if do.renew {
		if k.asked == nil {
			k.asked = newRenewal()
		}
		r, ctx := k.asked, k.ctx
		k.current, k.asked = r, nil
		if deadline := k.machine.deadline; deadline.IsZero() {
			ctx, r.cancel = context.WithCancel(ctx)
		} else {
			ctx, r.cancel = context.WithDeadline(ctx, deadline)
		}
		k.sending.Go(func() { k.send(ctx, r) })
	}
	k.arm()
}

// end ends the renewal under way, and the calls of Extend that wait.
func (k *Keeper) end() {
	if k.current != nil {
		k.current.cancel()
		k.current.end(ErrStopped)
	}
	if k.asked != nil {
		k.asked.end(ErrStopped)
	}
	k.current, k.asked = nil, nil
}

// arm sets the timer.
func (k *Keeper) arm() {
	switch at := k.machine.wake(); {
	case at.Equal(k.armed):
	case at.IsZero():
		k.timer.Stop()
		k.armed = at
	case k.timer == nil:
		k.timer, k.armed = time.AfterFunc(time.Until(at), k.ring), at
	default:
		k.timer.Reset(time.Until(at))
		k.armed = at
	}
}

// ring is the timer's step. It may come late, after the timer was set again, or after Stop.
func (k *Keeper) ring() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.armed = time.Time{}
	if !k.machine.over() {
		k.follow(k.machine.step(time.Now()))
	}
}

// send makes one renewal.
func (k *Keeper) send(ctx context.Context, r *renewal) {
	err := k.renew(ctx)
	r.cancel()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current == r {
		k.current = nil
		r.end(err)
	}
	k.follow(k.machine.answer(time.Now(), err, k.random))
}

func (k *Keeper) random() float64 { return random.Float64(k.ctx) }

package handover

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Terms are how a waiter rests.
type Terms struct {
	// Offer returns the entry by which a release of this client may pass the lock to the waiter, which rests meanwhile; false:
	// it may not. It is called in another goroutine. Nil: none may.
	Offer    func() (entry queue.Entry, ok bool)
	Failed   <-chan struct{} // ends a rest when it is closed
	Pace     *waitpolicy.Pace
	Schedule *waitpolicy.Schedule
}

// answerGrace is how long the answer of a release is awaited after the waiter's context has ended.
const answerGrace = time.Second

// Rest waits for d, or until it gets one of the slots. A signal ends it too, or a hint, if the pace says so. mean is that of
// recent turns. woken reports that a turn has probably ended, or that the waiter has become the first of its client. passed is
// what has become of a release that has tried to pass the lock; nil: none has.
func (w *Waiter) Rest(ctx context.Context, d, mean time.Duration, slots chan<- struct{}) (woken, slot bool, passed queue.Event) {
	w.offers()
	for until, over := time.Now().Add(d), false; !over; {
		w.Touch() // the schedule may exceed Slowest
		timer := time.NewTimer(min(time.Until(until), w.Terms.Schedule.Slowest))
		select {
		case <-timer.C:
		case <-w.wake:
			w.woken, woken, over = true, true, true
		case <-w.hint:
			until = w.heed(ctx, mean, until)
		case slots <- struct{}{}:
			slot, over = true, true
		case <-w.Terms.Failed:
			over = true
		case <-ctx.Done():
			over = true
		}
		timer.Stop()
		over = over || !time.Now().Before(until)
	}
	w.Touch()
	return woken || w.heard.Came > 0 && w.heard.Early == 0 && w.trusts(), slot, w.withdraw(ctx)
}

// offers begins the offer, unless a release has passed the lock by the row.
func (w *Waiter) offers() {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	w.offering = w.passed == nil && w.Terms.Offer != nil
}

// withdraw ends the offer. If a release has taken it, its answer is awaited, and returned.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (w *Waiter) withdraw(ctx context.Context) queue.Event {
	w.lines.mu.Lock()
	passed := w.passed
	w.offering, w.passed = false, nil
	w.lines.mu.Unlock()
	if passed == nil {
		return nil
	}
	w.woken = true
	ctx, cancel := retry.Outlive(ctx, answerGrace)
	defer cancel()
	select {
	case answer := <-passed:
		return answer
	case <-ctx.Done():
		return queue.Passed{Reply: queue.ReplyUnknown}
	}
}

//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (w *Waiter) trusts() bool { return w.Hints().Trust >= 0 }

// heed takes a hint, and returns when the rest ends, at the latest at until.
//
//go:noinline // the same
func (w *Waiter) heed(ctx context.Context, mean time.Duration, until time.Time) time.Time {
	w.heard.Came++
	w.heard.Last = time.Now()
	at, heeded := w.Terms.Pace.Heed(*w.Terms.Schedule, w.Hints(), mean, until, func() float64 { return random.Float64(ctx) })
	w.heeded = w.heeded || heeded && w.heard.Early == 0
	return at
}

package waiter

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/queue"
)

// rest waits until it is time to act again: to look, or to guess if no waiter can be ahead and the turn has ended, or
// should have.
func (p *player) rest(ctx context.Context) (queue.Event, error) {
	p.sight.report()
	d, slots := p.sight.delay(ctx, p.turn.slot)
	why, err := p.sleep(ctx, d, slots)
	return p.rested(ctx, why, err)
}

// rested returns what a rest has come to.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (p *player) rested(ctx context.Context, why waking, err error) (queue.Event, error) {
	if passed := p.passed(ctx); passed != nil {
		return passed, nil
	}
	if err != nil {
		return nil, err
	}
	guess := p.wait.Next() && !p.sight.expected() && (why == woken || p.sight.mayHaveEnded())
	return queue.Rested{Guess: guess}, nil
}

// waking is why a sleep has ended.
type waking int

const (
	overslept waking = iota // its time is over, or it has got a slot
	woken                   // a turn has probably ended, or the waiter has become the first of its client
)

// sleep waits for d, or until it gets one of the slots. Meanwhile a release of this client may pass the lock.
func (p *player) sleep(ctx context.Context, d time.Duration, slots chan<- struct{}) (why waking, err error) {
	t := &p.turn
	p.offer()
	for until, over := time.Now().Add(d), false; !over; {
		p.turn.touch() // the schedule may exceed Slowest
		timer := time.NewTimer(min(time.Until(until), p.cfg.Schedule.Slowest))
		select {
		case <-timer.C:
		case <-t.local.Woken():
			p.sight.turn.woken, why, over = true, woken, true
		case <-t.local.Hinted():
			until = p.sight.heed(ctx, until)
		case slots <- struct{}{}:
			t.slot, over = true, true
		case <-t.place.failed:
			err, over = t.place.err, true
		case <-ctx.Done():
			err, over = ctx.Err(), true
		}
		timer.Stop()
		over = over || !time.Now().Before(until)
	}
	if err != nil {
		return why, err
	}
	p.turn.touch()
	p.series.Reset() // the retry timeout is for failures, not for waiting
	if s := &p.sight.turn; s.hints > 0 && s.early == 0 && t.local.Trust() >= 0 {
		why = woken
	}
	return why, nil
}

// offer lets the release of an exclusive lock with the ticket before the waiter's own grant the lock to the waiter: no
// other waiter can be between the two. With a wider counter the tickets between are of other queues, and the lock of a
// user's item may be released with an update. The offer ends with the sleep.
func (p *player) offer() {
	if p.cfg.Counter != nil || p.cfg.Queue.Home != nil || p.cfg.Resume != nil || p.wait.Config.Mode.Permits > 0 || !p.wait.MayOffer() {
		return
	}
	p.turn.local.Offer(func() queue.Entry { return p.wait.Passing(clock{p}) })
}

// passed ends the offer. If a release has taken it, its answer is awaited, and returned; else nil.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (p *player) passed(ctx context.Context) queue.Event {
	answer := p.turn.local.Withdraw()
	if answer == nil {
		return nil
	}
	p.sight.turn.woken = true
	ctx, cancel := retry.Outlive(ctx, answerGrace)
	defer cancel()
	select {
	case got := <-answer:
		return queue.Passed{Reply: reply(got.Err), Record: got.Record}
	case <-ctx.Done():
		return queue.Passed{Reply: queue.ReplyUnknown}
	}
}

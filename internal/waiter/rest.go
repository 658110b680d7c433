package waiter

import (
	"cmp"
	"context"

	"github.com/queuelock/queuelock/queue"
)

// rest waits until it is time to act again: to look, or to guess if no waiter can be ahead and the turn has ended, or
// should have.
func (p *player) rest(ctx context.Context) (queue.Event, error) {
	p.sight.report()
	d, slots := p.sight.delay(ctx, p.turn.slot)
	woken, slot, passed := p.turn.local.Rest(ctx, d, p.sight.mean(), slots)
	p.turn.slot = p.turn.slot || slot
	if e, err := p.ended(ctx, passed); e != nil || err != nil {
		return e, err
	}
	return p.rested(woken), nil
}

// ended returns the event with which a rest has ended, or why no further one is possible. An event comes first: a release may
// have passed the lock as ctx ended.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (p *player) ended(ctx context.Context, passed queue.Event) (queue.Event, error) {
	p.series.Reset() // the retry timeout is for failures, not for waiting
	if passed != nil {
		return passed, nil
	}
	return nil, cmp.Or(p.turn.failed(), ctx.Err())
}

// rested returns what a rest has come to.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (p *player) rested(woken bool) queue.Event {
	return queue.Rested{Guess: p.wait.Next() && !p.sight.expected() && (woken || p.sight.mayHaveEnded())}
}

// offer returns the entry by which a release of this client passes the lock to the waiter, which rests.
func (p *player) offer() (entry queue.Entry, ok bool) {
	if !p.wait.MayOffer() {
		return entry, false
	}
	return p.wait.Passing(clock{p}), true
}

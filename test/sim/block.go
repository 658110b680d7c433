package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/ticket"
)

// Block lets several workers of each process want the same lock at the same time, most of them without options, so that they
// wait in blocks of tickets.
func (p *Plan) Block() {
	r := p.stream(blocking)
	if !p.Contest { // else it is
		p.Length /= 8 // they have more turns than others
	}
	p.Blocks, p.Contest, p.Crowded = true, false, true // most wait until they have the lock
	p.Scope, p.Queues, p.Kinds, p.Jobs, p.Several, p.Forget = ticket.ScopeQueue, 1, make([]Kind, 1), 0, 0, 0
	p.Nodes, p.Workers, p.Waiters = 2+r.IntN(2), 3+r.IntN(4), 0
	p.Hold, p.Think = min(p.Hold, 100*time.Millisecond), time.Duration(r.IntN(3))*20*time.Millisecond
	for _, mean := range []*time.Duration{&p.Means.Freeze, &p.Means.Cut, &p.Means.Kill, &p.Means.Retire, &p.Means.Outage, &p.Means.Throttle, &p.Means.Suspend, &p.Means.Stick} {
		*mean /= 4
	}
}

// turnAsOthers is one Acquire without options, and what follows it.
func (n *node) turnAsOthers(r *rand.Rand, a *attempt, key queuelock.Key) {
	a.plain, a.ttl = true, n.plan.TTL
	n.add(n.name, "%s: Acquire %s, %v", a.owner, key, a)
	n.attempt(r, a, key, false, nil, func(ctx context.Context, opts []queuelock.AcquireOption) (*queuelock.Lock, error) {
		return n.client.Acquire(ctx, key, a.wait, opts...)
	})
}

// inTable is the owner of the attempt's entry.
func (a *attempt) inTable() string {
	if a.plain {
		return a.name
	}
	return a.owner
}

package sim

import (
	"errors"
	"math/big"
	"math/rand/v2"

	"github.com/queuelock/queuelock"
)

// police draws whether turns have a policy.
func (p *Plan) police(r *rand.Rand) {
	if r.IntN(6) == 0 && !p.Contest {
		p.Policies = 0.2 + 0.6*r.Float64()
	}
}

// policy is that of one turn.
type policy struct {
	limit   int    // of waiters ahead; -1: none
	group   string // empty: none
	cancels bool   // it asks the holder to give way
	queue   string
	asked   int       // requests of the audit when the turn began
	look    []rowSeen // what its last look has shown; guarded by policies.mu
	options []queuelock.AcquireOption
}

// newPolicy draws the policy of a turn; nil if it has none.
func (n *node) newPolicy(r *rand.Rand, owner string, key queuelock.Key) *policy {
	if n.plan.Policies == 0 || r.Float64() >= n.plan.Policies {
		return nil
	}
	p := &policy{limit: -1, queue: name(key), asked: n.audit.Requests()}
	if r.IntN(2) == 0 && !n.plan.Cancels {
		p.limit = r.IntN(3)
		p.options = []queuelock.AcquireOption{queuelock.MaxWaiters(p.limit)}
	} else {
		p.group = []string{"web", "api"}[r.IntN(2)]
		cancels := n.chances(owner+" cancels", 0)
		if n.plan.Cancels && cancels.IntN(2) == 0 {
			p.group = "web" // most
		}
		group := []queuelock.SupersedeOption{queuelock.Group(p.group)}
		if p.cancels = n.plan.Cancels && cancels.IntN(2) == 0; p.cancels {
			group = append(group, queuelock.CancelHolder)
		}
		p.options = []queuelock.AcquireOption{queuelock.Supersede(group...)}
	}
	n.policies.note(owner, p)
	return p
}

// refusesWait reports whether the turn does not wait, whatever its wait says.
func (p *policy) refusesWait() bool { return p != nil && p.limit == 0 }

// judge judges the error of a turn: a queue that was full had so many waiters, and a waiter that was superseded had a later
// one in its group, or has been overtaken.
func (p *policy) judge(a *attempt, err error) {
	refused, ok := errors.AsType[*queuelock.NotAcquiredError](err)
	if !ok || refused.Policy == nil {
		return
	}
	switch {
	case p == nil:
		a.violate("%s: a turn without a policy ended with %v", a.owner, err)
	case refused.Policy == queuelock.ErrQueueFull:
		if most := a.audit.Most(p.queue, p.asked); most < p.limit || p.limit < 0 {
			a.violate("%s: the queue is full, it says, with a limit of %d, and %d have waited at most: %v", a.owner, p.limit, most, err)
		}
		a.did("full")
	case refused.Policy == queuelock.ErrSuperseded:
		group, seen := a.audit.Group(p.queue, refused.SupersededBy.String())
		by, _ := new(big.Int).SetString(refused.SupersededBy.String(), 10)
		overtaken := a.audit.Floor(p.queue).Cmp(by) >= 0 // by a holder that has ended, of which it knows no group; or a ticket of a block
		if p.group == "" || (!seen || group != p.group) && !overtaken {
			a.violate("%s: of the group %q, and superseded by ticket %s of the group %q", a.owner, p.group, refused.SupersededBy, group)
		}
		a.did("superseded")
	}
}

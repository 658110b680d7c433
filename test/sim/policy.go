package sim

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded/value"
	"github.com/queuelock/queuelock/queue"
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

// supersede draws whether most turns wait to be the latest, and for turns that take long enough for that.
func (p *Plan) supersede(r *rand.Rand) {
	if r.IntN(8) > 0 || p.Contest || p.Several > 0 || p.Forget > 0 {
		return
	}
	p.Cancels, p.Policies = true, 0.6+0.4*r.Float64()
	p.Think, p.Hold = min(p.Think, 8*time.Second), max(p.Hold, 3*time.Second)
}

// policies are what is known of the policies of turns, of closed queues, and of requests to give way.
type policies struct {
	mu     sync.Mutex
	of     map[string]*policy         // guarded by mu; by owner: those of its turn
	closed map[string]time.Time       // guarded by mu; by the audit's name of a queue: until when, on the engine's clock
	marks  map[string]map[string]mark // guarded by mu; by queue, and id of each holder
	meant  map[string]bool            // guarded by mu; by queue and ticket: operators have asked that one
	asked  map[string]bool            // guarded by mu; by queue and ticket, and with the mark: the record has said so
}

// mark is a request to give way in the record; zero: none.
type mark struct{ by, why string }

func newPolicies() policies {
	return policies{of: map[string]*policy{}, closed: map[string]time.Time{}, marks: map[string]map[string]mark{}, meant: map[string]bool{}, asked: map[string]bool{}}
}

// note notes the policy of an owner's turn.
func (p *policies) note(owner string, of *policy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of[owner] = of
}

// operatorsWhy is why operators ask holders to give way, and waitersWhy, before their tickets, why waiters do.
const (
	operatorsWhy = "simulated"
	waitersWhy   = "superseded by ticket "
)

// ask lets the process ask the first holder of a queue to give way, as an operator.
func (n *node) ask(r *rand.Rand, key queuelock.Key, state *queue.State) {
	if !n.plan.Closes && !n.plan.Cancels || state == nil || len(state.Serving) == 0 {
		return
	}
	h := state.Serving[0]
	n.policies.mu.Lock()
	for t := h.Ticket; t.Compare(h.Last()) <= 0; t = t.Plus(1) { // all turns of a block
		n.policies.meant[name(key)+" "+t.String()] = true
	}
	n.policies.mu.Unlock()
	err := n.client.Operator().Revoke(n.with(r), key, h, operatorsWhy, 0)
	n.add(n.name, "asks ticket %s of %s to give way: %v", h.Ticket, key, err)
}

// mayGiveWay lets a turn take its time, until it is asked to give way. Some do not look.
func (h *hold) mayGiveWay() {
	if !h.plan.Closes && !h.plan.Cancels {
		return
	}
	r := h.chances(h.owner+" gives way", 0)
	if r.IntN(3) > 0 {
		h.leave = h.lock.Revoked()
	}
	if !h.plan.Cancels {
		return
	}
	select {
	case <-time.After(exp(r, h.plan.Hold)):
	case <-h.leave:
		h.add(h.name, "%s: gives way", h.owner)
	case <-h.lock.Context().Done():
	case <-h.ctx.Done():
	}
}

// judgeAsked judges what a holder has heard: the record has said so.
func (h *hold) judgeAsked() {
	_, asked := h.lock.Revocation()
	h.policies.mu.Lock()
	defer h.policies.mu.Unlock()
	if asked && !h.policies.asked[name(h.key)+" "+h.token] {
		h.violate("%s was asked to give way with ticket %s, which the record does not say", h.owner, h.token)
	}
}

// judgeMarks judges the requests to give way that a change has brought to a record.
func (w *world) judgeMarks(queue string, record value.Item) {
	p := &w.policies
	p.mu.Lock()
	defer p.mu.Unlock()
	before, now := p.marks[queue], map[string]mark{}
	p.marks[queue] = now
	for id, entry := range record["holders"].Fields {
		m := mark{entry.Fields["revoked"].Fields["by"].Text, entry.Fields["revoked"].Fields["why"].Text}
		now[id] = m
		was, held := before[id]
		if m == (mark{}) || m == was {
			continue
		}
		first, last := tickets(record, entry)
		what := "ticket " + first.String() + " of " + queue
		asked := p.asked[what+m.by+m.why] // a process that resumes the lock may bring a mark that was replaced meanwhile
		p.asked[what+m.by+m.why] = true
		for t := new(big.Int).Set(first); t.Cmp(last) <= 0; t.Add(t, big.NewInt(1)) {
			p.asked[queue+" "+t.String()] = true
		}
		switch {
		case !held && !asked:
			w.violate("%s was asked to give way as it came: %s", what, m.why)
		case !held:
		case entry.Fields["closed"].Bool:
			w.violate("%s was asked to give way after its turn: %s", what, m.why)
		case m.why == operatorsWhy:
			if !p.meant[queue+" "+first.String()] {
				w.violate("%s was asked to give way, which was not meant", what)
			}
		default:
			w.did("asked")
			w.judgeMark(queue, what, last, entry.Fields["group"].Text, m)
		}
	}
}

// judgeMark judges the request of a waiter to a holder up to whose ticket it is. p.mu is held.
func (w *world) judgeMark(queue, what string, last *big.Int, group string, m mark) {
	by, text := w.policies.of[m.by], strings.TrimPrefix(m.why, waitersWhy)
	t, ok := new(big.Int).SetString(text, 10)
	switch {
	case by == nil || !by.cancels || by.queue != queue:
		w.violate("%s was asked to give way by %s, which asks no holder there", what, m.by)
	case !ok || text == m.why:
		w.violate("%s was asked to give way, %q", what, m.why)
	case group != by.group:
		w.violate("%s of the group %q was asked to give way by %s of the group %q", what, group, m.by, by.group)
	case t.Cmp(last) <= 0:
		w.violate("%s was asked to give way by %s with ticket %s, which is not later", what, m.by, t)
	}
}

// tickets returns the first and the last ticket of a holder's entry.
func tickets(record value.Item, entry value.Value) (first, last *big.Int) {
	number := func(v value.Value) *big.Int {
		n := new(big.Int)
		if v.Kind == value.Num {
			n.SetString(v.Number.String(), 10)
		}
		return n
	}
	first = new(big.Int).Add(number(record["servingAfter"]), big.NewInt(1))
	if t, ok := entry.Fields["ticket"]; ok {
		first = number(t)
	}
	last = new(big.Int).Set(first)
	if turns := number(entry.Fields["turns"]); turns.Sign() > 0 {
		last.Add(last, turns).Sub(last, big.NewInt(1))
	}
	return first, last
}

// close lets turns keep their queue closed, and operators ask holders to give way. A suspended process would move times
// that are judged.
func (p *Plan) close() {
	if p.Several > 0 || p.Forget > 0 || p.Contest || p.Crowded {
		return
	}
	p.Closes, p.Means.Suspend = true, 0
}

// maxLeast is for how many leases a queue stays closed at most.
const maxLeast = 4

// atLeast draws for how long a turn keeps its queue closed; zero: not at all.
func (a *attempt) atLeast(r *rand.Rand, shares bool) time.Duration {
	if !a.plan.Closes || shares || r.IntN(3) > 0 {
		return 0
	}
	return time.Duration(1+r.Int64N(maxLeast*a.plan.TTL.Milliseconds())) * time.Millisecond
}

// closes notes that a turn has begun that keeps its queue closed, at the earliest at the begin of its attempt.
func (w *world) closes(key queuelock.Key, begun time.Time, d time.Duration) {
	if d == 0 || w.kinds[key].Permits > 0 {
		return
	}
	w.policies.mu.Lock()
	defer w.policies.mu.Unlock()
	// The engine's clock is faster or slower, and its hosts' clocks differ.
	until := begun.Add(d - d/500 - 200*time.Millisecond)
	if until.After(w.policies.closed[name(key)]) {
		w.policies.closed[name(key)] = until
	}
}

// opens notes that an operator has opened the queue.
func (w *world) opens(key queuelock.Key) {
	w.policies.mu.Lock()
	defer w.policies.mu.Unlock()
	delete(w.policies.closed, name(key))
}

// judgeOpen judges a grant.
func (w *world) judgeOpen(queue, ticket string) {
	w.policies.mu.Lock()
	defer w.policies.mu.Unlock()
	if until := w.policies.closed[queue]; w.engineClock().Before(until) {
		w.violate("ticket %s of %s was granted %v before its queue was to open", ticket, queue, until.Sub(w.engineClock()))
	}
}

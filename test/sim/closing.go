package sim

import (
	"math/rand/v2"
	"time"

	"github.com/queuelock/queuelock"
)

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

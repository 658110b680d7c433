package sim

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// saved is a handle that a process has saved, and what is known of its owner.
type saved struct {
	owner  string
	handle queuelock.Handle
	shares bool
	begun  int64
}

// save keeps a handle for the process that comes after this one's death.
func (n *node) save(owner string, h queuelock.Handle, shares bool, begun int64) {
	n.world.mu.Lock()
	defer n.world.mu.Unlock()
	n.saved[owner] = saved{owner, h, shares, begun}
}

// forget drops a handle that is worth nothing any more.
func (n *node) forget(owner string) {
	n.world.mu.Lock()
	defer n.world.mu.Unlock()
	delete(n.saved, owner)
}

// takeSaved takes a handle that this host's process before it has left, having
// died.
func (n *node) takeSaved(r *rand.Rand) (saved, bool) {
	n.world.mu.Lock()
	defer n.world.mu.Unlock()
	var found []saved
	for _, s := range n.saved {
		if precedes(s.owner, n.name) {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return saved{}, false
	}
	slices.SortFunc(found, func(a, b saved) int { return cmp.Compare(a.owner, b.owner) })
	s := found[r.IntN(len(found))]
	delete(n.saved, s.owner)
	return s, r.IntN(4) > 0
}

// precedes says that the owner was of an earlier process of the host of next, or of an earlier slice of its wait.
func precedes(owner, next string) bool {
	more, ok := strings.CutPrefix(next, strings.TrimSuffix(owner, readerSuffix))
	if ok && strings.HasPrefix(more, sliceSuffix) && strings.Trim(more, sliceSuffix+readerSuffix) == "" {
		return true
	}
	host, generation, _ := strings.Cut(strings.SplitN(owner, "/", 2)[0], ".")
	nextHost, nextGeneration, _ := strings.Cut(strings.SplitN(next, "/", 2)[0], ".")
	was, err1 := strconv.Atoi(generation)
	is, err2 := strconv.Atoi(nextGeneration)
	return host == nextHost && err1 == nil && err2 == nil && was < is
}

// resumes is precedes, and says that a process leaves a place of its own that was granted the lock by name.
func (w *world) resumes(owner, next string) bool {
	process, quits := w.quits.Load(owner)
	return quits && process == next || precedes(owner, next)
}

// resume goes on with what a process that has died had.
func (n *node) resume(r *rand.Rand, owner string, s saved) {
	a := n.newAttempt(r, owner)
	a.saved = &s
	if s.begun%2 == 0 {
		// It is cancelled with one of its requests on the way, more often than not.
		a.limit = time.Duration(s.begun/2)%(8*n.plan.Latency) + 1
	}
	if s.shares {
		a.owner += readerSuffix
	}
	opts := n.kinds[s.handle.Key].options()
	if s.shares {
		opts = append(opts, queuelock.Shared())
	}
	n.add(n.name, "%s: Resume %s ticket %s of %s, %v", a.owner, s.handle.Key, s.handle.Ticket, s.owner, a)
	n.attempt(r, a, s.handle.Key, s.shares, append(opts, a.options(r, s.handle.Key, s.shares)...), func(ctx context.Context, opts []queuelock.AcquireOption) (*queuelock.Lock, error) {
		return n.client.Resume(ctx, s.handle, a.wait, opts...)
	})
}

// sliceSuffix ends the names of owners that go on with a place which was kept, once for each slice.
const sliceSuffix = "s"

// stays draws for how long an Acquire keeps its place; zero: it does not.
func (n *node) stays(a *attempt) time.Duration {
	chances := n.chances(a.owner+" keeps its place", 0)
	tries, _ := a.wait.Tries()
	if n.plan.Seed%3 > 0 || tries > 0 || a.closed || a.policy.refusesWait() || chances.IntN(3) > 0 {
		return 0
	}
	return 15*time.Second + time.Duration(chances.IntN(int(3*n.plan.TTL/time.Second)+1))*time.Second
}

// slices goes on with the place that an Acquire has kept, after a while, or leaves it, or forgets it. It reports whether there
// is one.
func (n *node) slices(r *rand.Rand, a *attempt, key queuelock.Key, shares bool, err error) bool {
	e, ok := errors.AsType[*queuelock.NotAcquiredError](err)
	if a.keep == 0 {
		if ok && e.Handle != nil {
			n.violate("%s: keeps a place, and did not want that: %v", a.owner, err)
		}
		return false
	}
	if !ok || e.Handle == nil {
		return false
	}
	n.did("kept")
	n.world.keeps(key, a.keep)
	n.sleep(r, exp(r, a.keep/3))
	if n.isDead() {
		return true
	}
	switch s := (saved{a.owner, *e.Handle, shares, a.begun}); r.IntN(8) {
	case 0:
	case 1:
		n.world.quits.Store(a.owner, n.name)
		err := n.client.Leave(n.with(r), s.handle)
		n.add(n.name, "%s: leaves ticket %s: %v", a.owner, s.handle.Ticket, err)
	default:
		next := n.newAttempt(r, strings.TrimSuffix(a.owner, readerSuffix)+sliceSuffix)
		if next.saved = &s; a.policy != nil && a.policy.group != "" {
			next.policy = a.policy
		}
		if shares {
			next.owner += readerSuffix
		}
		if next.wait = a.wait; r.IntN(3) > 0 {
			next.wait = waitpolicy.For(exp(r, 5*time.Second))
		}
		next.keep = a.keep
		opts := n.kinds[key].options()
		if next.policy != nil {
			opts = append(opts, next.policy.options...)
		}
		n.add(n.name, "%s: Resume %s ticket %s of %s, %v", next.owner, key, s.handle.Ticket, s.owner, next)
		n.attempt(r, next, key, shares, append(opts, next.options(r, key, shares)...), func(ctx context.Context, opts []queuelock.AcquireOption) (*queuelock.Lock, error) {
			return n.client.Resume(ctx, s.handle, next.wait, opts...)
		})
	}
	return true
}

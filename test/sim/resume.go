package sim

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/queuelock/queuelock"
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

// precedes says that the owner was of an earlier process of the host of next.
func precedes(owner, next string) bool {
	host, generation, _ := strings.Cut(strings.SplitN(owner, "/", 2)[0], ".")
	nextHost, nextGeneration, _ := strings.Cut(strings.SplitN(next, "/", 2)[0], ".")
	was, err1 := strconv.Atoi(generation)
	is, err2 := strconv.Atoi(nextGeneration)
	return host == nextHost && err1 == nil && err2 == nil && was < is
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

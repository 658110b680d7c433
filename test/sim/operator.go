package sim

import (
	"context"
	"strings"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
)

// operator evicts, now and then, holders without a lease whose processes have ended, and
// entries without an owner, until ctx ends. No other process may evict them.
func (w *world) operator(ctx context.Context) {
	ctx = random.Seed(ctx, w.plan.Seed, 97)
	db := faultnet.SDK(w.net.Connect("operator", func(faultnet.Request) fault.Fate { return w.distance() }))
	c, err := queuelock.New(db, tableName, queuelock.Config{TTL: w.plan.TTL, Scope: w.plan.Scope, Owner: "operator"})
	if err != nil {
		w.violate("operator: %v", err)
		return
	}
	defer func() {
		if err := c.Close(context.WithoutCancel(ctx)); err != nil {
			w.violate("operator: %v", err)
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Second):
		}
		for _, key := range w.keys {
			if w.kinds[key].Closed > 0 {
				w.evict(ctx, c, key)
			}
		}
	}
}

func (w *world) evict(ctx context.Context, c *queuelock.Client, key queuelock.Key) {
	state, err := c.Viewer().Inspect(ctx, key)
	if err != nil {
		w.add("operator", "cannot look at %s: %v", key, err)
		return
	}
	for _, h := range state.Serving {
		if h.Endless() && w.isNobodys(h.Owner) {
			w.opens(key)
			w.add("operator", "evicts %s of %s: %v", h.Owner, key, c.Operator().Evict(ctx, key, h))
		}
	}
}

// disown says that a process does not know what it has left behind.
func (w *world) disown(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disowned[owner] = true
}

// isNobodys says that the owner's process has ended, or has said that it does
// not own what it has left.
func (w *world) isNobodys(owner string) bool {
	process, _, _ := strings.Cut(owner, "/")
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.disowned[owner] || w.disowned[process]
}

package blocks

import (
	"context"
	"errors"
	"slices"

	"github.com/queuelock/queuelock/internal/session"
	"github.com/queuelock/queuelock/internal/waiter"
)

// Caller is one Acquire.
type Caller struct {
	blocks *Blocks
	ctx    context.Context
	cfg    *waiter.Config
	terms  *Terms
	wake   chan struct{} // capacity 1: its state has changed

	// Guarded by blocks.mu.
	block  *block // nil: it has gathered
	index  int    // of its turn
	chosen bool   // its turn is about to begin: it does not leave any more
	grant  *waiter.Grant
	err    error
	left   bool
	status waiter.Status // after it has left
	tried  bool          // a request for the lock was made
}

// Terms are what a client does with the grants of callers.
type Terms struct {
	// Advance begins a turn after one that may have writes under way. It returns session.ErrAdvanced if the lock is lost. After any
	// other error that turn must not begin.
	Advance func(context.Context, *waiter.Grant) error
	// GiveBack releases a grant that no caller takes.
	GiveBack func(context.Context, *waiter.Grant)
}

// Waited says what a wait has come to that was not granted.
type Waited interface {
	Status() waiter.Status
	Tried() bool
	Orphan() *waiter.OrphanError
	Wait()
}

// Acquire waits for the lock, alone or in a block. A lock that was granted while ctx ended is returned as well.
func (b *Blocks) Acquire(ctx context.Context, cfg *waiter.Config, terms *Terms) (Waited, *waiter.Grant, error) {
	c := &Caller{blocks: b, ctx: ctx, cfg: cfg, terms: terms, wake: make(chan struct{}, 1)}
	b.mu.Lock()
	b.line(cfg.Queue).gather(b, false, c)
	b.mu.Unlock()
	for {
		alone, grant, err := c.await()
		switch {
		case alone != nil:
			return alone.acquireAlone()
		case err != nil:
			return c, nil, err
		case !grant.Stale:
			return c, grant, nil
		}
		switch err := terms.Advance(ctx, grant); {
		case err == nil:
			return c, grant, nil
		case errors.Is(err, session.ErrAdvanced):
			c.again()
		default:
			terms.GiveBack(ctx, grant) // to the next turn
			return c, nil, err
		}
	}
}

// await waits until the caller is to acquire alone, is granted the lock, or cannot be. If its ctx ends before, it leaves.
func (c *Caller) await() (alone *block, grant *waiter.Grant, err error) {
	for ended := c.ctx.Done(); ; {
		over := false
		select {
		case <-c.wake:
		case <-ended:
			over, ended = true, nil
		}
		c.blocks.mu.Lock()
		switch k := c.block; {
		case c.grant != nil:
			grant, c.grant, c.chosen = c.grant, nil, false
		case c.err != nil:
			err = c.err
		case k != nil && len(k.callers) == 1 && !k.begun:
			alone, k.begun = k, true
		case over && !c.chosen:
			err = c.ctx.Err()
			c.leave()
		}
		c.blocks.mu.Unlock()
		if alone != nil || grant != nil || err != nil {
			return alone, grant, err
		}
	}
}

// leave takes the caller out of its line. blocks.mu is held.
func (c *Caller) leave() {
	c.left = true
	k := c.block
	if k == nil {
		l := c.blocks.line(c.cfg.Queue)
		l.gathered = slices.DeleteFunc(l.gathered, func(o *Caller) bool { return o == c })
		l.goOn(c.blocks)
		return
	}
	c.status, c.tried = k.statusOf(c), true
	if k.living--; k.living == 0 && k.cancel != nil {
		k.cancel() // those that hold the lock have living callers
	}
}

// again lets a caller take a new ticket whose block was lost before its turn began.
func (c *Caller) again() {
	b := c.blocks
	b.mu.Lock()
	defer b.mu.Unlock()
	k := c.block
	k.over(true)
	c.block = nil
	k.line.gather(b, true, c)
}

// signal says that the state has changed. blocks.mu is held.
func (c *Caller) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Status returns what the caller last saw of its queue.
func (c *Caller) Status() waiter.Status {
	c.blocks.mu.Lock()
	defer c.blocks.mu.Unlock()
	return c.status
}

// Tried reports whether a request for the lock was made.
func (c *Caller) Tried() bool {
	c.blocks.mu.Lock()
	defer c.blocks.mu.Unlock()
	return c.tried
}

// Orphan returns nil: only a caller whose lock fails closed may leave one, which waits alone.
func (c *Caller) Orphan() *waiter.OrphanError { return nil }

// Wait returns at once: the requests for a row are those of its block.
func (c *Caller) Wait() {}

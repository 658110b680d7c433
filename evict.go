package queuelock

import (
	"context"
	"errors"
	"fmt"

	"github.com/queuelock/queuelock/internal/eviction"
	"github.com/queuelock/queuelock/internal/picture"
	"github.com/queuelock/queuelock/internal/sweep"
	"github.com/queuelock/queuelock/ticket"
)

// Sweep removes expired holders and waiters from a queue. Waiters do the same, so Sweep is for queues
// without waiters; package sweeper calls it in intervals.
func (c *Client) Sweep(ctx context.Context, key Key) (Swept, error) {
	ctx, q, end, err := c.enter(ctx, key)
	if err != nil {
		return Swept{}, err
	}
	defer end()
	swept, err := sweep.Queue(ctx, q, c.observer)
	if err != nil {
		err = fmt.Errorf("queuelock: sweep %s: %w", key, err)
	}
	return Swept(swept), err
}

// Swept counts what Sweep removed.
type Swept struct{ Waiters, Holders int }

// Evict ends the turn of a holder that fails closed, by the ticket that Inspect shows. First make sure
// that its process has ended: a live one works on until its next heartbeat. Returns nil if the holder
// was found and is now gone, by this call or by its own release, and
//
//   - ErrClosed after Close.
//   - *EvictError, which matches ErrNotServed or ErrLeased, if nothing was done.
//   - any other error if the table failed for 30 s, or ctx ended. The holder may be gone.
func (c *Client) Evict(ctx context.Context, key Key, t ticket.Number) error {
	ctx, q, end, err := c.enter(ctx, key)
	if err != nil {
		return err
	}
	defer end()
	holder, rec, err := eviction.Evict(ctx, q, t, minRetryTimeout)
	refused := &EvictError{Key: keyOf(q), Ticket: t}
	switch {
	case errors.Is(err, eviction.ErrNotServed):
		refused.Err = ErrNotServed
	case errors.Is(err, eviction.ErrLeased):
		refused.Err = ErrLeased
	case err != nil:
		return fmt.Errorf("queuelock: evict %s ticket %s: %w", keyOf(q), t, err)
	}
	if refused.Err != nil {
		refused.Serving = picture.Holders(q, rec.Holders, c.observer)
		return refused
	}
	c.cfg.Logger.Warn("queuelock: evicted a fail-closed holder on an operator's request",
		"queue", q.String(), "ticket", t, "owner", holder.Owner)
	c.local.Wake(q)
	if rec.Resettable(t) {
		c.background.Run(func() { c.sessions.Reset(context.WithoutCancel(ctx), q, t) })
	}
	return nil
}

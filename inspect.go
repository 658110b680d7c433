package queuelock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/eviction"
	"github.com/queuelock/queuelock/internal/picture"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/sweep"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Inspect returns the holders and the waiters, in order, as one consistent query
// shows them. It changes nothing. One request for each megabyte of rows.
func (c *Client) Inspect(ctx context.Context, key Key) (*queue.State, error) {
	_, q, err := c.prepare(key, waitpolicy.NoWait, nil)
	if err != nil {
		return nil, err
	}
	return c.inspect(ctx, q, key.String())
}

// InspectItem returns the holder of an item's lock, and the waiters, as Inspect does.
// A missing item has issued no ticket. Two consistent reads: the item, and the rows.
func (c *Client) InspectItem(ctx context.Context, item ItemKey) (*queue.State, error) {
	_, q, err := c.prepareItem(item, waitpolicy.NoWait, nil)
	if err != nil {
		return nil, err
	}
	return c.inspect(ctx, q, "item "+item.String())
}

func (c *Client) inspect(ctx context.Context, q table.Queue, what string) (*queue.State, error) {
	ctx, end, err := c.begin(ctx, waitpolicy.Forever)
	if err != nil {
		return nil, err
	}
	defer end()
	snapshot, err := rows.LookAll(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("queuelock: inspect %s: %w", what, err)
	}
	return picture.State(q, snapshot, c.observer), nil
}

// IsLocked reports whether the lock has a holder whose lease, lock delay included, has
// not ended, by one consistent read. It changes nothing and takes no ticket. Leases
// are judged as by a waiter: by DynamoDB's clock, or by observation.
//
// The result may be stale on return; do not use it to guard a write. False does not
// mean that an Acquire is served at once, since others may wait. To take an idle lock
// or do without it, call Acquire with NoWait.
//
// One request. On an error the result is false, and nothing is known.
func (c *Client) IsLocked(ctx context.Context, key Key) (bool, error) {
	_, q, err := c.prepare(key, waitpolicy.NoWait, nil)
	if err != nil {
		return false, err
	}
	ctx, end, err := c.begin(ctx, waitpolicy.Forever)
	if err != nil {
		return false, err
	}
	defer end()
	rec, err := serving.Get(ctx, q)
	readAt := time.Now()
	if err != nil {
		return false, fmt.Errorf("queuelock: is %s locked: %w", key.normal(), err)
	}
	return picture.Locked(q, rec.Holders, c.observer, readAt), nil
}

// Sweep removes expired holders and waiters from a queue. Waiters do the same whenever
// they look, so Sweep is for queues without waiters; package sweeper calls it in
// intervals. One request for the look, one for each row removed, and one for each
// forty holders. Calling it again is safe.
func (c *Client) Sweep(ctx context.Context, key Key) (Swept, error) {
	_, q, err := c.prepare(key, waitpolicy.NoWait, nil)
	if err != nil {
		return Swept{}, err
	}
	ctx, end, err := c.begin(ctx, waitpolicy.Forever)
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

// Evict ends the turn of a holder that fails closed (FailClosed), by the ticket that
// Inspect and "queuelock status" show. The next waiter is served.
//
// First make sure that the holder's process has ended. A live one learns of the
// eviction with its next heartbeat and works on until then; only its protected writes
// (Lock.Condition, Lock.Transact) are refused at once. Calling Evict again is safe,
// and never evicts another holder.
//
// It returns nil if the holder is gone, by this call or by its own release. Returns
//
//   - *EvictError if nothing was done. It matches ErrNotServed if no holder has the
//     ticket, and ErrLeased if the holder has a lease, which ends by itself.
//   - ErrClosed after Close.
//   - any other error if the table failed, or ctx ended. The holder may be gone.
//
// Two requests, and one more in the background if no client waits. Failures are
// retried for 30 s.
func (c *Client) Evict(ctx context.Context, key Key, t ticket.Number) error {
	_, q, err := c.prepare(key, waitpolicy.NoWait, nil)
	if err != nil {
		return err
	}
	ctx, end, err := c.begin(ctx, waitpolicy.Forever)
	if err != nil {
		return err
	}
	defer end()
	holder, rec, err := eviction.Evict(ctx, q, t, minRetryTimeout)
	switch refused := (&EvictError{Key: key.normal(), Ticket: t}); {
	case errors.Is(err, eviction.ErrNotServed), errors.Is(err, eviction.ErrLeased):
		refused.Err = ErrNotServed
		if errors.Is(err, eviction.ErrLeased) {
			refused.Err = ErrLeased
		}
		refused.Serving = picture.Holders(q, rec.Holders, c.observer)
		return refused
	case err != nil:
		return fmt.Errorf("queuelock: evict %s ticket %s: %w", key.normal(), t, err)
	}
	c.cfg.Logger.Warn("queuelock: evicted a fail-closed holder, as an operator wants", "queue", q.String(), "ticket", t, "owner", holder.Owner)
	c.lines.Wake(q)
	if rec.Resettable(t) {
		c.background.Run(func() { c.sessions.Reset(context.WithoutCancel(ctx), q, t) })
	}
	return nil
}

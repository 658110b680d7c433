package queuelock

import (
	"context"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/picture"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Inspect returns the holders and the waiters, in order, as one consistent query shows them. It changes
// nothing.
func (c *Client) Inspect(ctx context.Context, key Key) (*queue.State, error) {
	_, q, err := c.prepare(key, waitpolicy.NoWait, nil)
	if err != nil {
		return nil, err
	}
	return c.inspect(ctx, q, key.String())
}

// InspectItem returns the holder of an item's lock, and the waiters, as Inspect does. A missing item has
// issued no ticket.
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

// IsLocked reports whether the lock has a holder whose lease, lock delay included, has not ended. It
// changes nothing. The result may be stale on return; do not use it to guard a write. After false an
// Acquire may still have to wait. To take an idle lock or do without it, call Acquire with NoWait.
func (c *Client) IsLocked(ctx context.Context, key Key) (bool, error) {
	ctx, q, end, err := c.enter(ctx, key)
	if err != nil {
		return false, err
	}
	defer end()
	rec, err := serving.Get(ctx, q)
	readAt := time.Now()
	if err != nil {
		return false, fmt.Errorf("queuelock: is %s locked: %w", keyOf(q), err)
	}
	return picture.Locked(q, rec.Holders, c.observer, readAt), nil
}

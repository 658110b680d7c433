package session

import (
	"context"

	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// hint sends a hint with a release, and rings the next waiter. If the holder has not read its row, it reads it beside the release:
// the bell is late by a round trip then, and still earlier than most looks.
func (c *end) hint() {
	q, next := c.config.Queue, c.grant.Next
	c.client.Local.Hint(q, next)
	t, err := c.grant.Last().Next()
	// Other locks have no next waiter, or its row is elsewhere.
	plain := q.Home == nil && c.config.Mode == (queue.Mode{}) && c.grant.Record.Scope == ticket.ScopeQueue
	if c.rung || next.Row != nil || !plain || err != nil || !c.client.Local.Rings(q, t) {
		return
	}
	c.rung = true
	ctx := random.Fork(context.WithoutCancel(c.ctx))
	c.client.Background(func() {
		if row, _ := rows.Get(ctx, q, t); row != nil { // else a look takes its place
			c.client.Local.Ring(q, handover.Row{Row: row})
		}
	})
}

package session

import (
	"context"

	"github.com/queuelock/queuelock/internal/random"
)

// hint sends a hint with a release, and rings the next waiter. If the holder has not read its row, it reads it beside the release:
// the bell is late by a round trip then, and still earlier than most looks.
func (c *end) hint() {
	q, next := c.config.Queue, c.nextRow()
	c.client.Local.Hint(q, next)
	t, ok := c.nextTicket()
	if c.rung || next.Row != nil || !ok || !c.client.Local.Rings(q, t) {
		return
	}
	c.rung = true
	ctx := random.Fork(context.WithoutCancel(c.ctx))
	c.client.Background(func() {
		c.awaitNext()
		if c.nextRow().Row == nil {
			c.readNext(ctx, t)
		}
		c.client.Local.Ring(q, c.nextRow()) // else a look takes its place
	})
}

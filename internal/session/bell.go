package session

import (
	"context"

	"github.com/queuelock/queuelock/internal/random"
)

// ring rings the next waiter with a release. If the holder has not read its row, it reads it beside the release: the bell is late by a
// round trip then, and still earlier than most looks.
func (c *end) ring() {
	q, next := c.config.Queue, c.nextRow()
	c.client.Local.RingNext(q, next)
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
		c.client.Local.RingNext(q, c.nextRow()) // else a look takes its place
	})
}

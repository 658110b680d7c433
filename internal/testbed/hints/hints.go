// Package hints carries wake-up hints between the clients of a test in memory, also within a testing/synctest bubble.
package hints

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/queuelock/queuelock/wake"
)

// transit is the delay of a hint without Fate.
const transit = 100 * time.Microsecond

// Hub carries hints between its clients. The zero Hub loses none.
type Hub struct {
	// Fate returns after which delays the nth hint from one client arrives at another: once for each. Optional.
	Fate func(from, to string, n int64) []time.Duration

	mu      sync.Mutex
	clients []*client   // guarded by mu
	sent    int         // guarded by mu
	last    wake.Digest // guarded by mu; that was sent
}

// Client returns the Hints of one client.
func (h *Hub) Client(name string) wake.Hints { return &client{hub: h, name: name} }

// Sent returns how many hints were sent.
func (h *Hub) Sent() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sent
}

// Forge delivers the last hint to all clients again.
func (h *Hub) Forge() {
	h.mu.Lock()
	d := h.last
	h.mu.Unlock()
	for _, c := range h.others(nil) {
		c.take(d)
	}
}

// others returns the clients that listen, without one of them.
func (h *Hub) others(but *client) (all []*client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.clients {
		if c != but {
			all = append(all, c)
		}
	}
	return all
}

type client struct {
	hub  *Hub
	name string
	sent atomic.Int64

	mu      sync.Mutex
	receive func(wake.Digest) // guarded by mu
}

func (c *client) Listen(receive func(wake.Digest)) (stop func(), err error) {
	c.set(receive)
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.hub.clients = append(c.hub.clients, c)
	return func() { c.set(nil) }, nil
}

func (c *client) Send(d wake.Digest) {
	c.hub.mu.Lock()
	c.hub.sent++
	c.hub.last = d
	c.hub.mu.Unlock()
	n := c.sent.Add(1)
	for _, to := range c.hub.others(c) {
		delays := []time.Duration{transit}
		if c.hub.Fate != nil {
			delays = c.hub.Fate(c.name, to.name, n)
		}
		for _, delay := range delays {
			time.AfterFunc(delay, func() { to.take(d) })
		}
	}
}

func (c *client) set(receive func(wake.Digest)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.receive = receive
}

func (c *client) take(d wake.Digest) {
	c.mu.Lock()
	receive := c.receive
	c.mu.Unlock()
	if receive != nil {
		receive(d)
	}
}

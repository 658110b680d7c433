// Package hints carries wake-up hints between the clients of a test in memory, also within a testing/synctest bubble.
package hints

import (
	"fmt"
	"maps"
	"slices"
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
	clients []*client        // guarded by mu
	sent    int              // guarded by mu
	last    wake.Digest      // guarded by mu; that was sent
	hung    map[string]*bell // guarded by mu
	rung    []string         // guarded by mu; the bells, as often as they were rung
}

// bell is that of a wait.
type bell struct {
	of   *client
	ring func()
}

// Client returns the Hints of one client.
func (h *Hub) Client(name string) wake.Hints { return hintsOnly{h.Bells(name)} }

// hintsOnly are hints without bells.
type hintsOnly struct{ wake.Hints }

// Bells returns the Hints of one client whose waiters have bells.
func (h *Hub) Bells(name string) wake.Bells { return &client{hub: h, name: name} }

// Far returns the Bells of one client whose hints reach no other one.
func (h *Hub) Far(name string) wake.Bells { return far{h.Bells(name)} }

type far struct{ wake.Bells }

func (far) Send(wake.Digest) {}

func (far) Listen(func(wake.Digest)) (stop func(), err error) { return func() {}, nil }

// Rung returns the bells that were rung, in their order.
func (h *Hub) Rung() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.rung)
}

// Sent returns how many hints were sent.
func (h *Hub) Sent() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sent
}

// Forge delivers the last hint to all clients again, and rings all bells.
func (h *Hub) Forge() {
	h.mu.Lock()
	d := h.last
	var bells []func()
	for _, text := range slices.Sorted(maps.Keys(h.hung)) {
		bells = append(bells, h.hung[text].ring)
	}
	h.mu.Unlock()
	for _, ring := range bells {
		ring()
	}
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
	hub   *Hub
	name  string
	sent  atomic.Int64
	hangs atomic.Int64

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
		for _, delay := range c.delays(to, n) {
			time.AfterFunc(delay, func() { to.take(d) })
		}
	}
}

func (c *client) Hang(rung func()) (text string, stop func()) {
	n := c.hangs.Add(1)
	text = fmt.Sprintf("%s/%d", c.name, n)
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if c.hub.hung == nil {
		c.hub.hung = map[string]*bell{}
	}
	c.hub.hung[text] = &bell{of: c, ring: rung}
	return text, func() {
		c.hub.mu.Lock()
		defer c.hub.mu.Unlock()
		delete(c.hub.hung, text)
	}
}

func (c *client) Ring(text string) {
	h := c.hub
	h.mu.Lock()
	h.rung = append(h.rung, text)
	b := h.hung[text]
	h.mu.Unlock()
	if b == nil {
		return
	}
	for _, delay := range c.delays(b.of, c.sent.Add(1)) {
		time.AfterFunc(delay, func() {
			h.mu.Lock()
			b := h.hung[text]
			h.mu.Unlock()
			if b != nil {
				b.ring()
			}
		})
	}
}

// delays returns after which delays the nth hint arrives at a client.
func (c *client) delays(to *client, n int64) []time.Duration {
	if c.hub.Fate != nil {
		return c.hub.Fate(c.name, to.name, n)
	}
	return []time.Duration{transit}
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

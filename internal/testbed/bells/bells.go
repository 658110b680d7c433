// Package bells carries bells between the clients of a test in memory, also within a testing/synctest bubble.
package bells

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/queuelock/queuelock/wake"
)

// transit is the delay of a bell without Fate.
const transit = 100 * time.Microsecond

// Hub carries bells between its clients. The zero Hub loses none.
type Hub struct {
	// Fate returns after which delays the nth bell that one client rings arrives at another: once for each. Optional.
	Fate func(from, to string, n int64) []time.Duration

	mu   sync.Mutex
	hung map[string]hung // guarded by mu
	rung []string        // guarded by mu; the bells, as often as they were rung
}

// hung is the bell of a wait.
type hung struct {
	of   string
	ring func()
}

// Client returns the Bells of one client.
func (h *Hub) Client(name string) wake.Bells { return &client{hub: h, name: name} }

// Deaf are the Bells of a client that cannot be rung, and does not ring.
type Deaf struct{}

func (Deaf) Hang(func()) (bell string, stop func(), err error) {
	return "", func() {}, errors.New("the address is in use")
}

func (Deaf) Ring(string) {}

// Rung returns the bells that were rung, in their order.
func (h *Hub) Rung() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.rung)
}

// Hung returns how many bells there are.
func (h *Hub) Hung() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.hung)
}

// Forge rings all bells.
func (h *Hub) Forge() {
	h.mu.Lock()
	var all []func()
	for _, text := range slices.Sorted(maps.Keys(h.hung)) {
		all = append(all, h.hung[text].ring)
	}
	h.mu.Unlock()
	for _, ring := range all {
		ring()
	}
}

type client struct {
	hub  *Hub
	name string
	sent atomic.Int64
	n    atomic.Int64
}

func (c *client) Hang(rung func()) (text string, stop func(), err error) {
	text = fmt.Sprintf("%s/%d", c.name, c.n.Add(1))
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if c.hub.hung == nil {
		c.hub.hung = map[string]hung{}
	}
	c.hub.hung[text] = hung{of: c.name, ring: rung}
	return text, func() {
		c.hub.mu.Lock()
		defer c.hub.mu.Unlock()
		delete(c.hub.hung, text)
	}, nil
}

func (c *client) Ring(text string) {
	h := c.hub
	h.mu.Lock()
	h.rung = append(h.rung, text)
	b, ok := h.hung[text]
	h.mu.Unlock()
	if !ok {
		return
	}
	delays := []time.Duration{transit}
	if h.Fate != nil {
		delays = h.Fate(c.name, b.of, c.sent.Add(1))
	}
	for _, delay := range delays {
		time.AfterFunc(delay, func() {
			h.mu.Lock()
			b, ok := h.hung[text]
			h.mu.Unlock()
			if ok {
				b.ring()
			}
		})
	}
}

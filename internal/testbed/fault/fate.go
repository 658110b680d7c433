package fault

import (
	"sync"
	"time"
)

// Fate is what happens to one request. The zero value is a network at its best:
// applied at once, answered at once.
type Fate struct {
	Name    string   // for a log; empty for the zero Fate
	There   Leg      // from the client to the engine
	Refusal *Refusal // answered after There instead of being applied
	Back    Leg      // from the engine to the client

	// Anyway lets a request continue when its caller has given up during There:
	// it is applied when the leg ends, and the answer is dropped.
	Anyway bool

	// Copy, if set, makes the request arrive a second time. The copy starts when
	// the first has been applied, lost or swallowed. Its answer is dropped.
	Copy *Leg

	// Split, if set, makes the items of a TransactWriteItems visible one by one:
	// item i that long after the transaction was accepted. The embedded engine
	// answers when all are visible. If the caller leaves before that, or the
	// network is closed, the commit continues. Other engines and operations ignore
	// it.
	Split []time.Duration
}

// Leg is one way through the network. Its parts take effect in the order of
// the fields.
type Leg struct {
	Reached   func()        // called when the leg begins, if set
	Delay     time.Duration // waits that long
	Gate      *Gate         // waits until the gate is open, if set
	Swallowed bool          // goes no further; the caller hears nothing until it gives up
	Lost      bool          // goes no further; the caller sees its connection fail
}

// Gate holds requests until it is opened.
type Gate struct {
	reached, opened chan struct{}
	reach, open     sync.Once
}

// NewGate makes a closed gate. In a testing/synctest bubble it belongs to that
// bubble.
func NewGate() *Gate {
	return &Gate{reached: make(chan struct{}), opened: make(chan struct{})}
}

// Reach marks the gate as reached. More calls change nothing.
func (g *Gate) Reach() { g.reach.Do(func() { close(g.reached) }) }

// Reached is closed by the first Reach.
func (g *Gate) Reached() <-chan struct{} { return g.reached }

// Open lets all requests through from now on. More calls change nothing.
func (g *Gate) Open() { g.open.Do(func() { close(g.opened) }) }

// Opened is closed by the first Open.
func (g *Gate) Opened() <-chan struct{} { return g.opened }

// IsOpen reports whether Open has been called.
func (g *Gate) IsOpen() bool {
	select {
	case <-g.opened:
		return true
	default:
		return false
	}
}

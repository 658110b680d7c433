package locktest

import (
	"sync"
	"testing"
)

// Gate blocks its callers until it is opened.
type Gate struct {
	Entered chan struct{} // closed by the first caller of Pass
	Open    func()        // lets all callers pass
	enter   func()
	opened  chan struct{}
}

// NewGate returns a gate that is closed until the end of the test.
func NewGate(t *testing.T) *Gate {
	g := &Gate{Entered: make(chan struct{}), opened: make(chan struct{})}
	g.enter = sync.OnceFunc(func() { close(g.Entered) })
	g.Open = sync.OnceFunc(func() { close(g.opened) })
	t.Cleanup(g.Open)
	return g
}

// Pass blocks until the gate is open.
func (g *Gate) Pass() { g.enter(); <-g.opened }

package locktest

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/fault"
)

// Gate blocks its callers until it is opened.
type Gate struct {
	*fault.Gate
	Entered <-chan struct{} // closed by the first caller of Pass
}

// NewGate returns a gate that is closed until the end of the test.
func NewGate(t *testing.T) *Gate {
	g := fault.NewGate()
	t.Cleanup(g.Open)
	return &Gate{g, g.Reached()}
}

// Pass blocks until the gate is open.
func (g *Gate) Pass() { g.Reach(); <-g.Opened() }

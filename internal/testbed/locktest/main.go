package locktest

import (
	"testing"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/leak"
)

// SmallTickets lets new counters begin at 1 also in real time, for packages whose tests
// compare tickets.
func SmallTickets() { counter.Base = counter.Zero }

// Main runs the tests of a package, stops the engines that they started, and
// fails if a goroutine is left.
func Main(m *testing.M) {
	leak.Main(engines.Main(m))
}

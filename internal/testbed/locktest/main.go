package locktest

import (
	"testing"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/leak"
	"github.com/queuelock/queuelock/internal/testbed/property"
)

// SmallTickets lets new counters begin at 1 also in real time, for packages whose tests
// compare tickets.
func SmallTickets() { counter.Base = counter.Zero }

// Main runs the tests of a package, stops the engines that they started, and
// fails if a goroutine is left. Under the race detector it lowers the number of
// random inputs.
func Main(m *testing.M) {
	if UnderRace {
		property.Fewer(12)
	}
	leak.Main(engines.Main(m))
}

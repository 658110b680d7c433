package locktest

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/testbed/engines"
)

// SmallTickets lets new counters begin at 1 also in real time, for packages whose tests
// compare tickets.
func SmallTickets() { counter.Base = counter.Zero }

// Main runs the tests of a package, stops the engines that they started, and
// fails if a goroutine is left. Under the race detector it lowers the number of
// random schedules that rapid draws.
func Main(m *testing.M) {
	const checks = "rapid.checks"
	if UnderRace && flag.Lookup(checks) != nil {
		if err := flag.Set(checks, "12"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(engines.Main(m))
}

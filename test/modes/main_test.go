// Package modes_test tests the other ways to hold: Shared, Permits and Downgrade, AcquireAll and the wider scopes, locks
// on the caller's own items, locks that only an operator ends, and the delay after a lost lock.
package modes_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) {
	if locktest.UnderRace {
		locktest.Must(0, flag.Set("rapid.checks", "12")) // each opens a bubble
	}
	goleak.VerifyTestMain(engines.Main(m))
}

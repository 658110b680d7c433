// Package modes_test tests the other ways to hold: Shared, Permits and Downgrade, AcquireAll and the wider scopes, locks
// on the caller's own items, locks that only an operator ends, and the delay after a lost lock.
package modes_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
)

func TestMain(m *testing.M) {
	if locktest.UnderRace {
		locktest.Must(0, flag.Set("rapid.checks", "12")) // each opens a bubble
	}
	goleak.VerifyTestMain(engines.Main(m))
}

// pair opens two clients of one configuration, of which the first has faults.
func pair(t *testing.T, table *queuelocktest.Table, cfg queuelock.Config, one, other string) (
	*queuelock.Client, *queuelocktest.Client, *queuelock.Client,
) {
	t.Helper()
	a, db := locktest.Open(t, table, one, cfg)
	b, _ := locktest.Open(t, table, other, cfg)
	return a, db, b
}

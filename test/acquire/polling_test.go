package acquire_test

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestPollingADeadHolder checks that a client which tries a lock now and then takes over that of a dead holder at its second try,
// also if it only observes.
func TestPollingADeadHolder(t *testing.T) {
	for _, every := range []time.Duration{5 * time.Minute, 11 * time.Minute, time.Hour, 48 * time.Hour} {
		for name, opts := range map[string][]queuelocktest.Option{"dates": nil, "no dates": {queuelocktest.WithoutDate()}} {
			locktest.InBubble(t, every.String()+", "+name, func(t *testing.T) {
				table, cfg := queuelocktest.NewTable(t, opts...), queuelock.Config{ObserveExpiry: true}
				dead, network := locktest.Open(t, table, "dead", cfg)
				locktest.Acquire(t, dead, waitpolicy.NoWait)
				network.Partition()
				daemon, _ := locktest.Open(t, table, "daemon", cfg)
				time.Sleep(every)
				if _, err := daemon.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); err == nil {
					t.Error("the first try cannot judge the lease")
				}
				time.Sleep(every)
				locktest.Release(t, locktest.Acquire(t, daemon, waitpolicy.NoWait))
			})
		}
	}
}

package hold_test

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// A lease ends when it should, however long its client was idle: one read shows the time again.
func TestIdleClient(t *testing.T) {
	for name, test := range map[string]struct {
		idle time.Duration
		sent int
	}{
		"ForTenMinutes":       {10 * time.Minute, 1},
		"ForAQuarterOfAnHour": {15 * time.Minute, 2},
		"ForAMonth":           {30 * 24 * time.Hour, 2},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			a, db := locktest.Open(t, table, "a", locktest.TenSeconds)
			locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait))
			for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
				time.Sleep(test.idle)
				before := db.Counts()
				lock := locktest.Acquire(t, a, wait)
				if counts := db.Counts().Sub(before); counts.Total().Sent != test.sent {
					t.Errorf("%v: %d requests", wait, counts.Total().Sent)
				}
				left := time.Until(time.UnixMilli(number(locktest.Entries(table)[0]["until"])))
				if least := locktest.TTL - 10*time.Millisecond; left < least || left > locktest.TTL+3*time.Second {
					t.Errorf("%v: the lease of %v ends after %v", wait, locktest.TTL, left)
				}
				locktest.Release(t, lock)
			}
		}, queuelocktest.WithLatency(4*time.Millisecond))
	}
}

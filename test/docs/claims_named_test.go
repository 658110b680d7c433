package docs_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestNamedRows finds the bounds at which the protocol says that a release never names a row. TestPassing of package member has
// the kinds of waiters.
func TestNamedRows(t *testing.T) {
	const leaseOfRow = 16 * time.Second
	margin := func(d time.Duration) queuelock.AcquireOption {
		return queuelock.OnExpiring(d, func(*queuelock.Lock) {})
	}
	poll := func(d time.Duration) queuelock.Config {
		return queuelock.Config{Poll: waitpolicy.Schedule{SlowestNext: d, Slowest: d}}
	}
	for _, kind := range []struct {
		unnamed string // what keeps a waiter from being named; empty: nothing
		config  queuelock.Config
		options []queuelock.AcquireOption
		undated bool
	}{
		{},
		{options: []queuelock.AcquireOption{margin(leaseOfRow / 16)}},
		{config: poll(leaseOfRow)},
		{options: []queuelock.AcquireOption{queuelock.WithTTL(leaseOfRow)}},
		{unnamed: "a `TTL` below `WaiterTTL`", options: []queuelock.AcquireOption{queuelock.WithTTL(leaseOfRow - time.Second)}},
		{unnamed: "or an `OnExpiring` margin above `WaiterTTL`/16", options: []queuelock.AcquireOption{margin(leaseOfRow/16 + time.Millisecond)}},
		{unnamed: "and engines without dates", undated: true},
	} {
		kind.config.WaiterTTL = leaseOfRow
		var row av.Item
		synctest.Test(t, func(t *testing.T) {
			options := []queuelocktest.Option{queuelocktest.WithLatency(2 * time.Millisecond)}
			if kind.undated {
				options = append(options, queuelocktest.WithoutDate())
			}
			table := queuelocktest.NewTable(t, options...)
			a, b := locktest.Two(t, table, kind.config, "a", "b")
			held := locktest.Acquire(t, a, waitpolicy.NoWait)
			waiting := locktest.QueueUp(t.Context(), b, waitpolicy.Forever, kind.options...)
			time.Sleep(time.Second)
			row = rowOf(t, table.Items())
			locktest.Release(t, held)
			locktest.Release(t, (<-waiting).Lock)
		})
		_, named := row[attr.EntryID]
		if named != (kind.unnamed == "") {
			t.Errorf("%q, %+v: the row may be named: %v", kind.unnamed, kind.config, named)
		}
	}
}

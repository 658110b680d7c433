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
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestNamedRows puts a row of each kind of waiter into the queue, and finds those that the protocol says a release never names.
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
		{unnamed: "waiters with data", options: []queuelock.AcquireOption{queuelock.WithData([]byte("x"))}},
		{unnamed: "a lock delay", options: []queuelock.AcquireOption{queuelock.LockDelay(time.Second)}},
		{unnamed: "`FailClosed`", options: []queuelock.AcquireOption{queuelock.FailClosed()}},
		{unnamed: "`NoHeartbeat`", options: []queuelock.AcquireOption{queuelock.NoHeartbeat()}},
		{unnamed: "a `TTL` below `WaiterTTL`", options: []queuelock.AcquireOption{queuelock.WithTTL(leaseOfRow - time.Second)}},
		{unnamed: "or an `OnExpiring` margin above `WaiterTTL`/16", options: []queuelock.AcquireOption{margin(leaseOfRow/16 + time.Millisecond)}},
		{unnamed: "shared locks", options: []queuelock.AcquireOption{queuelock.Shared()}},
		{unnamed: "wider scopes", config: queuelock.Config{Scope: ticket.ScopeTable}},
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

// TestNamedInTime checks which rows a release names that it has read, and when it reads them.
func TestNamedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		says(t, protocolPage, "whose row the holder has read in the last %v s", waitpolicy.NamedWithin.Seconds())

		// Not of turns that are shorter than four round trips, and without bells not if half of one is longer than 2 s.
		const trip = 10 * time.Millisecond
		pace := waitpolicy.NewPace(time.Time{})
		pace.Timed(now.Add(-trip), now)
		for _, c := range []struct {
			mean  time.Duration
			bells bool
			reads bool
		}{{4*trip - 1, true, false}, {4 * trip, false, true}, {4 * time.Second, false, true}, {4*time.Second + 2, false, false}, {time.Minute, true, true}} {
			after, reads := pace.ReadsNext(c.mean, c.bells)
			if reads != c.reads || reads && after != c.mean/2 {
				t.Errorf("turns of %v: a holder reads the next row: %v, after %v", c.mean, reads, after)
			}
		}
	})
}

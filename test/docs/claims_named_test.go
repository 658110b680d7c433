package docs_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/attr"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestNamedRows puts a row of each kind of waiter into the queue, and finds those that the protocol says a release never names.
func TestNamedRows(t *testing.T) {
	const leaseOfRow = 16 * time.Second
	margin := func(d time.Duration) queuelock.Option { return queuelock.OnExpiring(d, func(*queuelock.Lock) {}) }
	poll := func(d time.Duration) queuelock.Config {
		return queuelock.Config{Poll: waitpolicy.Schedule{SlowestNext: d}}
	}
	for _, kind := range []struct {
		says    string // of a waiter that is not named; empty: it may be
		config  queuelock.Config
		options []queuelock.Option
		undated bool
	}{
		{},
		{options: []queuelock.Option{margin(leaseOfRow / 16)}},
		{config: poll(leaseOfRow / 4)},
		{options: []queuelock.Option{queuelock.WithTTL(leaseOfRow)}},
		{says: "waiters with data,", options: []queuelock.Option{queuelock.WithData([]byte("x"))}},
		{says: "a lock delay,", options: []queuelock.Option{queuelock.LockDelay(time.Second)}},
		{says: "`FailClosed`,", options: []queuelock.Option{queuelock.FailClosed()}},
		{says: "`NoHeartbeat`,", options: []queuelock.Option{queuelock.NoHeartbeat()}},
		{says: "a `TTL` below `WaiterTTL`,", options: []queuelock.Option{queuelock.WithTTL(leaseOfRow - time.Second)}},
		{says: "an `OnExpiring` margin above `WaiterTTL`/16", options: []queuelock.Option{margin(leaseOfRow/16 + time.Millisecond)}},
		{says: "or `Poll.SlowestNext` above `WaiterTTL`/4.", config: poll(leaseOfRow/4 + time.Millisecond)},
		{says: "shared locks,", options: []queuelock.Option{queuelock.Shared()}},
		{says: "wider scopes,", config: queuelock.Config{Scope: ticket.ScopeTable}},
		{says: "and engines without dates.", undated: true},
	} {
		kind.config.WaiterTTL = leaseOfRow
		var row attr.Item
		synctest.Test(t, func(t *testing.T) {
			options := []queuelocktest.Option{queuelocktest.WithLatency(2 * time.Millisecond)}
			if kind.undated {
				options = append(options, queuelocktest.WithoutDate())
			}
			table := queuelocktest.NewTable(t, options...)
			a, b := locktest.Two(t, table, kind.config, "a", "b")
			held := acquire(t, a, order, waitpolicy.NoWait)
			waiting := locktest.QueueUp(t.Context(), b, waitpolicy.Forever, kind.options...)
			time.Sleep(time.Second)
			row = rowOf(t, table.Items())
			release(t, held)
			release(t, (<-waiting).Lock)
		})
		_, named := row[queue.AttrEntryID]
		if named != (kind.says == "") {
			t.Errorf("%q, %+v: the row may be named: %v", kind.says, kind.config, named)
		}
		says(t, protocolPage, "%s", kind.says)
	}
}

// TestNamedInTime checks when a release names a row that it has read, and how long its waiter sleeps.
func TestNamedInTime(t *testing.T) {
	const leaseOfRow = 16 * time.Second
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		q := table.NewStore(nil, table.Layout{Table: "t", PK: "pk", SK: "sk", TTL: "expiresAt"}, time.Second).Queue("e", "lock", nil)
		q.Clock().Observe(now, now, now)
		_, latest, _ := q.Clock().At(now)
		named := func(left, read, turn time.Duration) bool {
			row := queue.Waiter{Ticket: n(6), ID: "r", EntryID: "b", Lease: queue.Lease{TTL: leaseOfRow, Until: latest.Add(left)}}
			next := handover.New(time.Minute).Next(q, "a", n(5), handover.Row{Row: &row, ReadAt: now.Add(-read)}, queue.HoldTime{Mean: turn})
			return next.Grant != nil
		}
		says(t, protocolPage, "Half of the row's lease must be left, and the mean turn be at most an eighth of it.")
		for _, c := range []struct {
			left, read, turn time.Duration
			want             bool
		}{
			{leaseOfRow / 2, 2 * time.Second, leaseOfRow / 8, true},
			{leaseOfRow/2 - 1, 2 * time.Second, leaseOfRow / 8, false},
			{leaseOfRow / 2, 2*time.Second + 1, leaseOfRow / 8, false},
			{leaseOfRow / 2, 2 * time.Second, leaseOfRow/8 + 1, false},
		} {
			if got := named(c.left, c.read, c.turn); got != c.want {
				t.Errorf("a row with %v left, read %v ago, with turns of %v, is named: %v", c.left, c.read, c.turn, got)
			}
		}

		says(t, protocolPage, "reads it once, after half of the mean turn. It does not if turns are shorter than four round trips, or if they are too long for a name and it has no bells.")
		const trip = 10 * time.Millisecond
		pace := waitpolicy.NewPace(false, time.Time{})
		pace.Timed(now.Add(-trip), now)
		for mean, bells := range map[time.Duration]bool{4*trip - 1: true, leaseOfRow/8 + 1: false, 4 * trip: false, leaseOfRow: true} {
			after, reads := pace.ReadsNext(mean, leaseOfRow, bells)
			if want := mean == 4*trip || mean == leaseOfRow; reads != want || reads && after != mean/2 {
				t.Errorf("turns of %v: a holder reads the next row: %v, after %v", mean, reads, after)
			}
		}

		says(t, protocolPage, "the waiter sleeps for at most a third of it")
		pace = waitpolicy.NewPace(false, time.Time{})
		rec := queue.Record{Exists: true, Present: true, HoldTime: queue.HoldTime{Mean: leaseOfRow / 8}, Holders: []queue.Holder{{ID: "a", Ticket: n(5)}}}
		pace.Saw(queue.SnapshotOf(rec, now), 8)
		view := waitpolicy.View{Record: rec, Ahead: 8, Now: now}
		slow := waitpolicy.Schedule{Fastest: time.Millisecond, SlowestNext: time.Minute, Slowest: time.Hour}
		sleep := func() time.Duration { return pace.Delay(slow, view, func() float64 { return 0 }) }
		if d := sleep(); d <= leaseOfRow/3 {
			t.Errorf("a waiter that is not named sleeps for %v", d)
		}
		view.Row = leaseOfRow
		if d := sleep(); d != leaseOfRow/3 {
			t.Errorf("a waiter that may be named sleeps for %v", d)
		}
		pace.Saw(queue.SnapshotOf(rec, now), 9)
		if d := sleep(); d <= leaseOfRow/3 {
			t.Errorf("with nine turns ahead it sleeps for %v", d)
		}
	})
}

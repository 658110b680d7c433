package rows_test

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/dbclock"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/records"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var epoch = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

// decide observes the snapshot, and decides by what the observer says.
func decide(q table.Queue, s rows.Snapshot, t ticket.Number, mode serving.Mode, ids []string, observer *heartbeat.Observer) rows.Decision {
	return s.Decide(s.Observe(q, observer), t, mode, ids)
}

// TestRulesInOrder checks that a look is judged by the rules in their order. The rules of
// LOOK, in their order: each situation meets one, whatever later rules would say.
func TestRulesInOrder(t *testing.T) {
	q := table.NewStore(nil, table.Layout{}, time.Second).Queue("e", "lock", nil)
	alive, dead := queue.Lease{TTL: time.Minute, Until: epoch.Add(30 * time.Second)}, queue.Lease{TTL: time.Minute, Until: epoch.Add(-10 * time.Second)}
	holder := func(id string, ticket int, l queue.Lease) serving.Holder {
		return serving.Holder{ID: id, Ticket: n(ticket), Lease: l}
	}
	row := func(ticket int, id string, l queue.Lease) rows.Row {
		return rows.Row{Ticket: n(ticket), ID: id, Lease: l}
	}
	record := func(number, after, granted int, holders ...serving.Holder) serving.Record {
		return serving.Record{Exists: true, Present: true, TicketNumber: n(number), ServingAfter: n(after), Granted: n(granted), Holders: holders}
	}
	absent := serving.Record{Exists: true, TicketNumber: n(9), Granted: n(4)}

	for name, test := range map[string]struct {
		rec   serving.Record
		all   []rows.Row
		ids   []string
		do    rows.Action
		ahead int
		rowsD int // dead
		heldD int
		clear time.Duration // at least; at most the clock's second more
	}{
		"1. my id is in holders":                              {rec: record(9, 6, 7, holder("me", 7, alive)), ids: []string{"old", "me"}, do: rows.Served, clear: 30 * time.Second},
		"1. before 2.: a grant raises the floor to my ticket": {rec: record(9, 0, 7, holder("me", 7, alive)), ids: []string{"me"}, do: rows.Served, clear: 30 * time.Second},
		"1. before 4.: also with a live row ahead":            {rec: record(9, 0, 3, holder("me", 7, alive)), ids: []string{"me"}, all: []rows.Row{row(5, "x", alive)}, do: rows.Served, ahead: 1, clear: 30 * time.Second},
		"1. also if my own lease has ended":                   {rec: record(9, 6, 7, holder("me", 7, dead)), ids: []string{"me"}, do: rows.Served, heldD: 1},
		"2. the floor is above my ticket":                     {rec: record(9, 0, 8), do: rows.Overtaken},
		"2. the floor is my ticket, and not by me":            {rec: record(9, 0, 7, holder("x", 7, alive)), ids: []string{"me"}, do: rows.Overtaken, clear: 30 * time.Second},
		"2. by servingAfter":                                  {rec: record(9, 6, 0), do: rows.Overtaken},
		"2. before 3.: holders absent as well":                {rec: serving.Record{Exists: true, TicketNumber: n(9), Granted: n(9)}, do: rows.Overtaken},
		"2. before 4.: a live row ahead as well":              {rec: record(9, 0, 8), all: []rows.Row{row(5, "x", alive)}, do: rows.Overtaken},
		"3. holders absent":                                   {rec: absent, do: rows.NewTicket},
		"3. before 4.: a live row ahead as well":              {rec: absent, all: []rows.Row{row(5, "x", alive)}, do: rows.NewTicket, ahead: 1, clear: 30 * time.Second},
		"3. no record at all":                                 {do: rows.NewTicket},
		"4. a live row ahead":                                 {rec: record(9, 0, 4), all: []rows.Row{row(5, "x", alive)}, do: rows.Wait, ahead: 1, clear: 30 * time.Second},
		"4. a holder without a lease":                         {rec: record(9, 0, 3, holder("h", 3, queue.Lease{Beat: 5, FailClosed: true})), do: rows.Wait, clear: queue.Forever},
		"4. two, and a dead one between":                      {rec: record(9, 0, 3), all: []rows.Row{row(4, "w", alive), row(5, "x", dead), row(6, "y", alive)}, do: rows.Wait, ahead: 2, rowsD: 1, clear: 30 * time.Second},
		"4. an expired one is not ahead":                      {rec: record(9, 0, 4), all: []rows.Row{row(5, "x", dead)}, do: rows.Claim, rowsD: 1},
		"4. one at the floor is not ahead":                    {rec: record(9, 0, 4), all: []rows.Row{row(4, "x", alive)}, do: rows.Claim},
		"4. one below the floor that is dead is swept":        {rec: record(9, 0, 4), all: []rows.Row{row(2, "x", dead)}, do: rows.Claim, rowsD: 1},
		"4. my own row and those behind are not ahead":        {rec: record(9, 0, 4), all: []rows.Row{row(7, "me", alive), row(8, "y", alive)}, do: rows.Claim},
		"4. before 5.: a live row ahead of a dead holder":     {rec: record(9, 0, 3, holder("h", 3, dead)), all: []rows.Row{row(5, "x", alive)}, do: rows.Wait, ahead: 1, heldD: 1, clear: 30 * time.Second},
		"5. a live holder":                                    {rec: record(9, 0, 3, holder("h", 3, alive)), do: rows.Wait, clear: 30 * time.Second},
		"5. a dead holder":                                    {rec: record(9, 0, 3, holder("h", 3, dead)), do: rows.Claim, heldD: 1},
		"5. a dead holder and a live one":                     {rec: record(9, 0, 3, holder("a", 3, dead), holder("b", 3, alive)), do: rows.Wait, heldD: 1, clear: 30 * time.Second},
		"6. no waiter ahead and no holder":                    {rec: record(9, 0, 6), do: rows.Claim},
	} {
		clock := dbclock.New()
		clock.Observe(epoch, epoch, epoch)
		j := decide(q, rows.Snapshot{Record: records.Read(test.rec), Rows: test.all, ReadAt: epoch}, n(7), serving.Mode{}, test.ids, heartbeat.NewObserver(clock, false))
		if j.Do != test.do || j.Ahead != test.ahead || len(j.ExpiredRows) != test.rowsD || len(j.ExpiredHolders) != test.heldD {
			t.Errorf("%s: judged %+v, want action %d, %d ahead, %d dead rows, %d dead holders", name, j, test.do, test.ahead, test.rowsD, test.heldD)
		}
		if j.ClearIn < test.clear || j.ClearIn-test.clear > 2*time.Second {
			t.Errorf("%s: clear in %v, want %v", name, j.ClearIn, test.clear)
		}
		if j.Do == rows.Served && j.Me.ID != "me" {
			t.Errorf("%s: served as %+v", name, j.Me)
		}
		if j.Blocked != nil {
			t.Errorf("%s: blocked by %v", name, j.Blocked)
		}
	}
}

// TestTurnsAhead checks that the turns of the waiters ahead are counted.
func TestTurnsAhead(t *testing.T) {
	q := table.NewStore(nil, table.Layout{}, time.Second).Queue("e", "lock", nil)
	const r, w = serving.ModeShared, serving.ModeExclusive
	shared := serving.Mode{Shared: true}
	for name, test := range map[string]struct {
		holders int
		sharing bool
		all     []string
		mode    serving.Mode
		do      rows.Action
		turns   int
		joins   bool
	}{
		"a writer behind a reader":                    {1, true, nil, serving.Mode{}, rows.Wait, 0, false},
		"a reader behind a reader":                    {1, true, nil, shared, rows.Claim, 0, true},
		"a reader behind a writer":                    {1, false, nil, shared, rows.Wait, 0, false},
		"readers about to join":                       {1, true, []string{r, r}, shared, rows.Wait, 0, true},
		"a reader behind a writer's row":              {2, true, []string{r, w}, shared, rows.Wait, 1, false},
		"readers, a writer, readers":                  {2, true, []string{r, w, r, r}, shared, rows.Wait, 2, true},
		"the same before a writer":                    {2, true, []string{r, w, r, r}, serving.Mode{}, rows.Wait, 2, false},
		"writers":                                     {1, false, []string{w, w, w}, serving.Mode{}, rows.Wait, 3, false},
		"readers of whom none holds yet":              {0, true, []string{r, r}, shared, rows.Wait, 1, true},
		"an old hold mode without holders is no turn": {0, true, nil, serving.Mode{}, rows.Claim, 0, false},
		"a permit is free":                            {1, false, nil, serving.Mode{Permits: 2}, rows.Claim, 0, false},
		"no permit is free":                           {2, false, nil, serving.Mode{Permits: 2}, rows.Wait, 0, false},
	} {
		rec := serving.Record{Exists: true, Present: true, TicketNumber: n(20), ServingAfter: n(0), Granted: n(1), Shared: test.sharing, Permits: test.mode.Permits}
		for i := range test.holders {
			rec.Holders = append(rec.Holders, serving.Holder{ID: string(rune('a' + i)), Ticket: n(1), Lease: queue.Lease{TTL: time.Minute}})
		}
		snapshot := rows.Snapshot{Record: records.Read(rec), ReadAt: epoch}
		for i, mode := range test.all {
			snapshot.Rows = append(snapshot.Rows, rows.Row{Ticket: n(2 + i), ID: mode, Mode: mode, Lease: queue.Lease{TTL: time.Minute}})
		}
		j := decide(q, snapshot, n(10), test.mode, nil, heartbeat.NewObserver(dbclock.New(), false))
		if j.Do != test.do || j.Turns != test.turns || j.Joins != test.joins || j.Ahead != len(test.all) {
			t.Errorf("%s: judged %+v, want action %d, %d turns, joins %v", name, j, test.do, test.turns, test.joins)
		}
	}
}

// TestObservation checks that leases of rows and holders also end by observation.
func TestObservation(t *testing.T) {
	q := table.NewStore(nil, table.Layout{}, time.Second).Queue("e", "lock", nil)
	observer := heartbeat.NewObserver(dbclock.New(), false)
	snapshot := rows.Snapshot{
		Record: records.Read(serving.Record{Exists: true, Present: true, TicketNumber: n(9), ServingAfter: n(0), Holders: []serving.Holder{{ID: "h", Ticket: n(1), Lease: queue.Lease{TTL: 20 * time.Second}}}}),
		Rows:   []rows.Row{{Ticket: n(3), ID: "x", Lease: queue.Lease{TTL: 10 * time.Second}}},
		ReadAt: epoch,
	}
	for _, step := range []struct {
		after time.Duration
		do    rows.Action
		clear time.Duration
	}{{0, rows.Wait, 20 * time.Second}, {9 * time.Second, rows.Wait, 11 * time.Second}, {10 * time.Second, rows.Wait, 10 * time.Second}, {20 * time.Second, rows.Claim, 0}} {
		snapshot.ReadAt = epoch.Add(step.after)
		if j := decide(q, snapshot, n(7), serving.Mode{}, nil, observer); j.Do != step.do || j.ClearIn != step.clear {
			t.Errorf("after %v judged %+v, want action %d, clear in %v", step.after, j, step.do, step.clear)
		}
	}
}

package queue_test

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var epoch = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

// decide observes the snapshot, and decides by what the observer says.
func decide(q queue.Items, s queue.Snapshot, t ticket.Number, mode queue.Mode, ids []string, observer *heartbeat.Observer) queue.Decision {
	return s.Decide(observer.Leases(q, s), t, mode, ids)
}

// TestRulesInOrder has the rules of LOOK, in their order: each situation meets one, whatever later rules would say.
func TestRulesInOrder(t *testing.T) {
	q := queue.Items{Entity: "e", Reason: "lock"}
	alive, dead := queue.Lease{TTL: time.Minute, Until: epoch.Add(30 * time.Second)}, queue.Lease{TTL: time.Minute, Until: epoch.Add(-10 * time.Second)}
	holder := func(id string, ticket int, l queue.Lease) queue.Holder {
		return queue.Holder{ID: id, Ticket: n(ticket), Lease: l}
	}
	row := func(ticket int, id string, l queue.Lease) queue.Waiter {
		return queue.Waiter{Ticket: n(ticket), ID: id, Lease: l}
	}
	record := func(number, after, granted int, holders ...queue.Holder) queue.Record {
		return queue.Record{Exists: true, Present: true, TicketNumber: n(number), ServingAfter: n(after), Granted: n(granted), Holders: holders}
	}
	absent := queue.Record{Exists: true, TicketNumber: n(9), Granted: n(4)}

	for name, test := range map[string]struct {
		rec   queue.Record
		all   []queue.Waiter
		ids   []string
		do    queue.Action
		ahead int
		rowsD int // dead
		heldD int
		clear time.Duration // at least; at most the clock's second more
	}{
		"1. my id is in holders":                              {rec: record(9, 6, 7, holder("me", 7, alive)), ids: []string{"old", "me"}, do: queue.ActionServed, clear: 30 * time.Second},
		"1. before 2.: a grant raises the floor to my ticket": {rec: record(9, 0, 7, holder("me", 7, alive)), ids: []string{"me"}, do: queue.ActionServed, clear: 30 * time.Second},
		"1. before 4.: also with a live row ahead":            {rec: record(9, 0, 3, holder("me", 7, alive)), ids: []string{"me"}, all: []queue.Waiter{row(5, "x", alive)}, do: queue.ActionServed, ahead: 1, clear: 30 * time.Second},
		"1. also if my own lease has ended":                   {rec: record(9, 6, 7, holder("me", 7, dead)), ids: []string{"me"}, do: queue.ActionServed, heldD: 1},
		"2. the floor is above my ticket":                     {rec: record(9, 0, 8), do: queue.ActionOvertaken},
		"2. the floor is my ticket, and not by me":            {rec: record(9, 0, 7, holder("x", 7, alive)), ids: []string{"me"}, do: queue.ActionOvertaken, clear: 30 * time.Second},
		"2. by servingAfter":                                  {rec: record(9, 6, 0), do: queue.ActionOvertaken},
		"2. before 3.: holders absent as well":                {rec: queue.Record{Exists: true, TicketNumber: n(9), Granted: n(9)}, do: queue.ActionOvertaken},
		"2. before 4.: a live row ahead as well":              {rec: record(9, 0, 8), all: []queue.Waiter{row(5, "x", alive)}, do: queue.ActionOvertaken},
		"3. holders absent":                                   {rec: absent, do: queue.ActionNewTicket},
		"3. before 4.: a live row ahead as well":              {rec: absent, all: []queue.Waiter{row(5, "x", alive)}, do: queue.ActionNewTicket, ahead: 1, clear: 30 * time.Second},
		"3. no record at all":                                 {do: queue.ActionNewTicket},
		"4. a live row ahead":                                 {rec: record(9, 0, 4), all: []queue.Waiter{row(5, "x", alive)}, do: queue.ActionWait, ahead: 1, clear: 30 * time.Second},
		"4. a holder without a lease":                         {rec: record(9, 0, 3, holder("h", 3, queue.Lease{Beat: 5, FailClosed: true})), do: queue.ActionWait, clear: queue.Forever},
		"4. two, and a dead one between":                      {rec: record(9, 0, 3), all: []queue.Waiter{row(4, "w", alive), row(5, "x", dead), row(6, "y", alive)}, do: queue.ActionWait, ahead: 2, rowsD: 1, clear: 30 * time.Second},
		"4. an expired one is not ahead":                      {rec: record(9, 0, 4), all: []queue.Waiter{row(5, "x", dead)}, do: queue.ActionClaim, rowsD: 1},
		"4. one at the floor is not ahead":                    {rec: record(9, 0, 4), all: []queue.Waiter{row(4, "x", alive)}, do: queue.ActionClaim},
		"4. one below the floor that is dead is swept":        {rec: record(9, 0, 4), all: []queue.Waiter{row(2, "x", dead)}, do: queue.ActionClaim, rowsD: 1},
		"4. my own row and those behind are not ahead":        {rec: record(9, 0, 4), all: []queue.Waiter{row(7, "me", alive), row(8, "y", alive)}, do: queue.ActionClaim},
		"4. before 5.: a live row ahead of a dead holder":     {rec: record(9, 0, 3, holder("h", 3, dead)), all: []queue.Waiter{row(5, "x", alive)}, do: queue.ActionWait, ahead: 1, heldD: 1, clear: 30 * time.Second},
		"5. a live holder":                                    {rec: record(9, 0, 3, holder("h", 3, alive)), do: queue.ActionWait, clear: 30 * time.Second},
		"5. a dead holder":                                    {rec: record(9, 0, 3, holder("h", 3, dead)), do: queue.ActionClaim, heldD: 1},
		"5. a dead holder and a live one":                     {rec: record(9, 0, 3, holder("a", 3, dead), holder("b", 3, alive)), do: queue.ActionWait, heldD: 1, clear: 30 * time.Second},
		"6. no waiter ahead and no holder":                    {rec: record(9, 0, 6), do: queue.ActionClaim},
	} {
		clock := new(heartbeat.Clock)
		clock.Observe(epoch, epoch, epoch)
		j := decide(q, queue.Snapshot{Record: asRead(test.rec), Rows: test.all, ReadAt: epoch}, n(7), queue.Mode{}, test.ids, heartbeat.NewObserver(clock, false))
		if j.Do != test.do || j.Ahead != test.ahead || len(j.ExpiredRows) != test.rowsD || len(j.ExpiredHolders) != test.heldD {
			t.Errorf("%s: judged %+v, want action %d, %d ahead, %d dead rows, %d dead holders", name, j, test.do, test.ahead, test.rowsD, test.heldD)
		}
		if j.ClearIn < test.clear || j.ClearIn-test.clear > 2*time.Second {
			t.Errorf("%s: clear in %v, want %v", name, j.ClearIn, test.clear)
		}
		if j.Blocked != nil {
			t.Errorf("%s: blocked by %v", name, j.Blocked)
		}
	}
}

// TestTurnsAhead checks that the turns of the waiters ahead are counted.
func TestTurnsAhead(t *testing.T) {
	q := queue.Items{Entity: "e", Reason: "lock"}
	const r, w = attr.Shared, attr.Exclusive
	shared := queue.Mode{Shared: true}
	for name, test := range map[string]struct {
		holders int
		sharing bool
		all     []string
		mode    queue.Mode
		do      queue.Action
		turns   int
		joins   bool
	}{
		"a writer behind a reader":                    {1, true, nil, queue.Mode{}, queue.ActionWait, 0, false},
		"a reader behind a reader":                    {1, true, nil, shared, queue.ActionClaim, 0, true},
		"a reader behind a writer":                    {1, false, nil, shared, queue.ActionWait, 0, false},
		"readers about to join":                       {1, true, []string{r, r}, shared, queue.ActionWait, 0, true},
		"a reader behind a writer's row":              {2, true, []string{r, w}, shared, queue.ActionWait, 1, false},
		"readers, a writer, readers":                  {2, true, []string{r, w, r, r}, shared, queue.ActionWait, 2, true},
		"the same before a writer":                    {2, true, []string{r, w, r, r}, queue.Mode{}, queue.ActionWait, 2, false},
		"writers":                                     {1, false, []string{w, w, w}, queue.Mode{}, queue.ActionWait, 3, false},
		"readers of whom none holds yet":              {0, true, []string{r, r}, shared, queue.ActionWait, 1, true},
		"an old hold mode without holders is no turn": {0, true, nil, queue.Mode{}, queue.ActionClaim, 0, false},
		"a permit is free":                            {1, false, nil, queue.Mode{Permits: 2}, queue.ActionClaim, 0, false},
		"no permit is free":                           {2, false, nil, queue.Mode{Permits: 2}, queue.ActionWait, 0, false},
	} {
		rec := queue.Record{Exists: true, Present: true, TicketNumber: n(20), ServingAfter: n(0), Granted: n(1), Shared: test.sharing, Permits: test.mode.Permits}
		for i := range test.holders {
			rec.Holders = append(rec.Holders, queue.Holder{ID: string(rune('a' + i)), Ticket: n(1), Lease: queue.Lease{TTL: time.Minute}})
		}
		snapshot := queue.Snapshot{Record: asRead(rec), ReadAt: epoch}
		for i, mode := range test.all {
			snapshot.Rows = append(snapshot.Rows, queue.Waiter{Ticket: n(2 + i), ID: mode, Shared: mode == attr.Shared, Lease: queue.Lease{TTL: time.Minute}})
		}
		j := decide(q, snapshot, n(10), test.mode, nil, heartbeat.NewObserver(new(heartbeat.Clock), false))
		if j.Do != test.do || j.Turns != test.turns || j.Joins != test.joins || j.Ahead != len(test.all) {
			t.Errorf("%s: judged %+v, want action %d, %d turns, joins %v", name, j, test.do, test.turns, test.joins)
		}
	}
}

// TestWaitersAhead has a block of five ahead, and one whose lease has ended.
func TestWaitersAhead(t *testing.T) {
	rows := []queue.Waiter{{Ticket: n(2), Turns: 5}, {Ticket: n(7)}, {Ticket: n(8), Turns: 2}}
	left := queue.Leases{Rows: []time.Duration{1, 1, 0}}
	rec := asRead(queue.Record{Exists: true, Present: true, TicketNumber: n(20), Granted: n(1)})
	d := queue.Snapshot{Record: rec, Rows: rows, ReadAt: epoch}.Decide(left, n(10), queue.Mode{}, nil)
	if d.Ahead != 2 || d.Waiters != 6 || d.Turns != 2 {
		t.Errorf("judged %+v, want 2 rows of 6 waiters", d)
	}
}

// TestObservation checks that leases of rows and holders also end by observation.
func TestObservation(t *testing.T) {
	q := queue.Items{Entity: "e", Reason: "lock"}
	observer := heartbeat.NewObserver(new(heartbeat.Clock), false)
	snapshot := queue.Snapshot{
		Record: asRead(queue.Record{Exists: true, Present: true, TicketNumber: n(9), ServingAfter: n(0), Holders: []queue.Holder{{ID: "h", Ticket: n(1), Lease: queue.Lease{TTL: 20 * time.Second}}}}),
		Rows:   []queue.Waiter{{Ticket: n(3), ID: "x", Lease: queue.Lease{TTL: 10 * time.Second}}},
		ReadAt: epoch,
	}
	for _, step := range []struct {
		after time.Duration
		do    queue.Action
		clear time.Duration
	}{{0, queue.ActionWait, 20 * time.Second}, {9 * time.Second, queue.ActionWait, 11 * time.Second}, {10 * time.Second, queue.ActionWait, 10 * time.Second}, {20 * time.Second, queue.ActionClaim, 0}} {
		snapshot.ReadAt = epoch.Add(step.after)
		if j := decide(q, snapshot, n(7), queue.Mode{}, nil, observer); j.Do != step.do || j.ClearIn != step.clear {
			t.Errorf("after %v judged %+v, want action %d, clear in %v", step.after, j, step.do, step.clear)
		}
	}
}

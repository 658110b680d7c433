package docs_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

func n(i uint64) ticket.Number { return ticket.FromUint64(i) }

// TestOutcomes checks each row of the table of outcomes of a release, in its order.
func TestOutcomes(t *testing.T) {
	const id, call = "a-0", 2
	released := func(id string, call int64) queue.Released { return queue.Released{ID: id, Ticket: n(5), Call: call} }
	evicted := func(id string) queue.Eviction { return queue.Eviction{ID: id, Ticket: n(5)} }
	seen := queue.Marks{Released: released("b-0", 1), Evicted: evicted("c-0")}
	none := queue.Marks{Evicted: evicted("c-0")}
	lost := "was lost"
	for _, row := range []struct {
		record string
		turn   string
		seen   queue.Marks
		cases  map[machine.Outcome]queue.Record
	}{
		{"has the entry, with its ticket", "continues", seen, map[machine.Outcome]queue.Record{
			machine.OutcomeHeld: {Exists: true, Holders: []queue.Holder{{ID: id, Ticket: n(5)}}, Marks: queue.Marks{Released: released(id, call)}},
		}},
		{"does not exist", "unknown; released, for Release of a lock on a deleted item", seen, map[machine.Outcome]queue.Record{
			machine.OutcomeGone: {Marks: queue.Marks{Released: released(id, call)}},
		}},
		{"`released` names a call of the holder", "was released by that call", seen, map[machine.Outcome]queue.Record{
			machine.OutcomeReleased:        {Exists: true, Marks: queue.Marks{Released: released(id, call), Evicted: evicted(id)}},
			machine.OutcomeReleasedEarlier: {Exists: true, Marks: queue.Marks{Released: released(id, call-1), Evicted: evicted(id)}},
		}},
		{"`evicted` names the holder", lost, seen, map[machine.Outcome]queue.Record{
			machine.OutcomeEvicted: {Exists: true, Marks: queue.Marks{Released: released("d-0", 1), Evicted: evicted(id)}},
		}},
		{"has the same `released` as before; or none, as before, and the same `evicted`", lost + ": removed by hand", seen, map[machine.Outcome]queue.Record{
			machine.OutcomeEvicted: {Exists: true, Marks: queue.Marks{Released: seen.Released, Evicted: evicted("d-0")}},
		}},
		{"or none, as before, and the same `evicted`", lost + ": removed by hand", none, map[machine.Outcome]queue.Record{
			machine.OutcomeEvicted: {Exists: true, Marks: none},
		}},
		{"has the same `evicted` as before", "was released", seen, map[machine.Outcome]queue.Record{
			machine.OutcomeReleasedSome: {Exists: true, Marks: queue.Marks{Released: released("d-0", 1), Evicted: seen.Evicted}},
		}},
		{"anything else", "unknown", none, map[machine.Outcome]queue.Record{
			machine.OutcomeUnknown: {Exists: true, Marks: queue.Marks{Evicted: evicted("d-0")}},
		}},
	} {
		says(t, protocolPage, "%s | %s |", row.record, row.turn)
		for want, rec := range row.cases {
			if got := machine.OutcomeOf(rec, id, n(5), call, row.seen); got != want {
				t.Errorf("a record that %s: outcome %d, want %d", row.record, got, want)
			}
		}
	}
}

// TestMade checks each row of the table of outcomes of a transaction.
func TestMade(t *testing.T) {
	const id, number = "a-0", 4
	entry := func(made int64) queue.Record {
		return queue.Record{Exists: true, Holders: []queue.Holder{{ID: id, Ticket: n(5), Made: made}}}
	}
	gone := func(made int64) queue.Record {
		return queue.Record{Exists: true, Marks: queue.Marks{Evicted: queue.Eviction{ID: id, Ticket: n(5), Made: made}}}
	}
	for _, row := range []struct {
		says    string
		want    machine.Made
		records []queue.Record
	}{
		{"| the entry has a lower `made` | may be sent again |", machine.MadeNotYet, []queue.Record{entry(0), entry(2)}},
		{"| the entry, or `evicted` of this holder, has this number | was applied |", machine.MadeYes, []queue.Record{entry(number), gone(number)}},
		{"| either has another number | is never applied |", machine.MadeNever, []queue.Record{entry(number + 1), gone(number - 2), gone(number + 1)}},
		{"| anything else | was not applied, if", machine.MadeUnknown, []queue.Record{{}, {Exists: true}, gone(-1)}},
	} {
		says(t, protocolPage, "%s", row.says)
		for i, rec := range row.records {
			if got := machine.MadeOf(rec, id, n(5), number); got != row.want {
				t.Errorf("%s record %d shows %d, want %d", row.says, i, got, row.want)
			}
		}
	}
}

// q is the queue of the rules, and names are those of its attributes.
var (
	q     = queue.Items{PK: "pk", SK: "sk", TTL: "expiresAt", Entity: "e", Reason: "lock"}
	names = q.Names()
)

// record returns a record that issued tickets up to 9, with the holders that a CLAIM of each ticket granted.
func record(t *testing.T, more av.Item, held ...uint64) (item av.Item) {
	t.Helper()
	item = av.With(q.RecordKey(), av.Item{"ticketNumber": av.Num(9), "granted": av.Num(3), "servingAfter": av.Num(2), "holders": av.Object(av.Item{})})
	for _, i := range held {
		item = apply(t, queue.Claim(entryOf(i), n(i)), item)
	}
	return av.With(item, more)
}

func entryOf(i uint64) queue.Entry {
	return queue.Entry{ID: "id-" + n(i).String(), Lease: queue.Lease{TTL: time.Minute, Until: time.UnixMilli(1_800_000_000_000)}}
}

func apply(t *testing.T, w clause.Write, item av.Item) av.Item {
	t.Helper()
	after, fate := w.Apply(names, item)
	if fate != clause.Applied {
		t.Fatalf("%s is not applied to %v", w.Name, item)
	}
	return after
}

// TestWaiterRules checks the rules of what a waiter does by which it decides, in their order: each one is met by a snapshot
// that meets no earlier one.
func TestWaiterRules(t *testing.T) {
	ahead := queue.Waiter{Ticket: n(6), ID: "r", Lease: queue.Lease{TTL: time.Minute}}
	idle := av.With(q.RecordKey(), av.Item{"ticketNumber": av.Num(9), "granted": av.Num(3)})
	const mine = 7
	for _, rule := range []struct {
		says   string
		want   queue.Action
		record av.Item
		ticket uint64
		ids    []string
		rows   []queue.Waiter
	}{
		{"1. One of its ids is in `holders`: granted.", queue.ActionServed, record(t, nil, mine), mine, []string{"id-7"}, nil},
		{"3. Its ticket is at or below the floor, or above `ticketNumber`: overtaken.", queue.ActionOvertaken, record(t, nil, mine), mine, nil, nil},
		{"or above `ticketNumber`: overtaken.", queue.ActionOvertaken, record(t, nil), 10, nil, nil},
		{"4. `holders` is absent: TAKE again.", queue.ActionNewTicket, idle, mine, nil, nil},
		{"5. A live row is ahead, or there is no room: wait.", queue.ActionWait, record(t, nil), mine, nil, []queue.Waiter{ahead}},
		{"or there is no room: wait.", queue.ActionWait, record(t, nil, 5), mine, nil, nil},
		{"6. CLAIM.", queue.ActionClaim, record(t, nil), mine, nil, nil},
	} {
		says(t, protocolPage, "%s", rule.says)
		s := queue.Snapshot{Record: locktest.Must(queue.DecodeRecord(q, rule.record)), Rows: rule.rows}
		l := queue.Leases{Holders: lives(len(s.Record.Holders)), Rows: lives(len(s.Rows))}
		if got := s.Decide(l, n(rule.ticket), queue.Mode{}, rule.ids); got.Do != rule.want {
			t.Errorf("%s A waiter does %d, want %d", rule.says, got.Do, rule.want)
		}
	}
}

// lives are leases that have not ended.
func lives(n int) (left []time.Duration) {
	for range n {
		left = append(left, time.Second)
	}
	return left
}

// TestAppliedTwice applies each write twice. The page of failures says of each request that the second is refused, or what it
// does.
func TestAppliedTwice(t *testing.T) {
	const id = "id-5"
	held := record(t, nil, 5)
	home := av.Item{"ticketNumber": av.Num(5), "scope": av.Str("entity")}
	idle := av.With(q.RecordKey(), av.Item{"ticketNumber": av.Num(5), "granted": av.Num(5)})
	waiter := queue.Waiter{Ticket: n(6), ID: "r-6", Lease: entryOf(6).Lease}
	row := waiter.Item(q)
	present := locktest.Must(queue.DecodeRecord(q, held)).Holders[0]
	master := ticket.Master{Attribute: attr.TicketNumber, Names: names}
	ending := queue.Ending{ID: id, Ticket: n(5), Next: queue.Next{Entry: entryOf(6), Ticket: n(6)}}
	provisional := entryOf(5)
	provisional.Lease.FailClosed = true
	unconfirmed := apply(t, queue.Claim(provisional, n(5)), record(t, nil))
	only := av.With(held, av.Item{"ticketNumber": av.Num(5)})

	type write struct {
		clause.Write
		item av.Item
	}
	for request, writes := range map[string][]write{
		"TAKE":               {{master.Take(queue.Take(entryOf(6), false), n(0)).Write, idle}},
		"NUMBER":             {{master.Take(ticket.Rider{}, n(0)).Write, idle}},
		"ENTER":              {{queue.Enter(entryOf(6), n(6), ticket.ScopeEntity, false), av.With(q.RecordKey(), home)}},
		"RAISE":              {{master.Raise(n(6)), idle}},
		"ENQUEUE":            {{queue.Enqueue(row, ""), nil}},
		"CLAIM":              {{queue.Claim(entryOf(5), n(5)), record(t, nil)}},
		"CONFIRM":            {{queue.Confirm(id, n(5), time.Time{}), unconfirmed}},
		"HEARTBEAT":          {{queue.Renewal{Until: entryOf(5).Lease.Until}.Heartbeat(id, n(5)), held}, {waiter.Renew(waiter.Lease.Until, time.Time{}), row}},
		"SETDATA, DOWNGRADE": {{queue.SetData(id, n(5), 1, []byte("x")), held}, {queue.Downgrade(id, n(5), 2), held}},
		"FENCE":              {{queue.NumberedFence(id, n(5), true, 2), held}},
		"SETTLE":             {{queue.Settle(id, n(5), 2), held}},
		"RELEASE, UpdateAndRelease": {
			{ending.Release(queue.FormFast, time.Time{}), only}, {ending.Release(queue.FormHandOff, time.Time{}), held},
		},
		"PASS":  {{ending.Release(queue.FormPass, time.Time{}), held}},
		"RESET": {{queue.Reset(n(9), time.Time{}), record(t, nil)}},
		"EVICT, SWEEP": {
			{queue.Evict(queue.Eviction{ID: id}, present), held}, {queue.DecodeRow(q, row).Sweep(), row},
		},
		"CLEAN UP": {{queue.Remove(id, "other"), held}, {queue.Leave(waiter.ID), row}},
		"RESUME":   {{queue.Resume(entryOf(6), present.Ticket, present, queue.Eviction{ID: id}), held}},
	} {
		cells := regexp.MustCompile(`(?m)^\| ` + request + ` \| [^|]* \| ([^|]*) \|`).FindStringSubmatch(read(t, failuresPage))
		if cells == nil {
			t.Errorf("the page of failures has no row for %s", request)
			continue
		}
		for _, w := range writes {
			refused := w.Refuses(names, apply(t, w.Write, w.item)) != nil
			if refused != strings.HasPrefix(cells[1], "refused") || refused == strings.HasPrefix(cells[1], "applied") {
				t.Errorf("the page says of a second %s: %s; refused: %v", w.Name, cells[1], refused)
			}
		}
	}
}

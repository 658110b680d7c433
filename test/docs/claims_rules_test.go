package docs_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

func n(i uint64) ticket.Number { return ticket.FromUint64(i) }

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
		"ENQUEUE":            {{queue.Enqueue(row, nil), nil}},
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

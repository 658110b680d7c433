package serving_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

func TestMain(m *testing.M) {
	locktest.SmallTickets()
	locktest.Main(m)
}

func n(i int) ticket.Number { return ticket.FromUint64(uint64(i)) }

// queueOf is a queue of the table as a client of its own sees it.
func queueOf(tb *queuelocktest.Table, entity string) table.Queue {
	layout := table.Layout{Table: tb.Name(), PK: "pk", SK: "sk", TTL: "expiresAt"}
	return table.NewStore(tb.Client("c", retriesAtOnce), layout, 5*time.Second).Queue(entity, "lock", nil)
}

// retriesAtOnce lets the SDK try again as it does, without a pause.
func retriesAtOnce(o *dynamodb.Options) {
	o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
		r.RateLimiter = ratelimit.None
		r.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	})
}

// takeAfter is TAKE of a record's own counter, which begins after base.
func takeAfter(e queue.Entry, base ticket.Number, noWait bool) clause.Write {
	return ticket.Master{Attribute: queue.AttrTicketNumber}.Take(queue.Take(e, noWait), base).Write
}

func entryOf(id string) queue.Entry {
	return queue.Entry{ID: id, Owner: "owner of " + id, Lease: queue.Lease{TTL: time.Minute}}
}

func endingOf(id string, ticket int) queue.Ending {
	return queue.Ending{ID: id, Ticket: n(ticket), Call: 1}
}

// state is the record in plain Go.
type state struct {
	Exists, Present        bool
	Number, Granted, After int
	Holders                map[string]held
}

type held struct{ Ticket, Beat, Until int }

func (s state) floor() int {
	if s.Present {
		return max(s.Granted, s.After+1)
	}
	return s.Granted
}

func (s state) holds(id string) bool { _, ok := s.Holders[id]; return ok }

// model is the item as the descriptions of the writes change it.
type model struct {
	item clause.Item
	q    table.Queue
}

// apply applies a write, and reports whether its conditions hold.
func (m *model) apply(rt *rapid.T, w clause.Write) bool {
	after, fate := w.Apply(m.q.Names(), m.item)
	switch fate {
	case clause.Refused:
		return false
	case clause.Invalid:
		rt.Fatalf("%s of %v is invalid", w.Name, m.item)
	}
	if m.item = after; m.item["pk"] == nil {
		maps.Copy(m.item, m.q.RecordKey())
	}
	return true
}

func (m *model) state(rt *rapid.T) state {
	rec, err := queue.DecodeRecord(m.q.Items, m.item)
	if err != nil {
		rt.Fatal(err)
	}
	return seen(rec)
}

// seen is a decoded record in the model's terms.
func seen(rec queue.Record) state {
	number := func(t ticket.Number) int { return int(t.After(ticket.Number{})) }
	s := state{
		Exists: rec.Exists, Present: rec.Present,
		Number: number(rec.TicketNumber), Granted: number(rec.Granted), After: number(rec.ServingAfter),
	}
	if rec.Present {
		s.Holders = map[string]held{}
	}
	for _, h := range rec.Holders {
		x := held{Ticket: number(h.Ticket), Beat: int(h.Lease.Beat)}
		if !h.Lease.Until.IsZero() {
			x.Until = int(h.Lease.Until.UnixMilli())
		}
		s.Holders[h.ID] = x
	}
	return s
}

// client is what one process knows: everything it ever did, to be done again
// late.
type client struct {
	name    string
	ids     int
	numbers []int          // of a wider counter
	tickets []int          // that it took or entered with
	grants  map[string]int // id to ticket, of what it was granted or tried to claim
	evicts  []queue.Holder
}

func (c *client) newID() string {
	c.ids++
	return fmt.Sprintf("%s-%d", c.name, c.ids)
}

// TestRecordFollowsProtocol lets clients do anything they may, at any time:
// also what they should have done long ago. After each write the record is as the
// descriptions of the writes say, and the invariants hold.
func TestRecordFollowsProtocol(t *testing.T) {
	for name, options := range map[string][]queuelocktest.Option{"current": nil, "without dates": {queuelocktest.WithoutDate()}} {
		t.Run(name, func(t *testing.T) {
			tb := queuelocktest.NewTable(t, options...)
			runs := 0
			for _, scope := range []ticket.Scope{ticket.ScopeQueue, ticket.ScopeTable} {
				rapid.Check(t, func(rt *rapid.T) {
					runs++
					followsTheProtocol(t, rt, tb, queueOf(tb, fmt.Sprint("e", runs)), scope)
				})
			}
		})
	}
}

func followsTheProtocol(t *testing.T, rt *rapid.T, tb *queuelocktest.Table, q table.Queue, scope ticket.Scope) {
	ctx := t.Context()
	m := model{q: q}
	clients := []*client{{name: "a"}, {name: "b"}, {name: "c"}}
	for _, c := range clients {
		c.grants = map[string]int{}
	}
	lastGrant, clock, counter := 0, 0, 0
	ops := []string{
		"take", "take", "take if idle", "claim", "claim", "claim again", "heartbeat", "release fast", "release fast",
		"hand off", "hand off", "pass", "pass", "reset", "look at holders", "evict", "remove",
	}
	if scope != ticket.ScopeQueue {
		ops = append([]string{"number", "number", "enter", "enter", "enter", "enter if idle", "enter again"}, ops[3:]...)
	}
	known := map[string]bool{}

	for range rapid.IntRange(1, 40).Draw(rt, "steps") {
		c := rapid.SampledFrom(clients).Draw(rt, "client")
		ids := slices.Sorted(maps.Keys(c.grants))
		op := rapid.SampledFrom(ops).Draw(rt, "op")
		lost := rapid.IntRange(0, 4).Draw(rt, "answer lost") == 0

		before := m.state(rt)
		var rec queue.Record
		var err error
		var write clause.Write // the same, for the model
		number := 0            // that has entered
		var send func() (queue.Record, error)
		pick := func() (string, int) {
			id := rapid.SampledFrom(ids).Draw(rt, "id")
			return id, c.grants[id]
		}
		switch op {
		case "take", "take if idle":
			id := c.newID()
			write = takeAfter(entryOf(id), n(0), op == "take if idle")
			send = func() (queue.Record, error) { return serving.Take(ctx, q, entryOf(id), op == "take if idle") }
		case "number":
			counter += rapid.IntRange(1, 3).Draw(rt, "numbers") // those between are of other queues
			c.numbers = append(c.numbers, counter)
			continue
		case "enter", "enter if idle", "enter again":
			if len(c.numbers) == 0 {
				continue
			}
			// A new id, or one that may have been sent with this ticket before.
			number = rapid.SampledFrom(c.numbers).Draw(rt, "number")
			id := fmt.Sprintf("%s-of-%d", c.name, number)
			if op != "enter again" {
				id = c.newID()
			}
			write = queue.Enter(entryOf(id), n(number), scope, op == "enter if idle")
			send = func() (queue.Record, error) {
				return serving.Enter(ctx, q, entryOf(id), n(number), scope, op == "enter if idle")
			}
		case "claim", "claim again":
			if len(c.tickets) == 0 || op == "claim again" && len(ids) == 0 {
				continue
			}
			id, ticket := c.newID(), rapid.SampledFrom(c.tickets).Draw(rt, "ticket")
			if op == "claim again" {
				id, ticket = pick()
			}
			c.grants[id] = ticket
			write = queue.Claim(entryOf(id), n(ticket))
			send = func() (queue.Record, error) { return serving.Claim(ctx, q, entryOf(id), n(ticket)) }
		case "heartbeat":
			if len(ids) == 0 {
				continue
			}
			id, ticket := pick()
			clock += rapid.IntRange(-2, 5).Draw(rt, "until")
			until := max(clock, 0)
			r := queue.Renewal{}
			if until > 0 {
				r.Until = time.UnixMilli(int64(until))
			}
			write = r.Heartbeat(id, n(ticket))
			send = func() (queue.Record, error) { return heartbeat(ctx, q, id, n(ticket), r) }
		case "release fast":
			if len(ids) == 0 {
				continue
			}
			id, ticket := pick()
			write = endingOf(id, ticket).Release(queue.FormFast, time.Time{})
			send = func() (queue.Record, error) {
				rec, err := sendRelease(ctx, q, queue.FormFast, endingOf(id, ticket))
				if err != nil {
					return rec, err
				}
				return serving.Get(ctx, q) // the answer contains no record
			}
		case "hand off":
			if len(ids) == 0 {
				continue
			}
			id, ticket := pick()
			write = endingOf(id, ticket).Release(queue.FormHandOff, time.Time{})
			send = func() (queue.Record, error) {
				return sendRelease(ctx, q, queue.FormHandOff, endingOf(id, ticket))
			}
		case "pass":
			if len(ids) == 0 || len(c.tickets) == 0 {
				continue
			}
			id, t := pick()
			next, w := c.newID(), rapid.SampledFrom(c.tickets).Draw(rt, "ticket")
			c.grants[next] = w
			e := endingOf(id, t)
			e.Next = queue.Next{Entry: entryOf(next), Ticket: n(w)}
			write = e.Release(queue.FormPass, time.Time{})
			send = func() (queue.Record, error) {
				return sendRelease(ctx, q, queue.FormPass, e)
			}
		case "remove":
			if len(ids) == 0 {
				continue
			}
			id, _ := pick()
			write = queue.Remove(id)
			send = func() (queue.Record, error) { return serving.Remove(ctx, q, id) }
		case "reset":
			granted := 0 // to no waiter: only the first form
			for _, id := range ids {
				if known[id] && c.grants[id] > 0 && rapid.Bool().Draw(rt, "this one") {
					granted = c.grants[id]
				}
			}
			write = queue.Reset(n(granted), time.Time{})
			send = func() (queue.Record, error) { return serving.Reset(ctx, q, n(granted)) }
		case "look at holders":
			if rec, err = serving.Get(ctx, q); err != nil {
				rt.Fatal(err)
			}
			c.evicts = append(c.evicts, rec.Holders...)
			continue
		case "evict":
			if len(c.evicts) == 0 {
				continue
			}
			h := c.evicts[rapid.IntRange(0, len(c.evicts)-1).Draw(rt, "holder")]
			write = queue.Evict(queue.Eviction{ID: h.ID, Ticket: h.Ticket, Made: h.Made}, h)
			send = func() (queue.Record, error) { return serving.Evict(ctx, q, h) }
		}

		var fault *queuelocktest.Injection
		if lost {
			fault = tb.Inject(queuelocktest.LoseResponse().Of("UpdateItem").Times(1))
		}
		granted, repeated := m.apply(rt, write), lost && write.Repeat == clause.Freely
		if repeated { // a lost answer is followed by the same request
			granted = m.apply(rt, write)
		}
		after := m.state(rt)
		rec, err = send()
		if lost {
			fault.Remove()
			if fault.Fired() != 1 {
				rt.Fatalf("%s: no answer was lost", op)
			}
		}
		made := errors.Is(err, serving.ErrMade)
		switch {
		case lost && !repeated:
			if err == nil || errors.Is(err, serving.ErrRefused) || !table.Applied(err) {
				rt.Fatalf("%s with a lost answer gave %v", op, err)
			}
		case granted && err != nil, !granted && !errors.Is(err, serving.ErrRefused) && !made:
			rt.Fatalf("%s gave %v, want that it is granted: %v\nfrom %+v", op, err, granted, before)
		case made && (op != "heartbeat" && number == 0 || granted):
			rt.Fatalf("%s gave %v, granted: %v", op, err, granted)
		default:
			if diff := cmp.Diff(after, seen(rec)); diff != "" {
				rt.Fatalf("%s returned another record (-want +got):\n%s", op, diff)
			}
		}
		now, err := serving.Get(ctx, q)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(after, seen(now)); diff != "" {
			rt.Fatalf("after %s (answer lost: %v) the record is another (-want +got):\n%s", op, lost, diff)
		}

		// What the client learns, or could.
		if op == "take" || op == "take if idle" {
			if after.Number > before.Number {
				c.tickets = append(c.tickets, after.Number)
			}
		}
		if number > 0 && after.Number >= number && !lost {
			c.tickets = append(c.tickets, number) // a row may be put
		}
		for id, h := range after.Holders {
			if !before.holds(id) {
				if h.Ticket <= lastGrant {
					rt.Fatalf("ticket %d was granted after %d", h.Ticket, lastGrant)
				}
				lastGrant = h.Ticket
				known[id] = true
				c.grants[id] = h.Ticket
			}
		}
		if len(after.Holders) > 1 {
			rt.Fatalf("there are %d holders", len(after.Holders))
		}
		if got := int(now.Floor().After(ticket.Number{})); got != after.floor() || got < before.floor() {
			rt.Fatalf("the floor went from %d to %d, want %d", before.floor(), got, after.floor())
		}
		if after.floor() > after.Number {
			rt.Fatalf("the floor %d is above the last ticket issued, %d", after.floor(), after.Number)
		}
	}
}

package queue_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/testbed/writetest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// draw draws the parts of records and of writes, from few values, so that they often meet.
type draw struct{ *rand.Rand }

func (d draw) id() string { return []string{"a-0", "b.c-1", "d-2"}[d.IntN(3)] }

func (d draw) ticket() ticket.Number { return n(1 + d.IntN(4)) }

func (d draw) small() int64 { return int64(d.IntN(3)) }

func (d draw) at() time.Time { return time.UnixMilli(1000 + d.small()) }

func (d draw) mode() queue.Mode {
	return []queue.Mode{{}, {}, {Shared: true}, {Shared: true, Readers: 2}, {Permits: 1}, {Permits: 2}}[d.IntN(6)]
}

func (d draw) entry() queue.Entry {
	return queue.Entry{ID: d.id(), Owner: "o", Mode: d.mode(), Lease: queue.Lease{TTL: time.Minute, Until: d.at()}}
}

func (d draw) holder() queue.Holder {
	h := queue.Holder{ID: d.id(), Ticket: d.ticket(), Lease: queue.Lease{Beat: d.small()}, Made: d.small()}
	return h.Read(d.IntN(2) == 0, d.IntN(2) == 0)
}

func (d draw) ending() queue.Ending {
	e := queue.Ending{ID: d.id(), Ticket: d.ticket(), Call: 1, Lost: d.IntN(2) == 0}
	times := []time.Time{d.at(), d.at().Add(3 * time.Millisecond)}
	switch d.IntN(6) {
	case 0:
		e.Settled = times[:1+d.IntN(2)]
	case 1:
		e.Unsettled, e.Replaces = d.at(), true
	case 2:
		e.Unsettled, e.Bounded, e.Crowd = d.at(), true, times
	case 3:
		e.Unsettled, e.Bounded = d.at(), true
	case 4:
		e.Unsettled = d.at()
	}
	if d.IntN(3) == 0 {
		e.Unmade = 1 + d.small()
	}
	return e
}

// record draws an item: most are records, some have a part that is missing, or of another type.
func (d draw) record() clause.Item {
	item := clause.Item{}
	put := func(name string, v types.AttributeValue) {
		switch d.IntN(25) {
		case 0:
		case 1:
			item[name] = clause.String("x")
		default:
			item[name] = v
		}
	}
	count := func(n int) types.AttributeValue { return clause.Int(int64(n)) }
	issued := 1 + d.IntN(4)
	put("ticketNumber", count(issued))
	if d.IntN(4) > 0 {
		put("granted", count(d.IntN(issued+1)))
	}
	if d.IntN(4) > 0 {
		put("servingAfter", count(d.IntN(issued+1)))
		holders := clause.Item{}
		for range []int{0, 1, 1, 2, 3}[d.IntN(5)] {
			holders[d.id()] = d.entryItem()
		}
		put("holders", clause.Map(holders))
	}
	for name, value := range map[string]types.AttributeValue{
		"holdMode": clause.String([]string{"exclusive", "shared", "other"}[min(d.IntN(9)/4, 2)]), "permits": clause.Int(1 + int64(d.IntN(2))),
		"scope": clause.String([]string{"entity", "shared"}[d.IntN(2)]), "expiresAt": clause.Int(5),
	} {
		if d.IntN(2) == 0 {
			put(name, value)
		}
	}
	switch d.IntN(6) {
	case 0:
		var many []time.Time
		for i := range queue.MaxUnsettled {
			many = append(many, time.UnixMilli(int64(i)))
		}
		put("unsettled", clause.Times(many...))
	case 1, 2:
		put("unsettled", clause.Times(d.at(), d.at().Add(3*time.Millisecond)))
	}
	return item
}

func (d draw) entryItem() types.AttributeValue {
	e := clause.Item{"owner": clause.String("o"), "beat": clause.Int(d.small())}
	for name, value := range map[string]types.AttributeValue{
		"ticket": d.ticket().Attribute(), "until": clause.Int(1000 + d.small()), "ttl": clause.Int(60_000), "made": clause.Int(d.small()),
		"dataSet": clause.Int(d.small()), "reached": d.ticket().Attribute(), "turns": clause.Int(2), "data": &types.AttributeValueMemberB{Value: []byte("d")}, "mode": clause.String("shared"),
		"failClosed": &types.AttributeValueMemberBOOL{Value: d.IntN(3) > 0}, "revoked": clause.Map(clause.Item{"by": clause.String("o")}),
	} {
		if d.IntN(2) == 0 {
			e[name] = value
		}
	}
	if d.IntN(30) == 0 {
		return clause.String("no entry")
	}
	return clause.Map(e)
}

// take is TAKE of a record's own counter.
func take(e queue.Entry, noWait bool) clause.Write {
	return ticket.Master{Attribute: attr.TicketNumber}.Take(queue.Take(e, noWait), n(3)).Write
}

// TestWrites draws records and writes. See writetest.Suite.
func TestWrites(t *testing.T) {
	scopes := []ticket.Scope{ticket.ScopeEntity, ticket.ScopeTable}
	write := map[string]func(draw) clause.Write{
		"TAKE": func(d draw) clause.Write { return take(d.entry(), d.IntN(2) == 0) },
		"ENTER": func(d draw) clause.Write {
			return queue.Enter(d.entry(), d.ticket(), scopes[d.IntN(2)], d.IntN(2) == 0)
		},
		"CLAIM": func(d draw) clause.Write { return queue.Claim(d.entry(), d.ticket()) },
		"RESUME": func(d draw) clause.Write {
			e := d.entry()
			e.ID = "new-0"
			old := d.holder()
			old.Turns = d.IntN(3)
			return queue.Resume(e, d.ticket(), old, queue.Eviction{ID: "x", Ticket: n(1)})
		},
		"HEARTBEAT": func(d draw) clause.Write {
			r := queue.Renewal{Until: d.at(), Since: d.at(), TTL: time.Duration(d.small()) * time.Second}
			if d.IntN(4) == 0 {
				r = queue.Renewal{}
			}
			if d.IntN(2) == 0 {
				r.Turn = d.ticket()
			}
			return r.Heartbeat(d.id(), d.ticket())
		},
		"ADVANCE":   func(d draw) clause.Write { return queue.Advance(d.id(), d.ticket(), d.ticket(), d.small()) },
		"CONFIRM":   func(d draw) clause.Write { return queue.Confirm(d.id(), d.ticket(), d.at()) },
		"DOWNGRADE": func(d draw) clause.Write { return queue.Downgrade(d.id(), d.ticket(), d.small()) },
		"SETDATA": func(d draw) clause.Write {
			return queue.SetData(d.id(), d.ticket(), d.small(), []byte("data")[:4*d.IntN(2)])
		},
		"FENCE": func(d draw) clause.Write {
			return queue.Fence(d.id(), d.ticket(), d.IntN(2) == 0)
		},
		"FENCE, of a turn": func(d draw) clause.Write {
			id := d.id()
			return queue.OfTurn(queue.Fence(id, d.ticket(), d.IntN(2) == 0), id, d.ticket())
		},
		"FENCE, numbered": func(d draw) clause.Write {
			return queue.NumberedFence(d.id(), d.ticket(), d.IntN(2) == 0, 1+d.small())
		},
		"SETTLE":            func(d draw) clause.Write { return queue.Settle(d.id(), d.ticket(), 1+d.small()) },
		"RESET":             func(d draw) clause.Write { return queue.Reset(d.ticket(), d.forget()) },
		"RELEASE, fast":     func(d draw) clause.Write { return d.ending().Release(queue.FormFast, d.forget()) },
		"RELEASE, hand-off": func(d draw) clause.Write { return d.ending().Release(queue.FormHandOff, time.Time{}) },
		"PASS": func(d draw) clause.Write {
			e := d.ending()
			e.Next = queue.Next{Entry: d.entry(), Ticket: d.ticket()}
			e.Next.Entry.ID, e.Next.Entry.Mode = "next-0", queue.Mode{}
			return e.Release(queue.FormPass, time.Time{})
		},
		"RETAKE": func(d draw) clause.Write {
			e := d.ending()
			e.Next = queue.Next{Entry: d.entry(), Ticket: d.ticket().Plus(1), New: true}
			e.Next.Entry.ID, e.Next.Entry.Mode, e.Next.Entry.Turns = "next-0", queue.Mode{}, d.IntN(3)
			return e.Release(queue.FormPass, time.Time{})
		},
		"EVICT": func(d draw) clause.Write {
			holders := []queue.Holder{d.holder(), d.holder()}[:1+d.IntN(2)]
			if len(holders) > 1 && holders[0].ID == holders[1].ID {
				holders = holders[:1]
			}
			return queue.Evict(queue.Eviction{ID: "x", Ticket: n(1)}, holders...)
		},
		"EVICT, fail closed": func(d draw) clause.Write {
			return queue.EvictFailClosed(queue.Eviction{ID: "x", Ticket: n(1)}, d.holder())
		},
		"CLEAN UP": func(d draw) clause.Write { return queue.Remove([]string{"a-0", "d-2"}[:1+d.IntN(2)]...) },
	}
	suite := writetest.Suite{
		Names:   clause.Names{Key: "pk", Expires: "expiresAt"},
		Write:   map[string]func(*rand.Rand) clause.Write{},
		Implied: map[string]string{"CONFIRM: holder": "an entry without a beat is refused, too"},
		Item:    func(r *rand.Rand) clause.Item { return draw{r}.record() },
	}
	for name, f := range write {
		suite.Write[name] = func(r *rand.Rand) clause.Write { return f(draw{r}) }
	}
	suite.Run(t)
}

func (d draw) forget() time.Time {
	if d.IntN(2) == 0 {
		return time.Time{}
	}
	return time.Unix(9, 0)
}

package conditions

import (
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Shapes are all writes of the library, each in all its shapes.
func Shapes() (all []clause.Write) {
	add := func(w ...clause.Write) { all = append(all, w...) }
	one := number(1)
	at := start
	old := queue.Holder{ID: "a-0", Ticket: one}
	block := queue.Holder{ID: "a-0", Ticket: one, Turns: 2}
	mark := queue.Eviction{ID: old.ID, Ticket: one}

	host := counterOf(hostNames)
	creates := host
	creates.Create = true
	masters := []ticket.Master{counterOf(recordNames), host, creates}
	item := clause.Item{"pk": clause.String("x")}
	takes := func(m ticket.Master, r ticket.Rider) {
		add(m.Take(r, one).Write, m.TakeThenSeed(r, one).Write)
		for _, is := range []clause.Item{nil, item} {
			if seed, err := m.TakeThenSeed(r, one).Refused(is); err == nil {
				add(seed.Write)
			}
		}
	}
	takes(masters[0], ticket.Rider{})
	add(masters[0].Raise(one))
	for _, m := range []queue.Mode{{}, {Shared: true, Readers: 2}, {Permits: 2}} {
		e := queue.Entry{ID: "b-0", Mode: m, Lease: queue.Lease{TTL: lease, Until: at}}
		for _, noWait := range []bool{false, true} {
			for _, master := range masters {
				takes(master, queue.Take(e, noWait))
			}
			add(queue.Enter(e, one, ticket.ScopeEntity, noWait))
		}
		add(queue.Record{Permits: m.Permits}.Claim(e, one), queue.Resume(e, old.Ticket, old, mark), queue.Resume(e, block.Ticket, block, mark))
		for _, alone := range []bool{false, true} {
			for _, fence := range []clause.Write{queue.Fence(old.ID, one, alone), queue.NumberedFence(old.ID, one, alone, 2)} {
				add(fence, queue.OfTurn(fence, old.ID, one))
			}
		}
		for _, f := range []queue.Form{queue.FormFast, queue.FormHandOff, queue.FormPass} {
			for _, change := range []func(*queue.Ending){
				func(*queue.Ending) {},
				func(e *queue.Ending) { e.Unmade = 2 },
				func(e *queue.Ending) { e.Settled = []time.Time{at} },
				func(e *queue.Ending) { e.Unsettled = at },
				func(e *queue.Ending) { e.Unsettled, e.Replaces = at, true },
				func(e *queue.Ending) { e.Unsettled, e.Bounded = at, true },
				func(e *queue.Ending) { e.Unsettled, e.Bounded, e.Crowd = at, true, []time.Time{at} },
			} {
				end := queue.Ending{ID: old.ID, Ticket: one, Call: 1, Next: queue.Next{Entry: e, Ticket: one}}
				change(&end)
				if f == queue.FormPass && end.Bounded {
					continue // only an exclusive holder passes, which replaces the times
				}
				timed, retakes := end, end
				if f != queue.FormPass && end.Unmade == 0 && end.Unsettled.IsZero() && end.Settled == nil {
					left := end
					left.Result = &queue.Result{Ticket: one, Value: []byte("1"), Until: at}
					add(left.Release(f, time.Time{}))
				}
				timed.HoldTime.Mean = lease
				add(timed.Release(f, time.Time{}), end.Release(f, at))
				if retakes.Next.New = true; f == queue.FormPass && m == (queue.Mode{}) {
					add(retakes.Release(f, time.Time{}))
				}
			}
		}
	}
	for _, until := range []time.Time{{}, at} {
		beat := queue.Renewal{Until: until, Since: until, TTL: lease}
		ofTurn := beat
		ofTurn.Turn = one
		add(beat.Heartbeat(old.ID, one), ofTurn.Heartbeat(old.ID, one), queue.Confirm(old.ID, one, until), queue.Waiter{ID: "a-0"}.Renew(until, until), queue.Reset(one, until))
	}
	row := clause.Item{attr.ID: clause.String("a-0"), attr.Beat: clause.Int(0)}
	waiter := queue.Waiter{ID: "a-0"}
	sweep := func(row clause.Item) clause.Write {
		return queue.DecodeRow(queue.Items{PK: "pk", SK: "sk"}, row).Sweep()
	}
	keep := func(until time.Time) clause.Write {
		return waiter.Keep(queue.Lease{TTL: lease, Until: until}, time.UnixMilli(1))
	}
	add(
		queue.Ending{ID: old.ID, Ticket: one, Call: 1, Closed: &queue.Closed{Since: at, Until: at, Rest: lease}}.Release(queue.FormClose, at),
		queue.Revoke(old.ID, one, queue.Revocation{By: "b"}), queue.Evict(mark, queue.Holder{ID: "closed-a-0", Ticket: one, Closed: true}),
		queue.Advance(old.ID, one, one, 0), queue.Advance(old.ID, one, one, 1), queue.Downgrade(old.ID, one, 2), queue.Settle(old.ID, one, 2),
		queue.SetData(old.ID, one, 1, []byte("1")), queue.SetData(old.ID, one, 2, nil),
		queue.Evict(mark, old), queue.Evict(mark, old, queue.Holder{ID: "b-0"}), queue.EvictFailClosed(mark, old), queue.Remove("a-0", "a-1"),
		queue.Enqueue(row, nil), queue.Enqueue(row, []string{"b"}), queue.Leave("a-0"), queue.Quit(queue.Handle{ID: "a"}),
		keep(at), keep(time.Time{}), sweep(row), sweep(nil),
	)
	return all
}

package serving_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
)

// The table of what a record says of holder "me", served with ticket 5, and of
// its second release call. At its grant the marks were those of ticket 4.
func TestRecordOutcome(t *testing.T) {
	before := queue.Released{ID: "before", Ticket: n(4), Call: 1}
	seed := queue.Eviction{ID: "seed"}
	seen := queue.Marks{Released: before, Evicted: seed}
	mine := func(call int64) queue.Released { return queue.Released{ID: "me", Ticket: n(5), Call: call} }
	later := queue.Released{ID: "later", Ticket: n(6), Call: 2}
	evictedMe := queue.Eviction{ID: "me", Ticket: n(5)}
	evictedLater := queue.Eviction{ID: "later", Ticket: n(7)}
	me := []queue.Holder{{ID: "me", Ticket: n(5)}}
	for _, c := range []struct {
		name string
		now  queue.Record
		seen queue.Marks
		want queue.Outcome
	}{
		{"held", queue.Record{Exists: true, Holders: me, Marks: seen}, seen, queue.OutcomeHeld},
		{"held, whatever the marks say", queue.Record{Exists: true, Holders: me, Marks: queue.Marks{Released: later}}, seen, queue.OutcomeHeld},
		{"an orphaned entry with another ticket", queue.Record{Exists: true, Holders: []queue.Holder{{ID: "me", Ticket: n(6)}}, Marks: seen}, seen, queue.OutcomeEvicted},
		{"no record", queue.Record{}, seen, queue.OutcomeGone},
		{"an item without the record", queue.Record{Item: clause.Item{}}, seen, queue.OutcomeGone},
		{"released by this call", queue.Record{Exists: true, Marks: queue.Marks{Released: mine(2), Evicted: seed}}, seen, queue.OutcomeReleased},
		{"released by an earlier call", queue.Record{Exists: true, Marks: queue.Marks{Released: mine(1), Evicted: seed}}, seen, queue.OutcomeReleasedEarlier},
		{"released, then others evicted", queue.Record{Exists: true, Marks: queue.Marks{Released: mine(2), Evicted: evictedLater}}, seen, queue.OutcomeReleased},
		{"evicted", queue.Record{Exists: true, Marks: queue.Marks{Released: before, Evicted: evictedMe}}, seen, queue.OutcomeEvicted},
		{"evicted, then others released", queue.Record{Exists: true, Marks: queue.Marks{Released: later, Evicted: evictedMe}}, seen, queue.OutcomeEvicted},
		{"removed by hand", queue.Record{Exists: true, Marks: seen}, seen, queue.OutcomeEvicted},
		{"evicted, then another", queue.Record{Exists: true, Marks: queue.Marks{Released: before, Evicted: evictedLater}}, seen, queue.OutcomeEvicted},
		{"released, then others released", queue.Record{Exists: true, Marks: queue.Marks{Released: later, Evicted: seed}}, seen, queue.OutcomeReleasedSome},
		{"others released, and an entry whose ticket cannot be read", queue.Record{Exists: true, Holders: []queue.Holder{{ID: "me", Problem: errors.New("bad")}}, Marks: queue.Marks{Released: later, Evicted: seed}}, seen, queue.OutcomeUnknown},
		{"released, and an orphaned entry with another ticket", queue.Record{Exists: true, Holders: []queue.Holder{{ID: "me", Ticket: n(6)}}, Marks: queue.Marks{Released: later, Evicted: seed}}, seen, queue.OutcomeReleasedSome},
		{"others released and were evicted since", queue.Record{Exists: true, Marks: queue.Marks{Released: later, Evicted: evictedLater}}, seen, queue.OutcomeUnknown},
		{"removed by hand before any release", queue.Record{Exists: true, Marks: queue.Marks{Evicted: seed}}, queue.Marks{Evicted: seed}, queue.OutcomeEvicted},
		{"released before any other release", queue.Record{Exists: true, Marks: queue.Marks{Released: later, Evicted: seed}}, queue.Marks{Evicted: seed}, queue.OutcomeReleasedSome},
		{"a new record", queue.Record{Exists: true, Marks: queue.Marks{Evicted: queue.Eviction{ID: "other seed"}}}, queue.Marks{Evicted: seed}, queue.OutcomeUnknown},
		{"a new record in which one was evicted", queue.Record{Exists: true, Marks: queue.Marks{Evicted: evictedLater}}, queue.Marks{Evicted: seed}, queue.OutcomeUnknown},
		{"a new record with a release", queue.Record{Exists: true, Marks: queue.Marks{Released: later, Evicted: queue.Eviction{ID: "other seed"}}}, seen, queue.OutcomeUnknown},
		{"a record of a version without marks", queue.Record{Exists: true}, queue.Marks{}, queue.OutcomeUnknown},
		{"marks that were removed", queue.Record{Exists: true}, seen, queue.OutcomeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.now.Outcome("me", n(5), 2, c.seen); got != c.want {
				t.Errorf("got outcome %d, want %d", got, c.want)
			}
		})
	}
}

func TestRecordMade(t *testing.T) {
	holder := func(made int64) queue.Record {
		return queue.Record{Exists: true, Holders: []queue.Holder{{ID: "me", Ticket: n(5), Made: made}}}
	}
	evicted := func(id string, ticket int, made int64) queue.Record {
		return queue.Record{Exists: true, Marks: queue.Marks{Evicted: queue.Eviction{ID: id, Ticket: n(ticket), Made: made}}}
	}
	for _, c := range []struct {
		name string
		now  queue.Record
		want queue.Made
	}{
		{"held, none made", holder(0), queue.MadeNotYet},
		{"held, the one before", holder(2), queue.MadeNotYet},
		{"held, the one before settled", holder(3), queue.MadeNotYet},
		{"held, made", holder(4), queue.MadeYes},
		{"held, settled", holder(5), queue.MadeNever},
		{"evicted before", evicted("me", 5, 2), queue.MadeNever},
		{"evicted after", evicted("me", 5, 4), queue.MadeYes},
		{"evicted when settled", evicted("me", 5, 5), queue.MadeNever},
		{"evicted by hand", evicted("me", 5, -1), queue.MadeUnknown},
		{"an orphaned entry evicted", evicted("me", 6, 4), queue.MadeUnknown},
		{"another evicted", evicted("other", 5, 4), queue.MadeUnknown},
		{"no record", queue.Record{}, queue.MadeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.now.Made("me", n(5), 4); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// Each end of a turn leaves its mark, and the first request for a ticket one that
// names the record.
func TestMarks(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		ctx := t.Context()
		marks := func() queue.Marks {
			t.Helper()
			rec, err := serving.Get(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			return rec.Marks
		}
		take(t, q, "a")
		if m := marks(); m.Evicted.ID != "a" || !m.Evicted.Ticket.IsZero() || m.Released != (queue.Released{}) {
			t.Errorf("a new record has the marks %+v", m)
		}
		ending := queue.Ending{ID: "a", Ticket: n(1), Call: 3, Unsettled: time.UnixMilli(7)}
		if _, err := sendRelease(ctx, q, queue.FormFast, ending); err != nil {
			t.Fatal(err)
		}
		if m := marks(); m.Released != (queue.Released{ID: "a", Ticket: n(1), Call: 3}) || !slices.Equal(m.Unsettled, []time.Time{time.UnixMilli(7)}) || m.Evicted.ID != "a" {
			t.Errorf("a fast release left the marks %+v", m)
		}
		take(t, q, "b")
		if _, err := sendRelease(ctx, q, queue.FormHandOff, queue.Ending{ID: "b", Ticket: n(2), Call: 1}); err != nil {
			t.Fatal(err)
		}
		if m := marks(); m.Released != (queue.Released{ID: "b", Ticket: n(2), Call: 1}) || !slices.Equal(m.Unsettled, []time.Time{time.UnixMilli(7)}) || !m.Evicted.Ticket.IsZero() {
			t.Errorf("a hand-off left the marks %+v", m)
		}
		if _, err := serving.Reset(ctx, q, n(2)); err != nil {
			t.Fatal(err)
		}
		rec := take(t, q, "c")
		if _, err := serving.Evict(ctx, q, rec.Holders[0]); err != nil {
			t.Fatal(err)
		}
		if m := marks(); m.Evicted.ID != "c" || m.Evicted.Ticket != n(3) || m.Evicted.Made != 0 || m.Released.ID != "b" {
			t.Errorf("an eviction left the marks %+v", m)
		}
		take(t, q, "d")
		rec, err := serving.Claim(ctx, q, entryOf("d-2"), n(4))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := serving.Resume(ctx, q, rec.Holders[0], entryOf("e")); err != nil {
			t.Fatal(err)
		}
		if m := marks(); m.Evicted.ID != "d-2" || m.Evicted.Ticket != n(4) {
			t.Errorf("a resumption left the marks %+v", m)
		}
		if _, err := sendRelease(ctx, q, queue.FormHandOff, queue.Ending{ID: "e", Ticket: n(3), Call: 1}); !errors.Is(err, serving.ErrRefused) {
			t.Errorf("a release with another ticket gave %v", err)
		}
	})
}

// A fenced transaction is made once by its number, without its token, and the
// number can be used up.
func TestNumberedFence(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		client, name := tb.Client("user"), tb.Name()
		send := func(id string, t1 int, call int64) error {
			fence, err := numberedFence(q, id, n(t1), true, call)
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				{Update: &fence},
				{Put: &types.Put{TableName: &name, Item: q.Key(fmt.Sprint("user/", call))}},
			}})
			return err
		}
		take(t, q, "a")
		take(t, q, "b")
		if err := send("a", 1, 2); err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{
			"once more":           send("a", 1, 2),
			"with another ticket": send("a", 2, 4),
			"of a waiter":         send("b", 2, 2),
		} {
			if err == nil {
				t.Errorf("%s: it was made", what)
			}
		}
		for range 2 {
			if made, _, err := settle(t.Context(), q, "a", n(1), 4); err != nil || made != queue.MadeNever {
				t.Errorf("settling one that was not made gave %d, %v", made, err)
			}
		}
		if err := send("a", 1, 4); err == nil {
			t.Error("one that was settled was made")
		}
		if err := send("a", 1, 6); err != nil {
			t.Errorf("the next gave %v", err)
		}
		if made, _, err := settle(t.Context(), q, "a", n(1), 6); err != nil || made != queue.MadeYes {
			t.Errorf("settling one that was made gave %d, %v", made, err)
		}
		// One that arrives late, after a later transaction, changes nothing.
		if made, _, err := settle(t.Context(), q, "a", n(1), 4); err != nil || made != queue.MadeNever {
			t.Errorf("settling an earlier one late gave %d, %v", made, err)
		}
		rec, err := serving.Get(t.Context(), q)
		if err != nil || rec.Holders[0].Made != 6 {
			t.Fatalf("%+v, %v", rec, err)
		}
		stale := rec.Holders[0]
		stale.Made = 5
		if _, err := serving.Evict(t.Context(), q, stale); !errors.Is(err, serving.ErrRefused) {
			t.Errorf("an eviction that has not seen the last transaction gave %v", err)
		}
		rec, err = serving.Evict(t.Context(), q, rec.Holders[0])
		if err != nil || rec.Made("a", n(1), 6) != queue.MadeYes || rec.Made("a", n(1), 8) != queue.MadeNever {
			t.Errorf("%+v, %v", rec.Marks, err)
		}
		if made, _, err := settle(t.Context(), q, "a", n(1), 8); err != nil || made != queue.MadeNever {
			t.Errorf("settling after the eviction gave %d, %v", made, err)
		}
	})
}

// The largest eviction stays within DynamoDB's limits for an expression, which the
// engines keep, too.
func TestEvictLargest(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		holders := clause.Item{}
		for i := range queue.MaxEvicted {
			entry := clause.Item{"beat": clause.Int(0), "ttl": clause.Int(60000), "owner": clause.String("o"), "ticket": clause.Int(int64(i + 2)), "made": clause.Int(4)}
			if i == 0 {
				delete(entry, "ticket")
			}
			holders[fmt.Sprintf("abcdefghijklmnopqrstuvwxyz-%d", i)] = clause.Map(entry)
		}
		item := q.RecordKey()
		item["ticketNumber"], item["servingAfter"], item["granted"], item["permits"] = clause.Int(50), clause.Int(0), clause.Int(50), clause.Int(100)
		item["holders"] = clause.Map(holders)
		put(t, tb, item)
		rec, err := serving.Get(t.Context(), q)
		if err != nil || len(rec.Holders) != queue.MaxEvicted {
			t.Fatalf("%d holders, %v", len(rec.Holders), err)
		}
		if rec, err = serving.Evict(t.Context(), q, rec.Holders...); err != nil || len(rec.Holders) != 0 {
			t.Errorf("%d holders are left: %v", len(rec.Holders), err)
		}
		if got := rec.Marks.Evicted; got.Ticket != n(queue.MaxEvicted+1) || got.Made != 4 {
			t.Errorf("the mark is %+v", got)
		}
	})
}

// TestCrowd checks that a release replaces a full set of times by a new and later one, unless the set has changed.
func TestCrowd(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		mode := queue.Mode{Permits: 50}
		begin := func(id string) queue.Record {
			t.Helper()
			e := entryOf(id)
			e.Mode = mode
			for {
				rec, err := serving.Take(t.Context(), q, e, false)
				if errors.Is(err, serving.ErrRefused) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, mine := rec.Mine(id); !mine {
					if rec, err = serving.Claim(t.Context(), q, e, rec.TicketNumber); err != nil {
						t.Fatal(err)
					}
				}
				return rec
			}
		}
		for i := 1; i <= 20; i++ {
			id := fmt.Sprint("h", i)
			rec := begin(id)
			h, _ := rec.Mine(id)
			begin("stays" + id)
			read := rec.Marks.Unsettled
			e := queue.Ending{ID: id, Ticket: h.Ticket, Call: 1, Bounded: true}
			at := time.UnixMilli(1_000_000 - int64(i))
			if e.Add(at, read); len(read) == queue.MaxUnsettled {
				full := e
				full.Add(at, nil)
				stale := e
				stale.Add(at, append(slices.Clone(read[1:]), time.UnixMilli(5)))
				for name, e := range map[string]queue.Ending{"Full": full, "Changed": stale} {
					if _, err := sendRelease(t.Context(), q, queue.FormHandOff, e); !errors.Is(err, serving.ErrRefused) {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
			rec, err := sendRelease(t.Context(), q, queue.FormHandOff, e)
			left := rec.Marks.Unsettled
			if err != nil || len(left) > queue.MaxUnsettled || !slices.Contains(left, e.Unsettled) {
				t.Fatalf("%d: %v, left %v", i, err, left)
			}
			if len(read) == queue.MaxUnsettled && (len(left) != 1 || slices.Contains(read, left[0]) || !left[0].After(time.UnixMilli(999_999))) {
				t.Errorf("of %v it has left %v", read, left)
			}
		}
	})
}

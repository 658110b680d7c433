package queue_test

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// holderOf returns the only holder of a record with that entry, as a client reads it that knows none of the attributes without.
func holderOf(t *testing.T, id string, entry clause.Item, without ...string) queue.Holder {
	t.Helper()
	entry = maps.Clone(entry)
	for _, name := range without {
		delete(entry, name)
	}
	rec, err := queue.DecodeRecord(queue.Items{PK: "pk", SK: "sk", Entity: "e", Reason: "lock"}, clause.Item{
		attr.TicketNumber: clause.Int(1), attr.Granted: clause.Int(0), attr.ServingAfter: clause.Int(0),
		attr.Holders: clause.Map(clause.Item{id: clause.Map(entry)}),
	})
	if err != nil || rec.Holders[0].Problem != nil {
		t.Fatalf("%v, %+v", err, rec.Holders)
	}
	return rec.Holders[0]
}

// closedEntry returns what a release leaves that closes the queue, and its id. A copy of the release is refused.
func closedEntry(t *testing.T, c queue.Closed) (id string, entry clause.Item) {
	t.Helper()
	holder := clause.Item{attr.Beat: clause.Int(3), attr.TTL: clause.Int(60_000), attr.Ticket: clause.Int(1)}
	before := clause.Item{
		"pk": clause.String("e"), attr.TicketNumber: clause.Int(1), attr.Granted: clause.Int(1), attr.ServingAfter: clause.Int(0),
		attr.Holders: clause.Map(clause.Item{"a-0": clause.Map(holder)}),
	}
	w := queue.Ending{ID: "a-0", Ticket: ticket.FromUint64(1), Call: 1, Closed: &c}.Release(queue.FormClose, time.Time{})
	after, fate := w.Apply(clause.Names{Key: "pk"}, before)
	if fate != clause.Applied {
		t.Fatalf("%v", fate)
	}
	for _, item := range []clause.Item{after, nil} {
		if _, fate := w.Apply(clause.Names{Key: "pk"}, item); fate != clause.Refused {
			t.Errorf("a copy: %v", fate)
		}
	}
	for id, v := range after[attr.Holders].(*types.AttributeValueMemberM).Value {
		return id, v.(*types.AttributeValueMemberM).Value
	}
	t.Fatal("there is no entry")
	return
}

// TestClosedForOldClients checks what a client makes of the entries that knows nothing of closed queues: it keeps out of a
// closed one, by the clock and by observation, and takes the entry for a lease.
func TestClosedForOldClients(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	id, entry := closedEntry(t, queue.Closed{Since: now, Until: now.Add(time.Hour), Rest: time.Hour})
	newer := []string{attr.AtLeast, attr.Closed, attr.Revoked}
	old := holderOf(t, id, entry, newer...)
	if old.Closed || !old.End().Equal(now.Add(time.Hour)) || old.Length() < time.Hour || old.Owner != "" || id == "a-0" {
		t.Errorf("%s: %+v ends at %v, or after %v", id, old, old.End(), old.Length())
	}
	live := clause.Item{}
	queue.Lease{TTL: time.Minute, Until: now.Add(time.Minute), AtLeast: time.Hour}.Fill(live)
	clause.SetTime(live, attr.Since, now)
	if h := holderOf(t, "a-0", live); !h.End().Equal(now.Add(time.Hour)) || h.Length() < time.Hour {
		t.Errorf("%+v ends at %v, or after %v", h, h.End(), h.Length())
	}
	if h := holderOf(t, "a-0", live, newer...); !h.End().Equal(now.Add(time.Minute)) || h.Length() != time.Minute {
		t.Errorf("without atLeast %+v ends at %v, or after %v", h, h.End(), h.Length())
	}
}

// TestNeverOpensEarly checks that no client ends an entry before its time, whatever it knows: by the clock, or by observation
// from any moment on, with a clock that is faster.
func TestNeverOpensEarly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	upTo := func(d time.Duration) time.Duration {
		return time.Duration(r.Int64N(d.Milliseconds())+1) * time.Millisecond
	}
	const faster = 1.001 // two clocks that drift apart by 500 ppm each
	for range 20_000 {
		granted := time.UnixMilli(1_700_000_000_000)
		ttl, least := upTo(time.Hour), upTo(queue.MaxAtLeast)
		opens, renewed := granted.Add(least), granted.Add(upTo(2*least))
		l := queue.Lease{TTL: ttl, Until: renewed.Add(ttl), Delay: time.Duration(r.Int64N(2)) * time.Second, AtLeast: least}
		entry := clause.Item{}
		l.Fill(entry)
		clause.SetTime(entry, attr.Since, granted)
		for _, without := range [][]string{nil, {attr.Since}, {attr.Until}, {attr.Since, attr.Until}} {
			h := holderOf(t, "a-0", entry, without...)
			if end := h.End(); !end.IsZero() && (end.Before(opens) || end.Before(l.Until.Add(l.Delay))) {
				t.Fatalf("%+v ends at %v, and opens at %v", h, end, opens)
			}
			if seen := renewed.Add(time.Duration(float64(h.Length()) / faster)); seen.Before(opens) {
				t.Fatalf("%+v of a renewal at %v is over by observation at %v, and opens at %v", h, renewed, seen, opens)
			}
		}
	}
}

// TestEndOfClosedQueue checks that the end of a closed queue leaves no mark of an eviction.
func TestEndOfClosedQueue(t *testing.T) {
	id, entry := closedEntry(t, queue.Closed{Rest: time.Minute})
	if changes := queue.Evict(queue.Eviction{}, holderOf(t, id, entry)).Changes(); len(changes) != 1 {
		t.Errorf("it changes %v", changes)
	}
}

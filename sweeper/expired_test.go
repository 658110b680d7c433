package sweeper_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/ticket"
)

func queueOf(tb *queuelocktest.Table, entity string) table.Queue {
	layout := table.Layout{Table: tb.Name(), PK: "pk", SK: "sk", TTL: "expiresAt"}
	once := func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }
	return table.NewStore(tb.Client("c", once), layout, 5*time.Second).Queue(entity, "lock", nil)
}

// sweeps is a sweeper that has seen nothing.
func sweeps(q table.Queue) sweeper.Sweeper {
	return requests.Sweeper(q, heartbeat.NewObserver(q.Clock(), false), 0)
}

func row(i int, until time.Time) queue.Waiter {
	return queue.Waiter{
		Ticket: ticket.FromUint64(uint64(i)), ID: fmt.Sprint("row-", i), CreatedAt: time.Now(),
		Lease: queue.Lease{TTL: time.Minute, Until: until},
	}
}

func enqueue(t testing.TB, q table.Queue, r queue.Waiter) {
	t.Helper()
	if _, _, err := requests.SendRow(t.Context(), q, r.Ticket, queue.Enqueue(r.Item(q.Items), nil)); err != nil {
		t.Fatal(err)
	}
}

// record puts one with holders of these ends; zero: unknown.
func record(t testing.TB, tb *queuelocktest.Table, q table.Queue, ends map[string]time.Time) queue.Record {
	t.Helper()
	holders := clause.Item{}
	for id, end := range ends {
		e := clause.Item{"owner": clause.String("host:1")}
		queue.Lease{TTL: time.Minute, Until: end}.Fill(e)
		holders[id] = clause.Map(e)
	}
	item := q.RecordKey()
	item["ticketNumber"], item["servingAfter"], item["granted"], item["holders"] = clause.Int(5000), clause.Int(0), clause.Int(0), clause.Map(holders)
	name := tb.Name()
	locktest.Must(tb.Client("given").PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}))
	rec := locktest.Must(requests.Get(t.Context(), q))
	return rec
}

// TestLiveRowsRemain checks that no live row or holder is ever removed.
func TestLiveRowsRemain(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	for run := range 100 {
		q := queueOf(tb, fmt.Sprint("e", run))
		now, later := time.Now(), time.Now().Add(time.Hour)
		kept, renewals := map[string]bool{}, []func() error(nil)
		// draw returns the end of a lease, and how many entries the sweep removes: none if the lease lasts, or if its owner renews it
		// between the look and the removal.
		draw := func(id string, renew func() error) (end time.Time, removed int) {
			kept[id] = true
			if rand.IntN(2) == 0 {
				return later, 0
			}
			if rand.IntN(4) == 0 {
				renewals = append(renewals, renew)
				return now.Add(-time.Hour), 0
			}
			kept[id] = false
			return now.Add(-time.Hour), 1
		}
		wantRows, wantHolders := 0, 0
		for i := range rand.IntN(9) {
			r := row(i+2, now)
			end, removed := draw(r.ID, func() error {
				_, _, err := requests.SendRow(t.Context(), q, r.Ticket, r.Renew(later, now))
				return err
			})
			r.Lease.Until, wantRows = end, wantRows+removed
			enqueue(t, q, r)
		}
		ends := map[string]time.Time{}
		for i := range rand.IntN(4) {
			id := fmt.Sprint("holder-", i)
			end, removed := draw(id, func() error {
				_, _, err := requests.Send(t.Context(), q, queue.Renewal{Until: later}.Heartbeat(id, ticket.FromUint64(1)))
				return err
			})
			ends[id], wantHolders = end, wantHolders+removed
		}
		record(t, tb, q, ends)
		snapshot := locktest.Must(requests.LookAll(t.Context(), q))
		judged := snapshot.Decide(heartbeat.NewObserver(q.Clock(), false).Leases(q.Items, snapshot), ticket.Max, queue.Mode{}, nil)
		for _, renew := range renewals {
			locktest.OK(t, renew())
		}
		removed, err := sweeps(q).Rows(t.Context(), judged.ExpiredRows)
		if removed != wantRows || err != nil {
			t.Fatalf("removed %d rows, %v, want %d", removed, err, wantRows)
		}
		_, evicted, err := sweeps(q).Holders(t.Context(), judged.ExpiredHolders)
		if evicted != wantHolders || err != nil {
			t.Fatalf("evicted %d holders, %v, want %d", evicted, err, wantHolders)
		}
		left := locktest.Must(requests.LookAll(t.Context(), q))
		found := map[string]bool{}
		for _, r := range left.Rows {
			found[r.ID] = true
		}
		for _, h := range left.Record.Holders {
			found[h.ID] = true
		}
		for id, stays := range kept {
			if found[id] != stays {
				t.Fatalf("%s is there: %v, want %v\nrows %v, ends %v", id, found[id], stays, snapshot.Rows, ends)
			}
		}
	}
}

// TestErrors checks that errors are reported together with the rows that were removed.
func TestErrors(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	q := queueOf(tb, "e")
	for i := 1; i <= 20; i++ {
		enqueue(t, q, row(i+1, time.Now().Add(-time.Minute)))
	}
	record(t, tb, q, map[string]time.Time{"dead": time.Now().Add(-time.Minute)})
	tb.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("DeleteItem").After(5).Times(3))
	swept, err := sweeps(q).Sweep(t.Context())
	if _, ok := errors.AsType[*table.Error](err); !ok || swept != (sweeper.Swept{Waiters: 17, Holders: 1}) {
		t.Errorf("swept %+v, %v, want 17 rows, the holder, and the error", swept, err)
	}
	fault := tb.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("Query"))
	if swept, err := sweeps(q).Sweep(t.Context()); err == nil || swept != (sweeper.Swept{}) {
		t.Errorf("without a look it swept %+v, %v", swept, err)
	}
	fault.Remove()
	rec := record(t, tb, q, map[string]time.Time{"a": time.Now().Add(-time.Minute)})
	tb.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("UpdateItem"))
	if _, evicted, err := sweeps(q).Holders(t.Context(), rec.Holders); err == nil || evicted != 0 {
		t.Errorf("an eviction that failed gave %d, %v", evicted, err)
	}
	if swept, err := sweeps(q).Sweep(t.Context()); err == nil || swept != (sweeper.Swept{Waiters: 3}) {
		t.Errorf("with an eviction that failed it swept %+v, %v, want the rows all the same", swept, err)
	}
}

// TestEmptyQueue checks that an empty queue needs no sweeper.
func TestEmptyQueue(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	q := queueOf(tb, "e")
	if swept, err := sweeps(q).Sweep(t.Context()); err != nil || swept != (sweeper.Swept{}) {
		t.Errorf("swept %+v, %v", swept, err)
	}
	if sent := tb.Counts().Total().Sent; sent != 1 {
		t.Errorf("it took %d requests, want 1", sent)
	}
}

// TestAbandonedGrant checks that a sweep ends a grant by name whose waiter has left, whatever is left of its lease: a second look
// proves that its row is gone. One that has its row stays.
func TestAbandonedGrant(t *testing.T) {
	for name, want := range map[string]sweeper.Swept{"Left": {Holders: 1}, "Waits": {}} {
		t.Run(name, func(t *testing.T) {
			tb := queuelocktest.NewTable(t)
			q := queueOf(tb, "e")
			if want.Holders == 0 {
				enqueue(t, q, row(1, time.Now().Add(time.Hour)))
			}
			named := clause.Item{"owner": clause.String("host:1"), "named": &types.AttributeValueMemberBOOL{Value: true}}
			queue.Lease{TTL: time.Hour, Until: time.Now().Add(time.Hour)}.Fill(named)
			item, table := q.RecordKey(), tb.Name()
			item["ticketNumber"], item["servingAfter"], item["granted"] = clause.Int(1), clause.Int(0), clause.Int(1)
			item["holders"] = clause.Map(clause.Item{"w-n1": clause.Map(named)})
			locktest.Must(tb.Client("given").PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}))
			if swept, err := sweeps(q).Sweep(t.Context()); err != nil || swept != want {
				t.Errorf("swept %+v, %v, want %+v", swept, err, want)
			}
		})
	}
}

// TestObservation checks that without a clock what does not move for its ttl is dead. The observer must be kept between passes.
func TestObservation(t *testing.T) {
	tb := queuelocktest.NewTable(t, queuelocktest.WithoutDate())
	q := queueOf(tb, "e")
	brief := row(3, time.Time{})
	brief.Lease.TTL = time.Millisecond
	enqueue(t, q, brief)
	enqueue(t, q, row(4, time.Now().Add(-time.Hour))) // ended, by an unknown clock
	observing := sweeps(q)
	if swept, err := observing.Sweep(t.Context()); err != nil || swept != (sweeper.Swept{}) {
		t.Errorf("at first snapshot it swept %+v, %v", swept, err)
	}
	for start := time.Now(); time.Since(start) < 2*time.Millisecond; {
	}
	if swept, err := observing.Sweep(t.Context()); err != nil || swept != (sweeper.Swept{Waiters: 1}) {
		t.Errorf("a ttl later it swept %+v, %v", swept, err)
	}
}

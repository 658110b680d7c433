package requests_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

func rowOf(number int, id string) queue.Waiter {
	return queue.Waiter{
		Ticket: n(number), ID: id, Owner: "host:1", CreatedAt: time.UnixMilli(1_700_000_000_123),
		Lease: queue.Lease{TTL: 15 * time.Second, Until: time.UnixMilli(1_700_000_015_123)},
	}
}

func put(t testing.TB, tb *queuelocktest.Table, item clause.Item) {
	t.Helper()
	name := tb.Name()
	locktest.Must(tb.Client("given").PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}))
}

func enqueue(t testing.TB, q table.Queue, row queue.Waiter) {
	t.Helper()
	if reply, _, err := requests.SendRow(t.Context(), q, row.Ticket, queue.Enqueue(row.Item(q.Items), nil)); err != nil || reply != machine.ReplyApplied {
		t.Fatalf("reply %v, %v", reply, err)
	}
}

func TestRowRoundTrip(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	texts := []string{"", "lock", "a b", "ü\x00'\"/<", strings.Repeat("😀", 20)}
	for run := range 100 {
		q := queueFor(tb, fmt.Sprint("e", run), texts[rand.IntN(4)])
		number := locktest.Must(ticket.Parse(fmt.Sprintf("%d%018d%018d", 1+rand.IntN(99), rand.Int64N(1e18), rand.Int64N(1e18))[:1+rand.IntN(37)]))
		want := queue.Waiter{
			Ticket: number, ID: texts[1+rand.IntN(4)], Owner: texts[rand.IntN(5)],
			CreatedAt: time.UnixMilli(rand.Int64N(1 << 42)),
			Lease:     queue.Lease{TTL: time.Duration(1+rand.Int64N(queue.MaxLease.Milliseconds())) * time.Millisecond},
		}
		if rand.IntN(2) == 0 {
			want.Lease.Until = time.UnixMilli(rand.Int64N(1 << 42))
		}
		enqueue(t, q, want)
		all := locktest.Must(requests.LookAll(t.Context(), q)).Rows
		if len(all) != 1 || all[0].Problem != nil || all[0].Ticket != want.Ticket || all[0].ID != want.ID || all[0].Owner != want.Owner || all[0].Shared != want.Shared ||
			!all[0].CreatedAt.Equal(want.CreatedAt) || all[0].Lease.Beat != 0 || all[0].Lease.TTL != want.Lease.TTL || !all[0].Lease.Until.Equal(want.Lease.Until) {
			t.Fatalf("read %+v, want %+v", all, want)
		}
		items := tb.Items()
		for _, item := range items {
			if item["pk"].(*types.AttributeValueMemberS).Value != q.Entity {
				continue
			}
			if sk := item["sk"].(*types.AttributeValueMemberS).Value; sk != q.Reason+"/"+number.Padded() {
				t.Fatalf("the sort key is %q", sk)
			}
			r := clause.Reader{Item: item}
			end := want.Lease.Until
			if end.IsZero() {
				end = want.CreatedAt.Add(want.Lease.TTL)
			}
			if expires := r.Int("expiresAt"); r.Err != nil || expires < end.Add(time.Hour).Unix() || expires > end.Add(time.Hour).Unix()+1 {
				t.Fatalf("expiresAt is %d, %v, want an hour after %v", expires, r.Err, end)
			}
		}
	}
}

func TestLookFollowsEveryPage(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	q := queueFor(tb, "e", "lock")
	const all = 30
	for i := 2; i < 2+all; i++ {
		row := rowOf(i, fmt.Sprint("id-", i))
		row.Owner = strings.Repeat("o", 100_000) // 3 MB in all
		enqueue(t, q, row)
	}
	put(t, tb, withKey(q, clause.Item{"ticketNumber": num("50"), "servingAfter": num("0"), "granted": num("0"), "holders": clause.Map(clause.Item{})}))
	before := tb.Counts()
	snapshot, err := requests.Look(t.Context(), q, n(100), n(1), 0)
	if err != nil || len(snapshot.Rows) != all || !snapshot.Record.Exists {
		t.Fatalf("saw %d rows, record %v, %v", len(snapshot.Rows), snapshot.Record.Exists, err)
	}
	for i, row := range snapshot.Rows {
		if row.Ticket != n(i+2) || row.Problem != nil {
			t.Errorf("row %d is of ticket %v, %v", i, row.Ticket, row.Problem)
		}
	}
	if sent := tb.Counts().Sub(before)["Query"].Sent; sent != 3 {
		t.Errorf("%d queries were sent, want 3", sent)
	}
	if snapshot, err := requests.Look(t.Context(), q, n(7), n(1), 0); err != nil || len(snapshot.Rows) != 5 {
		t.Errorf("ahead of 7 are %d rows, %v, want 5", len(snapshot.Rows), err)
	}
	// A page that fails permanently fails the whole.
	tb.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("Query").After(1))
	if snapshot, err := requests.LookAll(t.Context(), q); err == nil {
		t.Errorf("half of the pages gave %d rows without an error", len(snapshot.Rows))
	}
}

func withKey(q table.Queue, attributes clause.Item) clause.Item {
	item := q.RecordKey()
	for name, value := range attributes {
		item[name] = value
	}
	return item
}

// TestLookOfNext checks that a look of the next waiter in line reads the record alone.
func TestLookOfNext(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	q := queueOf(tb, "e")
	put(t, tb, withKey(q, clause.Item{"ticketNumber": num("50"), "servingAfter": num("6"), "granted": num("0"), "holders": clause.Map(clause.Item{})}))
	for _, test := range []struct {
		t, floor  int
		operation string
	}{{8, 7, "GetItem"}, {9, 7, "Query"}, {1, 0, "Query"}, {8, 0, "Query"}, {7, 7, "Query"}, {7, 8, "Query"}} {
		before := tb.Counts()
		snapshot, err := requests.Look(t.Context(), q, n(test.t), n(test.floor), 0)
		if err != nil || snapshot.Record.TicketNumber != n(50) || snapshot.ReadAt.IsZero() {
			t.Errorf("ticket %d, floor %d: saw %+v, %v", test.t, test.floor, snapshot, err)
		}
		if diff := tb.Counts().Sub(before); diff[test.operation].Sent != 1 || diff.Total().Sent != 1 {
			t.Errorf("ticket %d, floor %d took\n%v, want one %s", test.t, test.floor, diff, test.operation)
		}
	}
}

// TestLookSeesOneQueue checks that a look reads no row of another queue.
func TestLookSeesOneQueue(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	reasons := []string{"lock", "lock2", "loc", "lock-", "lock.", "lock0", "loc/", "", "k", "LOCK", "lock\x00"}
	for i, reason := range reasons {
		for _, entity := range []string{"e", "e2"} {
			q := queueFor(tb, entity, reason)
			put(t, tb, withKey(q, clause.Item{"ticketNumber": num(fmt.Sprint(100 + i))}))
			enqueue(t, q, rowOf(5, entity+reason))
		}
	}
	for i, reason := range reasons {
		q := queueFor(tb, "e", reason)
		for _, look := range []func() (queue.Snapshot, error){
			func() (queue.Snapshot, error) { return requests.LookAll(t.Context(), q) },
			func() (queue.Snapshot, error) { return requests.Look(t.Context(), q, n(0), n(1), 0) },
		} {
			snapshot, err := look()
			if err != nil || len(snapshot.Rows) != 1 || snapshot.Rows[0].ID != "e"+reason || snapshot.Record.TicketNumber != n(100+i) {
				t.Errorf("queue %q shows %+v, %v", reason, snapshot, err)
			}
		}
	}
}

// TestBellOfRow checks that a bell is kept as it is, and that a malformed one is ignored and its row is not.
func TestBellOfRow(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	q := queueFor(tb, "e", "lock")
	row := rowOf(7, "a")
	if _, there := row.Item(q.Items)[attr.Bell]; there {
		t.Error("a row without a bell has the attribute")
	}
	row.Bell = strings.Repeat("x", queue.MaxBell)
	for name, test := range map[string]struct {
		value types.AttributeValue
		want  string
	}{
		"AsWritten": {clause.String(row.Bell), row.Bell},
		"TooLong":   {clause.String(row.Bell + "x"), ""},
		"Empty":     {clause.String(""), ""},
		"Number":    {num("1"), ""},
		"Null":      {&types.AttributeValueMemberNULL{Value: true}, ""},
		"Map":       {&types.AttributeValueMemberM{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			item := row.Item(q.Items)
			item[attr.Bell] = test.value
			put(t, tb, item)
			got := locktest.Must(requests.GetRow(t.Context(), q, row.Ticket))
			if got == nil || got.Bell != test.want || got.Problem != nil || got.ID != row.ID || got.Lease != row.Lease {
				t.Errorf("got %+v", got)
			}
		})
	}
	if none := locktest.Must(requests.GetRow(t.Context(), q, n(8))); none != nil {
		t.Errorf("got %+v, which was not put", none)
	}
}

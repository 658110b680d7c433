package requests_test

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
)

// canned answers every request with the same body.
type canned string

func (c canned) Do(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Request: req, Body: io.NopCloser(strings.NewReader(string(c))),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "Date": {"Sat, 01 Jan 2000 00:00:00 GMT"}},
	}, nil
}

func answering(body string) table.Queue {
	db := dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", HTTPClient: canned(body), RetryMaxAttempts: 1,
		Credentials: aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider("a", "b", "")),
	})
	layout := table.Layout{Table: "t", PK: "pk", SK: "sk", TTL: "expiresAt"}
	return table.NewStore(db, layout, 5*time.Second).Queue("e", "lock", nil)
}

// FuzzGet: an item in DynamoDB's JSON, read by the real SDK client, is a record
// whose parts agree with each other, or a MalformedError that names it in one
// line.
func FuzzGet(f *testing.F) {
	f.Add(`{"ticketNumber":{"N":"1"}}`)
	f.Fuzz(func(t *testing.T, item string) {
		rec, err := requests.Get(t.Context(), answering(`{"Item":`+item+`}`))
		if malformed, ok := errors.AsType[*clause.MalformedError](err); ok {
			if malformed.Attribute == "" || len(malformed.Problem) > 1000 || !strings.Contains(malformed.Item, "e lock") {
				t.Fatalf("%q is no use to anybody", err)
			}
			return
		}
		if _, ok := errors.AsType[*table.Error](err); ok {
			return // the SDK client could not read it
		}
		locktest.OK(t, err)
		switch {
		case !rec.Exists && (rec.Present || len(rec.Holders) > 0 || !rec.TicketNumber.IsZero()):
			t.Fatalf("conjured %+v", rec)
		case rec.TicketNumber.Less(rec.Granted), rec.Present && rec.TicketNumber.Compare(rec.ServingAfter) <= 0, rec.TicketNumber.Less(rec.Floor()):
			t.Fatalf("a record that contradicts itself: %+v", rec)
		case !rec.Present && len(rec.Holders) > 0:
			t.Fatalf("holders that are not there: %+v", rec)
		case rec.HoldTime.Mean < 0 || rec.HoldTime.Deviation < 0 || rec.HoldTime.Mean > queue.MaxLease || rec.HoldTime.Deviation > queue.MaxLease:
			t.Fatalf("a turn of %+v", rec.HoldTime)
		}
		var ids []string
		ordered := slices.IsSortedFunc(rec.Holders, func(a, b queue.Holder) int {
			return cmp.Or(a.Ticket.Compare(b.Ticket), strings.Compare(a.ID, b.ID))
		})
		for _, h := range rec.Holders {
			ids = append(ids, h.ID)
			if h.Lease.TTL <= 0 && !h.Lease.Endless() && !h.Unreadable() || h.Lease.TTL > queue.MaxLease || h.Lease.Delay < 0 || h.Lease.Delay > queue.MaxDelay {
				t.Fatalf("a lease of %v", h.Lease.TTL)
			}
			if mine, ok := rec.Mine(h.ID); !ok || mine.ID != h.ID {
				t.Fatalf("%q is not found", h.ID)
			}
		}
		slices.Sort(ids)
		if !ordered || len(slices.Compact(ids)) != len(rec.Holders) {
			t.Fatalf("holders %q", ids)
		}
	})
}

// FuzzLook checks that any items that a query returns, in DynamoDB's JSON and by the real
// SDK client, are judged without harm. No client claims past a live row, and no row lives
// for longer than the longest lease if it does not change.
func FuzzLook(f *testing.F) {
	f.Add(`[]`, uint16(2))
	f.Fuzz(func(t *testing.T, items string, number uint16) {
		q := answering(`{"Items":` + items + `}`)
		snapshot, err := requests.LookAll(t.Context(), q)
		if err != nil {
			_, malformed := errors.AsType[*clause.MalformedError](err)
			_, unreadable := errors.AsType[*table.Error](err)
			if !malformed && !unreadable {
				t.Fatal(err)
			}
			return
		}
		seen := map[string]bool{}
		for _, row := range snapshot.Rows {
			if seen[row.LeaseID(q.Items)] {
				t.Skip("no table holds two items with one key")
			}
			seen[row.LeaseID(q.Items)] = true
			if row.Lease.TTL <= 0 || row.Lease.TTL > queue.MaxLease || row.Problem != nil && row.Lease != (queue.Lease{TTL: time.Minute}) {
				t.Fatalf("a row of %+v, problem %v", row.Lease, row.Problem)
			}
			if problem := row.Problem; problem != nil && (len(problem.Error()) > 5000 || !strings.Contains(problem.Error(), "e lock")) {
				t.Fatalf("%.5000q is no use to anybody", problem)
			}
		}
		// Looked at again when each of the leases is over, none of which moves.
		begun, lengths := snapshot.ReadAt, []time.Duration{0}
		for _, row := range snapshot.Rows {
			lengths = append(lengths, row.Lease.TTL)
		}
		for _, h := range snapshot.Record.Holders {
			if h.Lease.Endless() {
				continue
			}
			lengths = append(lengths, h.Lease.Length())
		}
		slices.Sort(lengths)
		mine, observer := n(int(number)), heartbeat.NewObserver(q.Clock(), false)
		for _, length := range slices.Compact(lengths) {
			snapshot.ReadAt = begun.Add(length)
			j := (snapshot).Decide(observer.Leases(q.Items, snapshot), mine, queue.Mode{}, nil)
			if j.Holders+len(j.ExpiredHolders) != len(snapshot.Record.Holders) || j.Ahead+len(j.ExpiredRows) > len(snapshot.Rows) {
				t.Fatalf("%d holders and %d rows became %+v", len(snapshot.Record.Holders), len(snapshot.Rows), j)
			}
			switch j.Do {
			case queue.ActionServed:
				t.Fatal("served by another id")
			case queue.ActionClaim:
				if j.Ahead > 0 || j.Holders > 0 || !snapshot.Record.Present || mine.Compare(snapshot.Record.Floor()) <= 0 {
					t.Fatalf("claims in %+v: %+v", snapshot.Record, j)
				}
			}
			if j.ClearIn < 0 || j.ClearIn > queue.MaxLease+queue.MaxDelay && j.ClearIn != queue.Forever {
				t.Fatalf("clear in %v", j.ClearIn)
			}
			for _, row := range snapshot.Rows {
				if row.Lease.TTL == length && !slices.ContainsFunc(j.ExpiredRows, func(o queue.Waiter) bool { return o.LeaseID(q.Items) == row.LeaseID(q.Items) }) {
					t.Fatalf("a row lives on after its lease of %v: %+v", length, row)
				}
			}
			for _, h := range j.ExpiredHolders {
				if h.Lease.Endless() {
					t.Fatalf("a holder without a lease is dead: %+v", h)
				}
			}
			for _, h := range snapshot.Record.Holders {
				if length < queue.Forever && h.Lease.Length() == length && !slices.ContainsFunc(j.ExpiredHolders, func(o queue.Holder) bool { return o.ID == h.ID }) {
					t.Fatalf("a holder lives on after its lease of %v: %+v", length, h)
				}
			}
		}
	})
}

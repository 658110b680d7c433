package requests_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

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

package lease_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/table"
)

// TestEndlessLease checks that a lease without an end is written, read and never over.
func TestEndlessLease(t *testing.T) {
	want := lease.Lease{Beat: 7, FailClosed: true}
	item := table.Item{}
	want.Fill(item)
	if len(item) != 2 {
		t.Errorf("filled in %v, want the beat and what it is", item)
	}
	r := table.Reader{Item: item}
	got := lease.ReadHolder(&r)
	if r.Err != nil || got != want || !got.Endless() || got.Length() != lease.Forever {
		t.Fatalf("read %+v, %v", got, r.Err)
	}
	w := newWorld(0, 0)
	w.answer(w.owner)
	for _, only := range []bool{false, true} {
		observer := lease.NewObserver(w.owner, only)
		for range 3 {
			if left := observer.See("h", got, w.now); left != lease.Forever {
				t.Errorf("%v is left", left)
			}
			w.now = w.now.Add(365 * 24 * time.Hour)
		}
	}
	// A waiter's row always has an end.
	row := table.Reader{Item: item}
	if got := lease.Read(&row); row.Err == nil || got.Endless() {
		t.Errorf("of a row read %+v, %v", got, row.Err)
	}
}

// TestUnconfirmedLease checks that a fail-closed lease has an end until it is confirmed.
func TestUnconfirmedLease(t *testing.T) {
	w := newWorld(0, 0)
	w.answer(w.owner)
	terms := lease.Terms{TTL: minute, Margin: lease.Margin(minute), FailClosed: true}
	begun, _ := terms.Begin(w.owner, w.now)
	item := table.Item{}
	begun.Fill(item)
	r := table.Reader{Item: item}
	got := lease.ReadHolder(&r)
	if r.Err != nil || got.Endless() || !got.FailClosed || got.TTL != minute || got.Until.IsZero() {
		t.Fatalf("it begins as %+v, %v", got, r.Err)
	}
	if left := lease.NewObserver(w.owner, false).See("h", got, w.now.Add(2*minute)); left > 0 {
		t.Errorf("%v is left after its end", left)
	}
	if next := lease.NewRenewals(terms, w.owner, begun).Next(w.now); !next.IsZero() {
		t.Errorf("its heartbeats would end it at %v", next)
	}
}

// TestIncompleteLease checks that an incomplete fail-closed lease is malformed.
func TestIncompleteLease(t *testing.T) {
	yes := &types.AttributeValueMemberBOOL{Value: true}
	n := func(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
	for name, test := range map[string]struct {
		item      table.Item
		attribute string
	}{
		"no beat":             {table.Item{"failClosed": yes}, "beat"},
		"an end, no length":   {table.Item{"failClosed": yes, "beat": n("1"), "until": n("5")}, "ttl"},
		"it says no":          {table.Item{"failClosed": &types.AttributeValueMemberBOOL{}, "beat": n("1")}, "ttl"},
		"it is no boolean":    {table.Item{"failClosed": n("1"), "beat": n("1"), "ttl": n("60000")}, "failClosed"},
		"it is the word true": {table.Item{"failClosed": table.String("true"), "beat": n("1")}, "failClosed"},
	} {
		r := table.Reader{Item: test.item}
		got := lease.ReadHolder(&r)
		malformed, ok := errors.AsType[*table.MalformedError](r.Err)
		if !ok || malformed.Attribute != test.attribute || got.Endless() && test.attribute != "beat" {
			t.Errorf("%s: read %+v, %v, want an error of %s", name, got, r.Err, test.attribute)
		}
	}
}

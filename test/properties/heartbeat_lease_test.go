package properties_test

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/queue"
)

// TestLeaseWithoutEnd checks that a lease without an end is written, read and never over.
func TestLeaseWithoutEnd(t *testing.T) {
	want := queue.Lease{Beat: 7, FailClosed: true}
	item := clause.Item{}
	want.Fill(item)
	if len(item) != 2 {
		t.Errorf("filled in %v, want the beat and what it is", item)
	}
	r := clause.Reader{Item: item}
	got := queue.ReadHolderLease(&r)
	if r.Err != nil || got != want || !got.Endless() || got.Length() != queue.Forever {
		t.Fatalf("read %+v, %v", got, r.Err)
	}
	w := newWorld(0, 0)
	w.answer(w.owner)
	for _, only := range []bool{false, true} {
		observer := heartbeat.NewObserver(w.owner, only)
		for range 3 {
			if left := observer.See("h", got, w.now); left != queue.Forever {
				t.Errorf("%v is left", left)
			}
			w.now = w.now.Add(365 * 24 * time.Hour)
		}
	}
	// A waiter's row always has an end.
	row := clause.Reader{Item: item}
	if got := queue.ReadLease(&row); row.Err == nil || got.Endless() {
		t.Errorf("of a row read %+v, %v", got, row.Err)
	}
}

// TestUnconfirmedLease checks that a fail-closed lease has an end until it is confirmed.
func TestUnconfirmedLease(t *testing.T) {
	w := newWorld(0, 0)
	w.answer(w.owner)
	terms := heartbeat.Terms{TTL: minute, Margin: heartbeat.Margin(minute), FailClosed: true}
	begun, _ := terms.Begin(w.owner, w.now)
	item := clause.Item{}
	begun.Fill(item)
	r := clause.Reader{Item: item}
	got := queue.ReadHolderLease(&r)
	if r.Err != nil || got.Endless() || !got.FailClosed || got.TTL != minute || got.Until.IsZero() {
		t.Fatalf("it begins as %+v, %v", got, r.Err)
	}
	if left := heartbeat.NewObserver(w.owner, false).See("h", got, w.now.Add(2*minute)); left > 0 {
		t.Errorf("%v is left after its end", left)
	}
	if next := heartbeat.NewRenewals(terms, w.owner, begun).Next(w.now); !next.IsZero() {
		t.Errorf("its heartbeats would end it at %v", next)
	}
}

// TestUntil checks that a lease is requested until the latest time at which it can end.
func TestUntil(t *testing.T) {
	w := newWorld(90*time.Minute, 0)
	terms := heartbeat.Terms{TTL: time.Minute, Margin: heartbeat.Margin(time.Minute)}
	if l, since := terms.Begin(w.owner, w.now); !l.Until.IsZero() || !since.IsZero() || l.TTL != time.Minute {
		t.Errorf("without an estimate the lease is %+v, from %v", l, since)
	}
	w.answer(w.owner)
	earliest, latest, _ := w.owner.At(w.now)
	l, since := terms.Begin(w.owner, w.now)
	if !l.Until.Equal(latest.Add(time.Minute)) || l.Beat != 0 {
		t.Errorf("the lease is %+v, want its end at %v", l, latest.Add(time.Minute))
	}
	if since.Before(earliest) || since.After(latest) {
		t.Errorf("it begins at %v, want between %v and %v", since, earliest, latest)
	}
	if got, want := terms.Deadline(w.now), w.now.Add(minute-terms.Margin); !got.Equal(want) {
		t.Errorf("the owner's deadline is %v, want %v", got, want)
	}
}

// TestMargin checks that the margin leaves most of a lease, and covers drift.
func TestMargin(t *testing.T) {
	for ttl := time.Second; ttl <= queue.MaxLease; ttl += ttl / 3 {
		margin := heartbeat.Margin(ttl)
		if margin <= 0 || margin > ttl/10 {
			t.Errorf("of a lease of %v the margin is %v", ttl, margin)
		}
		// Owner and observer may each run 500 ppm apart from DynamoDB's clock.
		if drift := ttl / 1000; margin < drift {
			t.Errorf("of a lease of %v the margin is %v, and clocks may drift by %v", ttl, margin, drift)
		}
	}
	for ttl, want := range map[time.Duration]time.Duration{time.Second: 100 * time.Millisecond, 20 * time.Second: 2 * time.Second, time.Minute: 2060 * time.Millisecond} {
		if got := heartbeat.Margin(ttl); got != want {
			t.Errorf("of a lease of %v the margin is %v, want %v", ttl, got, want)
		}
	}
}

package serving_test

import (
	"errors"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
)

// failClosed is what a fail-closed holder writes of itself when it asks.
func failClosed(id string) queue.Entry {
	e := entryOf(id)
	e.Lease.FailClosed, e.Lease.Until = true, time.UnixMilli(9000)
	return e
}

// takeFailClosed is served with the next ticket.
func takeFailClosed(t *testing.T, q table.Queue, id string) queue.Holder {
	t.Helper()
	rec, err := serving.Take(t.Context(), q, failClosed(id), false)
	for err != nil {
		if rec, err = serving.Take(t.Context(), q, failClosed(id), false); err != nil && !errors.Is(err, serving.ErrRefused) {
			t.Fatal(err)
		}
	}
	h, mine := rec.Mine(id)
	if !mine || !h.Lease.FailClosed || h.Lease.Endless() || h.Lease.Until.UnixMilli() != 9000 {
		t.Fatalf("served by %+v, want a fail-closed holder with a lease", rec)
	}
	return h
}

// TestConfirm checks that a confirmed holder has no lease.
func TestConfirm(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		ctx := t.Context()
		judged := takeFailClosed(t, q, "a")
		for range 2 { // the second is refused, by what the first has done
			rec, err := serving.Confirm(ctx, q, "a", n(1), time.UnixMilli(5))
			h, mine := rec.Mine("a")
			if err != nil || !mine || !h.Lease.Endless() || h.Lease != (queue.Lease{Beat: 1, FailClosed: true}) || h.Since.UnixMilli() != 5 || h.Ticket != n(1) {
				t.Fatalf("confirmed: %+v, %v", rec, err)
			}
		}
		if rec, err := serving.Evict(ctx, q, judged); !errors.Is(err, serving.ErrRefused) || len(rec.Holders) != 1 {
			t.Errorf("an earlier observer evicted it: %+v, %v", rec, err)
		}
		rec, err := heartbeat(ctx, q, "a", n(1), queue.Renewal{Since: time.UnixMilli(77)})
		if h, _ := rec.Mine("a"); err != nil || h.Lease != (queue.Lease{Beat: 2, FailClosed: true}) || h.Since.UnixMilli() != 5 {
			t.Errorf("its heartbeat: %+v, %v", rec, err)
		}
		if rec, err := serving.Confirm(ctx, q, "a", n(1), time.Time{}); err != nil || rec.Holders[0].Lease.Beat != 2 {
			t.Errorf("a confirmation that comes late: %+v, %v", rec, err)
		}

		take(t, q, "b") // ticket 2 waits
		if _, err := sendRelease(ctx, q, queue.FormHandOff, endingOf("a", 1)); err != nil {
			t.Fatal(err)
		}
		if _, err := serving.Claim(ctx, q, failClosed("b-2"), n(2)); err != nil {
			t.Fatal(err)
		}
		rec, err = serving.Confirm(ctx, q, "b-2", n(2), time.Time{})
		if h, _ := rec.Mine("b-2"); err != nil || !h.Lease.Endless() || h.Ticket != n(2) {
			t.Errorf("confirmed after a claim: %+v, %v", rec, err)
		}
		if rec, err := serving.Confirm(ctx, q, "a", n(1), time.Time{}); !errors.Is(err, serving.ErrRefused) || len(rec.Holders) != 1 {
			t.Errorf("a confirmation that comes after the release: %+v, %v", rec, err)
		}
	})
}

// TestEvictionBesideConfirmation checks that an eviction and a confirmation exclude each
// other.
func TestEvictionBesideConfirmation(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		judged := takeFailClosed(t, q, "a")
		if _, err := serving.Evict(t.Context(), q, judged); err != nil {
			t.Fatal(err)
		}
		rec, err := serving.Confirm(t.Context(), q, "a", n(1), time.Time{})
		if !errors.Is(err, serving.ErrRefused) || len(rec.Holders) != 0 || !rec.Present {
			t.Errorf("an evicted holder was confirmed: %+v, %v", rec, err)
		}
	})
}

// TestConfirmOrphan checks that an orphaned entry is not confirmed. A TAKE that arrives
// twice puts an id there again, with another ticket.
func TestConfirmOrphan(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		takeFailClosed(t, q, "a")
		if _, err := sendRelease(t.Context(), q, queue.FormFast, endingOf("a", 1)); err != nil {
			t.Fatal(err)
		}
		takeFailClosed(t, q, "a")
		rec, err := serving.Confirm(t.Context(), q, "a", n(1), time.Time{})
		if h, mine := rec.Mine("a"); !errors.Is(err, serving.ErrRefused) || !mine || h.Lease.Endless() || h.Ticket != n(2) {
			t.Errorf("%+v, %v, want that the orphaned entry keeps its lease", rec, err)
		}
	})
}

// TestLostAnswerOfConfirm checks that the outcome of a confirmation whose answer was lost
// is found out.
func TestLostAnswerOfConfirm(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		takeFailClosed(t, q, "a")
		fault := tb.Inject(queuelocktest.LoseResponse().Of("UpdateItem").Times(1))
		rec, err := serving.Confirm(t.Context(), q, "a", n(1), time.Time{})
		if h, _ := rec.Mine("a"); err != nil || !h.Lease.Endless() || fault.Fired() != 1 {
			t.Errorf("%+v, %v", rec, err)
		}
	})
}

// TestDismiss checks that Dismiss removes only a holder without a lease.
func TestDismiss(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		ctx := t.Context()
		stays := func(id string) {
			t.Helper()
			if rec, err := serving.EvictFailClosed(ctx, q, queue.Holder{ID: id}); !errors.Is(err, serving.ErrRefused) || len(rec.Holders) != 1 {
				t.Errorf("%+v, %v, want a refusal", rec, err)
			}
		}
		take(t, q, "leased")
		stays("leased")
		stays("missing")
		if _, err := sendRelease(ctx, q, queue.FormFast, endingOf("leased", 1)); err != nil {
			t.Fatal(err)
		}
		takeFailClosed(t, q, "a")
		stays("a")
		if _, err := serving.Confirm(ctx, q, "a", n(2), time.Time{}); err != nil {
			t.Fatal(err)
		}
		rec, err := serving.EvictFailClosed(ctx, q, queue.Holder{ID: "a", Ticket: n(2)})
		if err != nil || len(rec.Holders) != 0 || !rec.Present {
			t.Errorf("dismissed: %+v, %v", rec, err)
		}
		if _, err := serving.EvictFailClosed(ctx, q, queue.Holder{ID: "a", Ticket: n(2)}); !errors.Is(err, serving.ErrRefused) {
			t.Errorf("again: %v", err)
		}
		if _, err := heartbeat(ctx, q, "a", n(2), queue.Renewal{}); !errors.Is(err, serving.ErrRefused) {
			t.Errorf("its heartbeat gave %v, want ErrRefused", err)
		}
	})
}

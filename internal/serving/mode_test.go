package serving_test

import (
	"errors"
	"testing"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
)

// as is an entry of that mode.
func as(id string, m queue.Mode) queue.Entry {
	e := entryOf(id)
	e.Mode = m
	return e
}

var (
	exclusive = queue.Mode{}
	shared    = queue.Mode{Shared: true}
	three     = queue.Mode{Permits: 3}
)

// takeAs takes a number, in a queue that may have to be seeded.
func takeAs(t *testing.T, q table.Queue, id string, m queue.Mode) queue.Record {
	t.Helper()
	for try := range 3 {
		rec, err := serving.Take(t.Context(), q, as(id, m), false)
		if err == nil {
			return rec
		}
		if try == 2 {
			t.Fatal(err)
		}
	}
	return queue.Record{}
}

// TestJoin checks that a holder may join others only in a compatible mode.
func TestJoin(t *testing.T) {
	for name, test := range map[string]struct {
		holds []queue.Mode // the first by TAKE, the others by CLAIM
		then  queue.Mode
		joins bool
	}{
		"a reader a reader":             {[]queue.Mode{shared}, shared, true},
		"a reader two readers":          {[]queue.Mode{shared, shared}, shared, true},
		"a reader a writer":             {[]queue.Mode{exclusive}, shared, false},
		"a writer a reader":             {[]queue.Mode{shared}, exclusive, false},
		"a writer a writer":             {[]queue.Mode{exclusive}, exclusive, false},
		"the second of three permits":   {[]queue.Mode{three}, three, true},
		"the third of three permits":    {[]queue.Mode{three, three}, three, true},
		"the fourth of three permits":   {[]queue.Mode{three, three, three}, three, false},
		"the second of a single permit": {[]queue.Mode{{Permits: 1}}, queue.Mode{Permits: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
				ids := []string{"a", "b", "c", "d"}
				for i, m := range test.holds {
					rec := takeAs(t, q, ids[i], m)
					if i == 0 {
						if _, served := rec.Mine("a"); !served {
							t.Fatalf("the first is not served: %+v", rec)
						}
						continue
					}
					if rec, err := serving.Claim(t.Context(), q, as(ids[i], m), rec.TicketNumber); err != nil {
						t.Fatalf("holder %d: %+v, %v", i, rec, err)
					}
				}
				before := len(test.holds)
				for _, idle := range []bool{true, false} { // NoWait and not
					rec, err := serving.Take(t.Context(), q, as("x", test.then), idle)
					if idle && !test.joins {
						if !errors.Is(err, serving.ErrRefused) {
							t.Errorf("a TAKE that asks for room: %v", err)
						}
						continue
					}
					if _, served := rec.Mine("x"); err != nil || served || len(rec.Holders) != before {
						t.Fatalf("TAKE beside %d holders: %+v, %v", before, rec, err)
					}
				}
				last, err := serving.Get(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				rec, err := serving.Claim(t.Context(), q, as("x", test.then), last.TicketNumber)
				me, served := rec.Mine("x")
				if served != test.joins || (err == nil) != test.joins || !test.joins && !errors.Is(err, serving.ErrRefused) {
					t.Fatalf("CLAIM: %+v, %v", rec, err)
				}
				if test.joins && (len(rec.Holders) != before+1 || me.Ticket != last.TicketNumber || me.Shared != test.then.Shared || rec.Shared != test.then.Shared) {
					t.Errorf("CLAIM left %+v", rec)
				}
				if room := last.Room(test.then, nil); room != test.joins {
					t.Errorf("Room says %v", room)
				}
			})
		})
	}
}

// TestHoldModeIsRemoved checks that the hold mode is removed with the last holder. Every
// way out takes the hold mode along with the holders, and leaves permits.
func TestHoldModeIsRemoved(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		says := func(want string) {
			t.Helper()
			item := tb.Items()[0]
			mode := ""
			if v, ok := item["holdMode"]; ok {
				mode = (&clause.Reader{Item: clause.Item{"holdMode": v}}).Text("holdMode")
			}
			if mode != want {
				t.Errorf("the hold mode is %q, want %q", mode, want)
			}
		}
		takeAs(t, q, "a", shared)
		says("shared")
		if _, err := sendRelease(t.Context(), q, queue.FormFast, endingOf("a", 1)); err != nil {
			t.Fatal(err)
		}
		says("")
		takeAs(t, q, "w", exclusive)
		says("exclusive")
		if rec := takeAs(t, q, "r", shared); rec.Shared {
			t.Error("a reader's TAKE has changed how a writer holds")
		}
		says("exclusive")
		if _, err := sendRelease(t.Context(), q, queue.FormHandOff, endingOf("w", 2)); err != nil {
			t.Fatal(err)
		}
		if _, err := serving.Claim(t.Context(), q, as("r", shared), n(3)); err != nil {
			t.Fatal(err)
		}
		says("shared")
		if _, err := sendRelease(t.Context(), q, queue.FormHandOff, endingOf("r", 3)); err != nil {
			t.Fatal(err)
		}
		if _, err := serving.Reset(t.Context(), q, n(3)); err != nil {
			t.Fatal(err)
		}
		says("")
	})
}

// TestReaderBesideUnknownMode checks that a reader does not join holders of an unknown
// mode. A record with holders that does not say how they hold is not made to say that
// they share.
func TestReaderBesideUnknownMode(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		item := given()
		delete(item, "holdMode")
		put(t, tb, item)
		_, err := serving.Take(t.Context(), q, as("r", shared), false)
		malformed, ok := errors.AsType[*clause.MalformedError](err)
		if !ok || malformed.Attribute != "holdMode" {
			t.Errorf("%v", err)
		}
		for _, bad := range []string{"sharing", ""} {
			item["holdMode"] = clause.String(bad)
			if rec, err := queue.DecodeRecord(q.Items, item); err == nil || rec.Shared {
				t.Errorf("hold mode %q: %+v, %v", bad, rec, err)
			}
		}
		for _, bad := range []string{"0", "-1", "501", "1.5"} {
			item := given()
			item["permits"] = num(bad)
			if _, err := queue.DecodeRecord(q.Items, item); err == nil {
				t.Errorf("%s permits are read", bad)
			}
		}
	})
}

// TestDowngrade checks that only the holder can downgrade, and a downgrade is idempotent.
func TestDowngrade(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		takeAs(t, q, "w", exclusive)
		for name, who := range map[string]struct {
			id     string
			ticket int
		}{"another id": {"x", 1}, "another ticket": {"w", 2}} {
			if _, err := downgrade(t.Context(), q, who.id, n(who.ticket), 2); !errors.Is(err, serving.ErrRefused) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for range 2 {
			if rec, err := downgrade(t.Context(), q, "w", n(1), 2); err != nil || !rec.Shared || !rec.Holders[0].Shared {
				t.Fatalf("%+v, %v", rec, err)
			}
		}
		rec := takeAs(t, q, "r", shared)
		if _, err := serving.Claim(t.Context(), q, as("r", shared), rec.TicketNumber); err != nil {
			t.Fatal(err)
		}
		if rec, err := downgrade(t.Context(), q, "w", n(1), 2); err != nil || len(rec.Holders) != 2 {
			t.Errorf("once more, after others have joined: %+v, %v", rec, err)
		}
		// Heartbeats of both go on, whatever was granted since.
		for id, ticket := range map[string]int{"w": 1, "r": 2} {
			if _, err := heartbeat(t.Context(), q, id, n(ticket), queue.Renewal{}); err != nil {
				t.Errorf("heartbeat of %s: %v", id, err)
			}
		}
		if _, err := sendRelease(t.Context(), q, queue.FormHandOff, endingOf("w", 1)); err != nil {
			t.Fatal(err)
		}
		if _, err := downgrade(t.Context(), q, "w", n(1), 2); !errors.Is(err, serving.ErrRefused) {
			t.Errorf("after the release: %v", err)
		}
	})
}

package serving_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queuelocktest"
)

// untimed returns an entry without an end.
func untimed(id string) serving.Entry {
	e := entryOf(id)
	e.Lease.Until = time.Time{}
	return e
}

// untimedHolders returns the holders of a new semaphore without an end.
func untimedHolders(t *testing.T, q table.Queue, count int) []serving.Holder {
	t.Helper()
	var rec serving.Record
	var err error
	for i := range count {
		e := untimed(fmt.Sprint("h", i))
		e.Mode.Permits = count
		if i == 0 {
			_, err = serving.Take(t.Context(), q, e, false)
		} else {
			other := e
			other.ID += "-takes"
			if _, err = serving.Take(t.Context(), q, other, false); err == nil {
				rec, err = serving.Claim(t.Context(), q, e, n(i+1))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if count == 1 {
		rec, err = serving.Get(t.Context(), q)
	}
	if err != nil || len(rec.Holders) != count {
		t.Fatalf("%+v, %v, want %d holders", rec, err, count)
	}
	return rec.Holders
}

// TestSeen checks that the first observation of a beat is kept, for that beat and only
// while its entry has no end.
func TestSeen(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	write := func(t *testing.T, q table.Queue, update expression.UpdateBuilder) {
		t.Helper()
		e := table.Build(expression.NewBuilder().WithUpdate(update).WithCondition(expression.AttributeExists(expression.Name("pk"))))
		if _, err := q.Record().Update(t.Context(), q.RecordKey(), e); err != nil {
			t.Fatal(err)
		}
	}
	heartbeat := func(until time.Time) func(*testing.T, context.Context, table.Queue) {
		return func(t *testing.T, ctx context.Context, q table.Queue) {
			if _, err := serving.Heartbeat(ctx, q, "h0", n(1), serving.Renewal{Until: until}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, test := range map[string]struct {
		meanwhile func(*testing.T, context.Context, table.Queue) // between the look and the write
		refused   bool
	}{
		"kept":                                  {},
		"refused after a heartbeat with an end": {meanwhile: heartbeat(at(9000)), refused: true},
		"refused after a heartbeat without an end": {meanwhile: heartbeat(time.Time{}), refused: true},
		"refused if it was seen": {refused: true, meanwhile: func(t *testing.T, ctx context.Context, q table.Queue) {
			rec, _ := serving.Get(ctx, q)
			if _, err := serving.Seen(ctx, q, at(50), rec.Holders...); err != nil {
				t.Fatal(err)
			}
		}},
		"refused if it has left": {refused: true, meanwhile: func(t *testing.T, ctx context.Context, q table.Queue) {
			if _, err := serving.Remove(ctx, q, "h0"); err != nil {
				t.Fatal(err)
			}
		}},
		"refused for a repeated TAKE": {refused: true, meanwhile: func(t *testing.T, _ context.Context, q table.Queue) {
			write(t, q, expression.Set(expression.Name("servingAfter"), expression.Value(table.Int(4))).
				Set(expression.Name("ticketNumber"), expression.Value(table.Int(5))))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
				seen := untimedHolders(t, q, 1)
				if test.meanwhile != nil {
					test.meanwhile(t, t.Context(), q)
				}
				before, _ := serving.Get(t.Context(), q)
				rec, err := serving.Seen(t.Context(), q, at(100), seen...)
				if test.refused {
					after, _ := serving.Get(t.Context(), q)
					if !errors.Is(err, serving.ErrRefused) || fmt.Sprint(before.Holders) != fmt.Sprint(after.Holders) {
						t.Errorf("%v, and the record is %+v, was %+v", err, after, before)
					}
					return
				}
				if err != nil || !rec.Holders[0].Lease.Seen.Equal(at(100)) || !rec.Holders[0].Lease.End().Equal(at(100).Add(time.Minute)) {
					t.Fatalf("%+v, %v", rec.Holders, err)
				}
				// A holder that does not know the time leaves it, and its next beat is not affected.
				heartbeat(time.Time{})(t, t.Context(), q)
				rec, _ = serving.Get(t.Context(), q)
				if h := rec.Holders[0]; !h.Lease.End().IsZero() || h.Problem != nil {
					t.Errorf("after a heartbeat without an end: %+v", h)
				}
				if rec, err = serving.Seen(t.Context(), q, at(200), rec.Holders...); err != nil || !rec.Holders[0].Lease.Seen.Equal(at(200)) {
					t.Errorf("the next beat is seen: %+v, %v", rec.Holders, err)
				}
				heartbeat(at(300))(t, t.Context(), q)
				rec, _ = serving.Get(t.Context(), q)
				if h := rec.Holders[0]; !h.Lease.End().Equal(at(300)) || !h.Lease.Seen.IsZero() {
					t.Errorf("after a heartbeat with an end: %+v", h)
				}
			})
		})
	}
	t.Run("of many holders, all or none", func(t *testing.T) {
		onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
			holders := untimedHolders(t, q, serving.MaxSeen)
			rec, err := serving.Seen(t.Context(), q, at(100), holders...)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range rec.Holders {
				if !h.Lease.Seen.Equal(at(100)) {
					t.Errorf("%+v", h)
				}
			}
			if _, err := serving.Seen(t.Context(), q, at(200), holders[3:5]...); !errors.Is(err, serving.ErrRefused) {
				t.Error(err)
			}
			// EVICT judges the beat alone, and CONFIRM makes the observation void.
			if rec, err = serving.Evict(t.Context(), q, holders...); err != nil || len(rec.Holders) != 0 {
				t.Errorf("%+v, %v", rec, err)
			}
		})
	})
	t.Run("of a provisional holder", func(t *testing.T) {
		onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
			e := untimed("h0")
			e.Lease.FailClosed = true
			if _, err := serving.Take(t.Context(), q, e, false); err != nil {
				t.Fatal(err)
			}
			seen, _ := serving.Get(t.Context(), q)
			if rec, err := serving.Seen(t.Context(), q, at(100), seen.Holders...); err != nil || rec.Holders[0].Lease.End().IsZero() {
				t.Fatalf("%+v, %v", rec, err)
			}
			if rec, err := serving.Confirm(t.Context(), q, "h0", n(1), time.Time{}); err != nil || !rec.Holders[0].Lease.Endless() {
				t.Fatalf("%+v, %v", rec, err)
			}
			if _, err := serving.Seen(t.Context(), q, at(200), seen.Holders...); !errors.Is(err, serving.ErrRefused) {
				t.Errorf("once it is confirmed: %v", err)
			}
			if rec, err := serving.Get(t.Context(), q); err != nil || !rec.Holders[0].Lease.Endless() || !rec.Holders[0].Lease.End().IsZero() {
				t.Errorf("%+v, %v", rec, err)
			}
		})
	})
}

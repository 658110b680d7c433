package serving_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
)

// met returns a queue of a client that knows DynamoDB's time.
func met(t *testing.T, tb *queuelocktest.Table) table.Queue {
	t.Helper()
	q := queueOf(tb, "e")
	if _, err := serving.Get(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	return q
}

func remove(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
	t.Helper()
	if _, err := tb.Client("operator").DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: new(tb.Name()), Key: q.RecordKey()}); err != nil {
		t.Fatal(err)
	}
}

// TestCreatingTake checks that TAKE creates the record, and what becomes of it when the
// request is lost, late or repeated.
func TestCreatingTake(t *testing.T) {
	run := func(name string, f func(t *testing.T, tb *queuelocktest.Table, q table.Queue)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tb := queuelocktest.NewTable(t)
				f(t, tb, met(t, tb))
			})
		})
	}
	for name, mode := range map[string]queue.Mode{"lock": {}, "shared lock": {Shared: true}, "semaphore": {Permits: 3}} {
		run("OneRequestForA "+name, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
			e := entryOf("a")
			e.Mode = mode
			var rec queue.Record
			var err error
			sent := cost(tb, func() { rec, err = serving.Take(t.Context(), q, e, true) })
			if h, mine := rec.Mine("a"); err != nil || !mine || h.Ticket != n(1) || rec.Permits != mode.Permits || sent != 1 {
				t.Errorf("%d requests gave %+v, %v", sent, rec, err)
			}
			if rec.Fits(q.Items, 0, mode) != nil || rec.Shared != mode.Shared {
				t.Errorf("the record is of another kind: %+v", rec)
			}
		})
	}
	run("AnswerLost", func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		tb.Inject(queuelocktest.LoseResponse().Times(1))
		if _, err := serving.Take(t.Context(), q, entryOf("lost"), false); err == nil || !counter.MayHaveTaken(err) {
			t.Errorf("got %v, want an error after which the ticket may be taken", err)
		}
		rec, err := serving.Take(t.Context(), q, entryOf("again"), true)
		if h, mine := rec.Mine("lost", "again"); !errors.Is(err, serving.ErrRefused) || !mine || h.ID != "lost" {
			t.Errorf("the next attempt gave %+v, %v, want a refusal that shows the first", rec, err)
		}
	})
	run("AppliedTwice", func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		again := tb.Inject(queuelocktest.HoldDuplicate().Times(1))
		take(t, q, "a")
		again.Release()
		time.Sleep(time.Second)
		rec, err := serving.Get(t.Context(), q)
		if h, mine := rec.Mine("a"); err != nil || len(rec.Holders) != 1 || !mine || h.Ticket != n(1) || rec.TicketNumber != n(2) {
			t.Errorf("the record is %+v, %v, want the grant, and one ticket more", rec, err)
		}
	})
	run("LateAfterDeletion", func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		late := tb.Inject(queuelocktest.HoldDuplicate().Times(1))
		take(t, q, "a")
		remove(t, tb, q)
		take(t, q, "b")
		late.Release()
		time.Sleep(time.Second)
		rec, err := serving.Get(t.Context(), q)
		if _, other := rec.Mine("b"); err != nil || !other || len(rec.Holders) != 1 {
			t.Errorf("a late TAKE changed the new holder: %+v, %v", rec, err)
		}
	})
	run("DeletedMeanwhile", func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		take(t, q, "a")
		tb.Inject(queuelocktest.DelayResponse(time.Second).Of("UpdateItem").Times(1))
		done := make(chan error)
		go func() {
			_, err := serving.Take(t.Context(), q, entryOf("b"), true)
			done <- err
		}()
		synctest.Wait()
		remove(t, tb, q)
		if err := <-done; !errors.Is(err, serving.ErrRefused) {
			t.Errorf("got %v, want the refusal of the record that was there", err)
		}
		take(t, q, "c")
	})
	for name, item := range map[string]clause.Item{
		"of another program": {"precious": clause.String("data")},
		"malformed":          {"ticketNumber": clause.Int(7), "granted": clause.Int(9)},
		"without a counter":  {"granted": clause.Int(9)},
	} {
		run("Item "+name, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
			for key, value := range q.RecordKey() {
				item[key] = value
			}
			if _, err := tb.Client("other").PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new(tb.Name()), Item: item}); err != nil {
				t.Fatal(err)
			}
			before := fmt.Sprint(tb.Items())
			_, err := serving.Take(t.Context(), q, entryOf("a"), false)
			if _, malformed := errors.AsType[*clause.MalformedError](err); !malformed || counter.MayHaveTaken(err) {
				t.Errorf("got %v, want a MalformedError, and nothing taken", err)
			}
			if after := fmt.Sprint(tb.Items()); len(after) != len(before) {
				t.Errorf("it was written: %s, %s", before, after)
			}
		})
	}
}

// TestWithoutNesting checks that a client of an engine that refuses the nested
// expression uses two requests for the first use of a key, and tries the other form once.
func TestWithoutNesting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := queuelocktest.NewTable(t, locktest.WithoutNesting())
		q := met(t, tb)
		// The client asks once whether the table's keys are the reason.
		for i, want := range []int{4, 2, 2} {
			q.Entity = fmt.Sprint("entity ", i)
			if sent := cost(tb, func() { take(t, q, "a") }); sent != want {
				t.Errorf("the first use of a key took %d requests, want %d", sent, want)
			}
			if sent := cost(tb, func() { take(t, q, "b") }); sent != 1 {
				t.Errorf("the second use took %d requests, want 1", sent)
			}
		}
		q.Reason = "permits"
		e := entryOf("a")
		e.Mode.Permits = 2
		if rec, err := serving.Take(t.Context(), q, e, false); err != nil || rec.Permits != 2 || len(rec.Holders) != 1 {
			t.Errorf("a semaphore: %+v, %v", rec, err)
		}
	})
}

package requests_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestWithoutNesting checks that a client of an engine that refuses the nested
// expression uses two requests for the first use of a key, and tries the other form once.
func TestWithoutNesting(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, tb *queuelocktest.Table) {
		q := queueOf(tb, "e")
		locktest.Must(requests.Get(t.Context(), q)) // it knows DynamoDB's time
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
		if rec, _, err := requests.Take(t.Context(), q, queue.Take(e, false)); err != nil || rec.Permits != 2 || len(rec.Holders) != 1 {
			t.Errorf("a semaphore: %+v, %v", rec, err)
		}
	}, locktest.WithoutNesting())
}

func take(t *testing.T, q table.Queue, id string) queue.Record {
	t.Helper()
	for {
		rec, _, err := requests.Take(t.Context(), q, queue.Take(entryOf(id), false))
		if errors.Is(err, requests.ErrRefused) {
			continue
		}
		locktest.OK(t, err)
		return rec
	}
}

// cost is how many requests something takes.
func cost(tb *queuelocktest.Table, do func()) int {
	before := tb.Counts()
	do()
	return tb.Counts().Sub(before).Total().Sent
}

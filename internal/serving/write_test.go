package serving_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
)

// onEveryEngine runs a test on one that sends dates, and on one that does not.
func onEveryEngine(t *testing.T, test func(t *testing.T, tb *queuelocktest.Table, q table.Queue)) {
	for engine, options := range map[string][]queuelocktest.Option{"current": nil, "without dates": {queuelocktest.WithoutDate()}} {
		t.Run(engine, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // whose clock is before the epoch of tickets
				tb := queuelocktest.NewTable(t, options...)
				test(t, tb, queueOf(tb, "e"))
			})
		})
	}
}

func take(t *testing.T, q table.Queue, id string) queue.Record {
	t.Helper()
	for {
		rec, err := serving.Take(t.Context(), q, entryOf(id), false)
		if errors.Is(err, serving.ErrRefused) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
}

// cost is how many requests something takes.
func cost(tb *queuelocktest.Table, do func()) int {
	before := tb.Counts()
	do()
	return tb.Counts().Sub(before).Total().Sent
}

// TestIdleLock checks that an idle lock is taken and released with one request each.
func TestIdleLock(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		var rec queue.Record
		if got := cost(tb, func() { rec = take(t, q, "first") }); got != 1 {
			t.Errorf("the first use took %d requests, want 1", got)
		}
		for i := 1; i <= 5; i++ {
			id := rec.Holders[0].ID
			if h, mine := rec.Mine(id); !mine || h.Ticket != n(i) {
				t.Fatalf("served with %+v, want ticket %d", h, i)
			}
			var resettable bool
			var err error
			got := cost(tb, func() {
				_, resettable, err = release(t.Context(), q, queue.Ending{ID: id, Ticket: n(i), HoldTime: queue.HoldTime{Mean: time.Second}}, true)
			})
			after, readErr := serving.Get(t.Context(), q)
			if err = cmp.Or(err, readErr); err != nil || resettable || got != 1 || after.Present || after.Floor() != n(i) || after.HoldTime.Mean != time.Second {
				t.Errorf("released with %d requests to %+v, %v, %v", got, after, resettable, err)
			}
			if got := cost(tb, func() { rec = take(t, q, fmt.Sprint("h", i)) }); got != 1 {
				t.Errorf("an idle lock took %d requests, want 1", got)
			}
		}
	})
}

// TestBusyLock checks that a busy lock is refused without consuming a ticket.
func TestBusyLock(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		take(t, q, "holder")
		rec, err := serving.Take(t.Context(), q, entryOf("busy"), true)
		if _, mine := rec.Mine("holder"); !errors.Is(err, serving.ErrRefused) || !mine || rec.TicketNumber != n(1) {
			t.Errorf("got %+v, %v, want a refusal that shows the holder", rec, err)
		}
		if _, err := sendRelease(t.Context(), q, queue.FormHandOff, endingOf("holder", 1)); err != nil {
			t.Fatal(err)
		}
		rec, err = serving.Take(t.Context(), q, entryOf("late"), true)
		if _, mine := rec.Mine("late"); err != nil || mine || rec.TicketNumber != n(2) {
			t.Errorf("with holders {} a newcomer got %+v, %v, want a ticket and no more", rec, err)
		}
	})
}

// TestReleaseHandsOff checks that a release hands off when another client has queued.
func TestReleaseHandsOff(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		take(t, q, "a")
		take(t, q, "b") // ticket 2 waits
		rec, resettable, err := release(t.Context(), q, endingOf("a", 1), true)
		if err != nil || resettable || !rec.Present || len(rec.Holders) != 0 || rec.Floor() != n(1) {
			t.Fatalf("released to %+v, %v, %v, want holders {}", rec, resettable, err)
		}
		if rec, err := serving.Reset(t.Context(), q, n(1)); !errors.Is(err, serving.ErrRefused) || !rec.Present {
			t.Errorf("with a ticket outstanding RESET gave %+v, %v", rec, err)
		}
		rec, err = serving.Claim(t.Context(), q, entryOf("b-2"), n(2))
		if h, mine := rec.Mine("b-2"); err != nil || !mine || h.Ticket != n(2) {
			t.Fatalf("the claim gave %+v, %v", rec, err)
		}
		rec, resettable, err = release(t.Context(), q, endingOf("b-2", 2), false)
		if err != nil || !resettable || !rec.Present {
			t.Fatalf("released to %+v, %v, %v, want that RESET would be granted", rec, resettable, err)
		}
		if rec, err = serving.Reset(t.Context(), q, n(2)); err != nil || rec.Present || rec.Floor() != n(2) {
			t.Errorf("RESET gave %+v, %v", rec, err)
		}
		for _, idle := range []bool{true, false} {
			if _, _, err := release(t.Context(), q, endingOf("b-2", 2), idle); !errors.Is(err, serving.ErrRefused) {
				t.Errorf("a second release gave %v, want ErrRefused", err)
			}
		}
	})
}

// TestLostAnswerOfTake checks that the outcome of a TAKE whose answer was lost is found
// by its id. The caller finds out by reading the record.
func TestLostAnswerOfTake(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		for _, operation := range []string{"first", "second"} {
			fault := tb.Inject(queuelocktest.LoseResponse().Of("UpdateItem").Times(1))
			id := "lost-" + operation
			sent := cost(tb, func() {
				_, err := serving.Take(t.Context(), q, entryOf(id), false)
				if err == nil || !counter.MayHaveTaken(err) {
					t.Errorf("got %v, want an error after which the ticket may be taken", err)
				}
			})
			if sent != 1 {
				t.Errorf("%d requests were sent, want 1: a retry would take a second ticket", sent)
			}
			fault.Remove()
			rec, err := serving.Take(t.Context(), q, entryOf(id+"-again"), true)
			h, mine := rec.Mine(id, id+"-again")
			if !errors.Is(err, serving.ErrRefused) || !mine || h.ID != id {
				t.Fatalf("the next attempt gave %+v, %v, want a refusal that shows %s", rec, err, id)
			}
			if _, _, err := release(t.Context(), q, queue.Ending{ID: id, Ticket: h.Ticket, HoldTime: queue.HoldTime{}}, true); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestLostAnswers checks that a lost answer of any other write has the right outcome.
func TestLostAnswers(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		ctx := t.Context()
		lose := func(do func() (queue.Record, error)) (queue.Record, error) {
			t.Helper()
			fault := tb.Inject(queuelocktest.LoseResponse().Of("UpdateItem").Times(1))
			defer fault.Remove()
			rec, err := do()
			if fault.Fired() != 1 {
				t.Error("no answer was lost")
			}
			return rec, err
		}
		idleAt := func(rec queue.Record, floor int) bool {
			return len(rec.Holders) == 0 && rec.Floor() == n(floor)
		}

		take(t, q, "a")
		rec, err := lose(func() (queue.Record, error) {
			return heartbeat(ctx, q, "a", n(1), queue.Renewal{Until: time.UnixMilli(9000), Since: time.UnixMilli(5)})
		})
		if h, mine := rec.Mine("a"); err != nil || !mine || h.Lease.Beat != 2 || h.Lease.Until.UnixMilli() != 9000 || h.Since.UnixMilli() != 5 {
			t.Errorf("HEARTBEAT: %+v, %v, want two beats and no harm", rec, err)
		}
		rec, err = heartbeat(ctx, q, "a", n(1), queue.Renewal{Until: time.UnixMilli(8999), Since: time.UnixMilli(77)})
		if h, _ := rec.Mine("a"); !errors.Is(err, serving.ErrMade) || h.Lease.Until.UnixMilli() != 9000 || h.Since.UnixMilli() != 5 {
			t.Errorf("a HEARTBEAT that comes late: %+v, %v", rec, err)
		}
		take(t, q, "b")
		rec, err = lose(func() (queue.Record, error) {
			return sendRelease(ctx, q, queue.FormHandOff, queue.Ending{ID: "a", Ticket: n(1), Call: 1, Lost: true})
		})
		if _, held := rec.Mine("a"); !errors.Is(err, serving.ErrRefused) || held || !idleAt(rec, 1) || !rec.Present {
			t.Errorf("hand-off: %+v, %v, want a refusal without the id", rec, err)
		}
		_, err = lose(func() (queue.Record, error) { return serving.Claim(ctx, q, entryOf("b-2"), n(2)) })
		if err == nil || errors.Is(err, serving.ErrRefused) {
			t.Errorf("CLAIM: %v, want an unknown outcome", err)
		}
		rec, err = serving.Claim(ctx, q, entryOf("b-3"), n(2))
		if h, mine := rec.Mine("b-2", "b-3"); !errors.Is(err, serving.ErrRefused) || !mine || h.ID != "b-2" || h.Ticket != n(2) {
			t.Errorf("the CLAIM after it: %+v, %v, want the first id with its ticket", rec, err)
		}
		rec, err = lose(func() (queue.Record, error) {
			return sendRelease(ctx, q, queue.FormFast, queue.Ending{ID: "b-2", Ticket: n(2), HoldTime: queue.HoldTime{Mean: time.Second}, Lost: true})
		})
		if !errors.Is(err, serving.ErrRefused) || !idleAt(rec, 2) || rec.Present || rec.HoldTime.Mean != time.Second {
			t.Errorf("fast RELEASE: %+v, %v, want a refusal by an idle record", rec, err)
		}

		take(t, q, "c")
		rec, err = lose(func() (queue.Record, error) { return serving.Evict(ctx, q, queue.Holder{ID: "c", Ticket: n(3)}) })
		if !errors.Is(err, serving.ErrRefused) || !idleAt(rec, 3) || !rec.Present {
			t.Errorf("EVICT: %+v, %v, want a refusal by a record without the holder", rec, err)
		}
		rec, err = lose(func() (queue.Record, error) { return serving.Reset(ctx, q, n(3)) })
		if !errors.Is(err, serving.ErrRefused) || !idleAt(rec, 3) || rec.Present {
			t.Errorf("RESET: %+v, %v, want a refusal by an idle record", rec, err)
		}
		take(t, q, "d")
		rec, err = lose(func() (queue.Record, error) { return serving.Remove(ctx, q, "d") })
		if !errors.Is(err, serving.ErrRefused) || !idleAt(rec, 4) {
			t.Errorf("Remove: %+v, %v, want a refusal by a record without the id", rec, err)
		}
	})
}

// TestLateClaim checks that a late CLAIM is never granted beside or below a later one.
func TestLateClaim(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		ctx := t.Context()
		for _, id := range []string{"a", "b", "c"} {
			take(t, q, id)
		}
		claim := func(id string, ticket int) error {
			_, err := serving.Claim(ctx, q, entryOf(id), n(ticket))
			return err
		}
		if err := claim("b-2", 2); !errors.Is(err, serving.ErrRefused) {
			t.Errorf("a claim of a busy lock gave %v", err)
		}
		if _, err := sendRelease(ctx, q, queue.FormHandOff, endingOf("a", 1)); err != nil {
			t.Fatal(err)
		}
		if err := claim("a-2", 1); !errors.Is(err, serving.ErrRefused) {
			t.Errorf("a claim of the ticket that was served at once gave %v", err)
		}
		if err := claim("c-2", 3); err != nil {
			t.Errorf("the claim of the highest ticket gave %v", err)
		}
		if err := claim("b-3", 2); !errors.Is(err, serving.ErrRefused) {
			t.Errorf("a claim beside a holder gave %v", err)
		}
		if _, err := sendRelease(ctx, q, queue.FormHandOff, endingOf("c-2", 3)); err != nil {
			t.Fatal(err)
		}
		// 57 was issued by an earlier record of the key.
		for _, ticket := range []int{2, 3, 57} {
			if err := claim(fmt.Sprint("late-", ticket), ticket); !errors.Is(err, serving.ErrRefused) {
				t.Errorf("after 3 was granted, a claim of %d gave %v", ticket, err)
			}
		}
	})
}

// TestEvictionSpares checks that an eviction spares a holder whose beat has changed.
func TestEvictionSpares(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, tb *queuelocktest.Table, q table.Queue) {
		rec := take(t, q, "alive")
		judged := rec.Holders[0]
		if _, err := heartbeat(t.Context(), q, "alive", n(1), queue.Renewal{}); err != nil {
			t.Fatal(err)
		}
		rec, err := serving.Evict(t.Context(), q, judged)
		if _, held := rec.Mine("alive"); !errors.Is(err, serving.ErrRefused) || !held {
			t.Errorf("got %+v, %v, want that it is spared", rec, err)
		}
		if rec, err = serving.Evict(t.Context(), q, rec.Holders[0]); err != nil || len(rec.Holders) != 0 || !rec.Present {
			t.Errorf("judged again it gave %+v, %v", rec, err)
		}
		if _, err := heartbeat(t.Context(), q, "alive", n(1), queue.Renewal{}); !errors.Is(err, serving.ErrRefused) {
			t.Errorf("the evicted holder's heartbeat gave %v, want ErrRefused", err)
		}
	})
}

// TestFence checks that the fence holds only while the lock is held. The fence goes into
// the user's own transaction.
func TestFence(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	q, client := queueOf(tb, "e"), tb.Client("user")
	name := tb.Name()
	fenced := func(id string, t1 int) error {
		check, err := fence(q, id, n(t1), true)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{ConditionCheck: &check},
			{Put: &types.Put{TableName: &name, Item: q.Key("user/data")}},
		}})
		return err
	}
	take(t, q, "a")
	take(t, q, "b")
	if err := fenced("a", 1); err != nil {
		t.Errorf("the holder's own transaction failed: %v", err)
	}
	if err := fenced("b", 2); err == nil {
		t.Error("a waiter's transaction was committed")
	}
	if _, err := sendRelease(t.Context(), q, queue.FormHandOff, endingOf("a", 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := serving.Claim(t.Context(), q, entryOf("b-2"), n(2)); err != nil {
		t.Fatal(err)
	}
	if err := fenced("a", 1); err == nil {
		t.Error("the transaction of a former holder was committed")
	}
	if err := fenced("b-2", 1); err == nil {
		t.Error("a transaction with too low a ticket was committed")
	}
	if err := fenced("b-2", 2); err != nil {
		t.Errorf("the holder's own transaction failed: %v", err)
	}
}

// TestIDsWithDots checks that an id with dots is one attribute name.
func TestIDsWithDots(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	q := queueOf(tb, "e")
	rec := take(t, q, "a.b[0].c")
	if _, mine := rec.Mine("a.b[0].c"); !mine {
		t.Fatalf("got %+v", rec)
	}
	if rec, err := heartbeat(t.Context(), q, "a.b[0].c", n(1), queue.Renewal{}); err != nil || rec.Holders[0].Lease.Beat != 1 {
		t.Errorf("its heartbeat gave %+v, %v", rec, err)
	}
	if rec, err := serving.Evict(t.Context(), q, queue.Holder{ID: "a.b[0].c", Lease: rec.Holders[0].Lease}); !errors.Is(err, serving.ErrRefused) {
		t.Errorf("its eviction at an older beat gave %+v, %v", rec, err)
	}
}

// release sends the fast form if the queue is believed to be idle, and the hand-off if
// that is refused, as a holder does. resettable says that RESET would now be granted.
func release(ctx context.Context, q table.Queue, e queue.Ending, idle bool) (rec queue.Record, resettable bool, err error) {
	if idle {
		rec, err = sendRelease(ctx, q, queue.FormFast, e)
		if !errors.Is(err, serving.ErrRefused) || !rec.Holds(e.ID, e.Ticket) {
			return rec, false, err
		}
	}
	rec, err = sendRelease(ctx, q, queue.FormHandOff, e)
	return rec, err == nil && !idle && rec.Resettable(e.Ticket), err
}

package modes_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// setCounters writes a number into all counters.
func setCounters(t *testing.T, table *queuelocktest.Table, number string) {
	t.Helper()
	for _, item := range locktest.Counters(table) {
		item["ticketNumber"] = &types.AttributeValueMemberN{Value: number}
		locktest.Must(table.Client("operator").PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: item}))
	}
}

// TestEntityNamedAsCounter checks that an entity may have the name of a counter.
func TestEntityNamedAsCounter(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		keys := []queuelock.Key{{Entity: "ticket-master", Reason: "current"}, {Entity: "ticket-master", Reason: "ticket-master"}, {Entity: "current", Reason: "ticket-master"}}
		c, _ := locktest.Open(t, table, "a", locktest.SharedScope)
		for i := range uint64(2) {
			locks := locktest.Must(c.AcquireAll(t.Context(), keys, waitpolicy.Forever))
			if n, _ := locks.Ticket(); n != ticket.FromUint64(i+1) {
				t.Errorf("ticket %s", n)
			}
			for _, key := range keys {
				if state, err := c.Viewer().Inspect(t.Context(), key); err != nil || len(state.Serving) != 1 || len(state.Waiting) != 0 {
					t.Errorf("%s: %+v, %v", key, state, err)
				}
			}
			locktest.ReleaseAll(t, locks)
		}
		per, _ := locktest.Open(t, table, "b", queuelock.Config{Scope: ticket.ScopeEntity})
		for i := range uint64(2) {
			lock, err := per.Acquire(t.Context(), queuelock.Key{Entity: "ticket-master", Reason: "mine"}, waitpolicy.Forever)
			if err != nil || lock.Ticket() != ticket.FromUint64(i+1) {
				t.Fatalf("%v, %v", lock, err)
			}
			locktest.Release(t, lock)
		}
		locktest.Must(c.Operator().Sweep(t.Context(), keys[0]))
		if n := len(locktest.Counters(table)); n != 2 {
			t.Errorf("%d counters, want 2", n)
		}
	})
}

// TestLostCounter checks that a counter that was lost is raised above the tickets of the queue.
func TestLostCounter(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", locktest.SharedScope)
		for range 5 {
			locktest.Release(t, locktest.Acquire(t, c, waitpolicy.Forever))
		}
		for _, lose := range []func(){func() { locktest.ForgetCounters(t, table, db) }, func() { setCounters(t, table, "2") }} {
			before := locktest.Acquire(t, c, waitpolicy.NoWait)
			locktest.Release(t, before)
			lose()
			var after *queuelock.Lock
			// Two numbers, one to seed, one refused, RAISE, a number and its ENTER;
			// and a look, where an engine sends no item with a refusal.
			if spent := locktest.Cost(table, func() { after = locktest.Acquire(t, c, waitpolicy.Forever) }); spent.Sent > 8 {
				t.Errorf("a lost counter cost %d requests", spent.Sent)
			}
			if after.Ticket().After(before.Ticket()) != 1 {
				t.Errorf("ticket %s follows %s", after.Ticket(), before.Ticket())
			}
			locktest.Release(t, after)
			locktest.Sends(t, table, 3, "then", func() { locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait)) })
		}
		setCounters(t, table, strings.Repeat("9", 38))
		for range 2 {
			if _, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever); !errors.Is(err, ticket.ErrExhausted) {
				t.Errorf("%v, want that numbers are exhausted", err)
			}
		}
		setCounters(t, table, "-1")
		if _, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever); err == nil || !strings.Contains(err.Error(), "ticketNumber") {
			t.Errorf("%v, want that the counter is malformed", err)
		}
		locktest.NothingLeft(t, table)
	})
}

// TestEnterBeforeRow checks that no row is put before its ticket is registered.
// Otherwise a client with a later ticket would be served past the row.
func TestEnterBeforeRow(t *testing.T) {
	for _, fault := range []queuelocktest.Fault{queuelocktest.LoseRequest(), queuelocktest.LoseResponse()} {
		locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
			b, db, a := locktest.Pair(t, table, locktest.SharedScope, "b", "a")
			held := locktest.Acquire(t, a, waitpolicy.Forever)
			db.Inject(fault.Of("UpdateItem").On(locktest.Order.Entity, "").Times(3))
			var mu sync.Mutex
			registered, answered := 0, false
			db.Inject(queuelocktest.DelayRequest(0).Where(func(r queuelocktest.Request) bool {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case r.Operation == "UpdateItem" && strings.Contains(r.Expression(), "ticketNumber = 2"):
					registered++
					answered = true
				case r.Operation == "PutItem" && !answered:
					t.Error("a row was put before its ticket was registered")
				}
				return false
			}))
			waiting := locktest.LockBy(t, b)
			time.Sleep(5 * time.Second)
			locktest.Release(t, held)
			got := <-waiting
			if got.Err != nil || registered != 1 {
				t.Fatalf("%v, %d REGISTERs got through to the end", got.Err, registered)
			}
			locktest.Release(t, got.Lock)
		}, queuelocktest.WithLatency(time.Millisecond))
	}
}

// TestLostAnswerOfEnter checks that an ENTER whose answer was lost is found by its id.
func TestLostAnswerOfEnter(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", locktest.SharedScope)
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.Forever))
		lost := db.Inject(queuelocktest.LoseResponse().Of("UpdateItem").On(locktest.Order.Entity, "").Times(1))
		before := db.Counts()
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		if n := db.Counts().Sub(before).Total().Sent; lost.Fired() != 1 || n != 3 || lock.Ticket() != ticket.FromUint64(2) {
			t.Errorf("%d requests, ticket %s", n, lock.Ticket())
		}
		locktest.Release(t, lock)

		// Or, if the caller has gone, it is removed.
		db.Inject(queuelocktest.LoseResponse().Of("UpdateItem").On(locktest.Order.Entity, "").Times(1))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if lock, err := c.Acquire(ctx, locktest.Order, waitpolicy.Forever); !errors.Is(err, queuelock.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, %v", lock, err)
		}
		locktest.NothingLeft(t, table)
		// And the queue is idle again.
		locktest.Sends(t, table, 2, "then", func() { locktest.Acquire(t, c, waitpolicy.NoWait) })
	})
}

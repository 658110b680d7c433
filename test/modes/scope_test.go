package modes_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

var widerScopes = []ticket.Scope{ticket.ScopeEntity, ticket.ScopeTable}

// TestRequestsOfScopes checks that a wider scope costs one more request for each call, and that a call has one ticket.
func TestRequestsOfScopes(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		for _, scope := range widerScopes {
			c, _ := locktest.Open(t, table, "a", queuelock.Config{Scope: scope})
			other, _ := locktest.OpenMet(t, table, "b", queuelock.Config{Scope: scope})
			key := func(reason string) queuelock.Key {
				return queuelock.Key{Entity: "order-" + scope.String(), Reason: reason}
			}
			costs := func(what string, want int, f func()) {
				t.Helper()
				if spent := locktest.Cost(table, f); spent.Sent != want {
					t.Errorf("%v, %s: %d requests, want %d", scope, what, spent.Sent, want)
				}
			}
			var lock *queuelock.Lock
			take := func(what string, want int, reason string, wait waitpolicy.Wait) {
				t.Helper()
				costs(what, want, func() { lock = locktest.Must(c.Acquire(t.Context(), key(reason), wait)) })
			}
			free := func() { t.Helper(); costs("release", 1, func() { locktest.Release(t, lock) }) }
			take("first use of the counter", 3, "a", waitpolicy.Forever)
			free()
			take("first use of a key", 2, "b", waitpolicy.Forever)
			free()
			take("idle, NoWait", 2, "b", waitpolicy.NoWait)
			costs("busy, NoWait", 2, func() {
				_, err := other.Acquire(t.Context(), key("b"), waitpolicy.NoWait)
				locktest.Is(t, err, queuelock.ErrNotAcquired)
			})
			free()
			var locks *queuelock.Locks
			costs("three", 4, func() {
				locks = locktest.Must(c.AcquireAll(t.Context(), []queuelock.Key{key("b"), key("a"), key("c")}, waitpolicy.Forever))
			})
			if common, ok := locks.Ticket(); !ok || common != ticket.FromUint64(5) {
				t.Errorf("%v: ticket %s of several", scope, common)
			}
			costs("release of three", 3, func() { locktest.Release(t, locks) })
			state := locktest.Must(c.Viewer().Inspect(t.Context(), key("a")))
			if state.Scope != scope || state.Issued != ticket.FromUint64(5) {
				t.Errorf("%v: inspected %+v", scope, state)
			}
		}
		for _, item := range locktest.Counters(table) {
			if len(item) != 3 || item["ticketNumber"] == nil {
				t.Errorf("a counter holds %v: its number, and no TTL attribute", item)
			}
		}
		if n := len(locktest.Counters(table)); n != 2 {
			t.Errorf("%d counters, want one of the entity and the shared one", n)
		}
	})
}

// TestScopeMismatch checks that a scope other than that of the queue is refused both ways.
func TestScopeMismatch(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		scopes := append([]ticket.Scope{ticket.ScopeQueue}, widerScopes...)
		for _, is := range scopes {
			key := queuelock.Key{Entity: "e", Reason: is.String()}
			owner, _ := locktest.Open(t, table, "owner", queuelock.Config{Scope: is})
			for _, held := range []bool{false, true} {
				lock := locktest.Must(owner.Acquire(t.Context(), key, waitpolicy.NoWait))
				if !held {
					locktest.Release(t, lock)
				}
				for _, wanted := range scopes {
					if wanted == is {
						continue
					}
					c, _ := locktest.Open(t, table, "other", queuelock.Config{Scope: wanted})
					for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(5 * time.Second)} {
						_, err := c.Acquire(t.Context(), key, wait)
						mismatch, ok := errors.AsType[*queue.MismatchError](err)
						if !ok || !strings.Contains(mismatch.Is, is.String()) || !strings.Contains(mismatch.Wanted, wanted.String()) || errors.Is(err, queuelock.ErrNotAcquired) {
							t.Errorf("%v of a queue of %v: %v", wanted, is, err)
						}
						locktest.Says(t, err, "queuelock: "+key.String()+" is a queue of ", "use Config{Scope: "+is.String()+"}, or use another Reason")
					}
					_, err := c.AcquireAll(t.Context(), []queuelock.Key{key, {Entity: "e", Reason: "A" + wanted.String()}}, waitpolicy.For(5*time.Second))
					if _, ok := errors.AsType[*queue.MismatchError](err); !ok {
						t.Errorf("AcquireAll by %v of a queue of %v: %v", wanted, is, err)
					}
					state, err := c.Viewer().Inspect(t.Context(), key)
					if locked, err := c.IsLocked(t.Context(), key); err != nil || locked != held {
						t.Errorf("locked %v, %v", locked, err)
					}
					if err != nil || state.Scope != is || len(state.Serving) > 1 || len(state.Serving) == 1 != held {
						t.Errorf("inspected %+v, %v", state, err)
					}
				}
				if held {
					locktest.Release(t, lock)
				}
			}
		}
		locktest.NothingLeft(t, table)
	})
}

// TestKindOfQueue checks that a queue remains a lock or a semaphore.
func TestKindOfQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct {
			first, then []queuelock.AcquireOption
			says        []string
		}{
			"another number": {[]queuelock.AcquireOption{queuelock.Permits(3)}, []queuelock.AcquireOption{queuelock.Permits(5)}, []string{"is a semaphore of 3, and a semaphore of 5 is asked for", "pass Permits(3), or use another Reason"}},
			"a lock":         {[]queuelock.AcquireOption{queuelock.Permits(3)}, nil, []string{"is a semaphore of 3, and a lock is asked for", "pass Permits(3), or use another Reason"}},
			"a semaphore":    {nil, []queuelock.AcquireOption{queuelock.Permits(1)}, []string{"is a lock, and a semaphore of 1 is asked for", "leave Permits out, or use another Reason"}},
			"a reader":       {[]queuelock.AcquireOption{queuelock.Permits(2)}, []queuelock.AcquireOption{queuelock.Shared()}, []string{"a semaphore of 2", "a lock"}},
		} {
			table := queuelocktest.NewTable(t)
			a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
			for _, held := range []bool{true, false} {
				lock := locktest.Acquire(t, a, waitpolicy.NoWait, test.first...)
				if !held {
					locktest.Release(t, lock)
				}
				before, removals := table.Items(), table.Inject(queuelocktest.Refuse(queuelocktest.InternalError).Of("UpdateItem").Mentioning("REMOVE holders."))
				for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.Forever} {
					_, err := b.Acquire(t.Context(), locktest.Order, wait, test.then...)
					if _, ok := errors.AsType[*queue.MismatchError](err); !ok {
						t.Fatalf("%s, %v: %v, want a MismatchError", name, wait, err)
					}
					locktest.Says(t, err, test.says...)
					if !strings.HasPrefix(err.Error(), `queuelock: "order-7" (lock) is `) || strings.Count(err.Error(), "order-7") != 1 {
						t.Errorf("%s: %v, want the key once", name, err)
					}
				}
				if removals.Remove(); removals.Fired() != 0 {
					t.Errorf("%s: it removed what it had not put", name)
				}
				if after := table.Items(); !reflect.DeepEqual(before, after) {
					t.Errorf("%s: it has changed %v to %v", name, before, after)
				}
				if held {
					locktest.Release(t, lock)
				}
			}
		}
	})
}

// setCounters writes a number into all counters.
func setCounters(t *testing.T, table *queuelocktest.Table, number string) {
	t.Helper()
	for _, item := range locktest.Counters(table) {
		item["ticketNumber"] = &types.AttributeValueMemberN{Value: number}
		locktest.Must(table.Client("operator").PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: item}))
	}
}

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
			locktest.Release(t, locks)
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
			_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
			locktest.Is(t, err, ticket.ErrExhausted)
		}
		setCounters(t, table, "-1")
		if _, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever); err == nil || !strings.Contains(err.Error(), "ticketNumber") {
			t.Errorf("%v, want that the counter is malformed", err)
		}
		locktest.NothingLeft(t, table)
	})
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

package modes_test

import (
	"errors"
	"strings"
	"testing"
	"time"

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
			costs("release of three", 3, func() { locktest.ReleaseAll(t, locks) })
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

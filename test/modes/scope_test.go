package modes_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

var widerScopes = []ticket.Scope{ticket.ScopeEntity, ticket.ScopeTable}

// TestRequestsOfScopes checks that the wider scopes cost the documented requests.
func TestRequestsOfScopes(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		for _, scope := range widerScopes {
			c, other := locktest.Two(t, table, queuelock.Config{Scope: scope}, "a", "b")
			key := func(reason string) queuelock.Key {
				return queuelock.Key{Entity: "order-" + scope.String(), Reason: reason}
			}
			take := func(want int, what, reason string, wait waitpolicy.Wait) *queuelock.Lock {
				t.Helper()
				var lock *queuelock.Lock
				spent := locktest.Cost(table, func() {
					var err error
					lock, err = c.Acquire(t.Context(), key(reason), wait)
					locktest.OK(t, err)
				})
				if spent.Sent != want {
					t.Errorf("%v, %s: %d requests, want %d", scope, what, spent.Sent, want)
				}
				return lock
			}
			free := func(lock *queuelock.Lock) {
				t.Helper()
				if spent := locktest.Cost(table, func() { locktest.Release(t, lock) }); spent.Sent != 1 {
					t.Errorf("%v: release: %d requests, want 1", scope, spent.Sent)
				}
			}
			free(take(3, "first use of the counter", "a", waitpolicy.Forever))
			free(take(2, "first use of a key", "b", waitpolicy.Forever))
			free(take(2, "idle", "a", waitpolicy.Forever))
			held := take(2, "idle, NoWait", "b", waitpolicy.NoWait)
			spent := locktest.Cost(table, func() {
				if _, err := other.Acquire(t.Context(), key("b"), waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
					t.Errorf("%v", err)
				}
			})
			// An engine that sends no item with a refusal has it read.
			if spent.Sent != 2 && spent.Sent != 3 {
				t.Errorf("%v, busy, NoWait: %d requests, want 2", scope, spent.Sent)
			}
			free(held)
			var locks *queuelock.Locks
			spent = locktest.Cost(table, func() {
				var err error
				locks, err = c.AcquireAll(t.Context(), []queuelock.Key{key("b"), key("a"), key("c")}, waitpolicy.Forever)
				locktest.OK(t, err)
			})
			if common, ok := locks.Ticket(); spent.Sent != 4 || !ok || common != ticket.FromUint64(6) {
				t.Errorf("%v: three idle locks took %d requests, want 4, and have ticket %s", scope, spent.Sent, common)
			}
			if spent := locktest.Cost(table, func() { locktest.ReleaseAll(t, locks) }); spent.Sent != 3 {
				t.Errorf("%v: their release took %d requests, want 3", scope, spent.Sent)
			}
			state, err := c.Viewer().Inspect(t.Context(), key("a"))
			if err != nil || state.Scope != scope || state.Issued != ticket.FromUint64(6) {
				t.Errorf("%v: inspected %+v, %v", scope, state, err)
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

// TestQueuedCycleOfScope checks that a queued cycle of a wider scope is seven requests besides
// its polls.
func TestQueuedCycleOfScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := locktest.Open(t, table, "a", locktest.SharedScope)
		b, db := locktest.Open(t, table, "b", locktest.SharedScope)
		held := locktest.Acquire(t, a, waitpolicy.Forever)
		waiting := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
		time.Sleep(time.Second)
		locktest.Release(t, held)
		locktest.Release(t, locktest.Lock(t, <-waiting))
		time.Sleep(time.Second)
		counts := db.Counts()
		polls := counts["Query"].Sent + counts["GetItem"].Sent
		if spent := counts.Total(); spent.Sent-polls != 7 || spent.WriteUnits != 7 {
			t.Errorf("%d requests and %v WCU beside %d polls, want 7 and 7\n%s", spent.Sent-polls, spent.WriteUnits, polls, table.Log())
		}
		if spent := locktest.Cost(table, func() { locktest.Release(t, locktest.Acquire(t, a, waitpolicy.Forever)) }); spent.Sent != 3 {
			t.Errorf("the next cycle: %d requests, want 3", spent.Sent)
		}
	})
}

// TestScopeMismatch checks that a scope other than that of the queue is refused both
// ways.
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

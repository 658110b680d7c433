package modes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// TestAcquireAll checks that all locks are held with one ticket.
func TestAcquireAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
		c, _ := locktest.Open(t, table, "a", locktest.SharedScope)
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "trace"))
		locks := locktest.Must(c.AcquireAll(ctx, locktest.KeysOf("stock/7", "order/7", "stock/7", "account/1"), waitpolicy.For(time.Hour)))
		cancel() // ends the wait only
		common, ok := locks.Ticket()
		var entities []string
		for _, lock := range locks.All() {
			entities = append(entities, lock.Key().Entity)
			if lock.Ticket() != common || lock.Err() != nil {
				t.Errorf("%s: ticket %s of %s, %v", lock.Key(), lock.Ticket(), common, lock.Err())
			}
		}
		if !ok || common != ticket.FromUint64(1) || !slices.Equal(entities, []string{"stock/7", "order/7", "account/1"}) {
			t.Errorf("ticket %s, %v, of %q", common, ok, entities)
		}
		time.Sleep(time.Hour)
		if locks.Err() != nil || locks.Context().Err() != nil || locks.Context().Value(key{}) != "trace" {
			t.Errorf("after an hour: %v, %v", locks.Err(), locks.Context().Err())
		}
		for range 2 {
			locktest.Release(t, locks)
		}
		<-locks.Context().Done()
		if !errors.Is(locks.Err(), queuelock.ErrReleased) || !errors.Is(context.Cause(locks.Context()), queuelock.ErrReleased) {
			t.Errorf("released: %v, %v", locks.Err(), context.Cause(locks.Context()))
		}
		locktest.NothingLeft(t, table)
	})
}

// TestAcquireAllArguments checks that AcquireAll refuses keys without a common ticket, and calls without a key.
func TestAcquireAllArguments(t *testing.T) {
	table := queuelocktest.NewTable(t)
	for _, test := range []struct {
		scope ticket.Scope
		keys  []queuelock.Key
		say   string
	}{
		{ticket.ScopeTable, nil, "no keys"},
		{ticket.ScopeQueue, []queuelock.Key{}, "no keys"},
		{ticket.ScopeTable, locktest.KeysOf("a", ""), "the entity is empty"},
		{ticket.ScopeEntity, locktest.KeysOf("a", "b"), `"a" and "b", which have no common ticket`},
	} {
		c, _ := locktest.Open(t, table, "a", queuelock.Config{Scope: test.scope})
		if _, err := c.AcquireAll(t.Context(), test.keys, waitpolicy.Forever); err == nil || !strings.Contains(err.Error(), test.say) {
			t.Errorf("%v of %v: %v, want that %s", test.scope, test.keys, err, test.say)
		}
	}
	locktest.SentNothing(t, table)
}

// TestOvertaken checks that a caller that is overtaken in one queue gives all back and takes a new number. The
// registration of its number is held up until a client with a later one is served.
func TestOvertaken(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		slow, dbSlow, fast := locktest.Pair(t, table, locktest.SharedScope, "slow", "fast")
		locktest.Release(t, locktest.AcquireAll(t, fast, waitpolicy.Forever, "a", "b"))

		gate := dbSlow.Inject(queuelocktest.HoldRequest().On("b", "").Times(1))
		waiting := locktest.QueueUpAll(t.Context(), slow, waitpolicy.For(time.Hour), "b", "a")
		<-gate.Reached() // it holds a, with ticket 2
		later := locktest.AcquireAll(t, fast, waitpolicy.Forever, "b")
		if got, _ := later.Ticket(); got != ticket.FromUint64(3) {
			t.Fatalf("the later ticket is %s", got)
		}
		gate.Release()
		time.Sleep(time.Second)
		free := locktest.AcquireAll(t, fast, waitpolicy.NoWait, "c")
		locktest.Release(t, free)
		both := locktest.QueueUpAll(t.Context(), fast, waitpolicy.For(time.Hour), "a") // ticket 6: behind the new number, 4
		time.Sleep(time.Second)
		locktest.StillWaits(t, "the one that was overtaken", waiting)
		locktest.StillWaits(t, "the last", both)
		locktest.Release(t, later)
		got := locktest.Lock(t, <-waiting)
		if n, _ := got.Ticket(); n != ticket.FromUint64(4) {
			t.Errorf("ticket %s, want a new one", n)
		}
		if n := dbSlow.Counts()["PutItem"].Sent; n != 1 {
			t.Errorf("%d rows were put, want none with the ticket that was overtaken", n)
		}
		locktest.Release(t, got)
		locktest.Release(t, locktest.Lock(t, <-both))
		locktest.NothingLeft(t, table)
	}, queuelocktest.WithLatency(time.Millisecond))
}

// TestWithoutCommonTicket checks that without a common ticket, in one queue after the other, each lock is taken soon
// after it is free, however many they are.
func TestWithoutCommonTicket(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		var entities []string
		for i := range 24 {
			entities = append(entities, fmt.Sprintf("k%02d", i))
		}
		held := locktest.AcquireAll(t, b, waitpolicy.NoWait, entities...)
		waiting := locktest.QueueUpAll(t.Context(), a, waitpolicy.Forever, entities...)
		for i, lock := range held.All() {
			time.Sleep(5 * time.Second)
			locktest.Release(t, lock)
			time.Sleep(2 * time.Second)
			if s := locktest.Must(b.Viewer().Inspect(t.Context(), lock.Key())); len(s.Serving) == 0 {
				t.Errorf("lock %d is idle, 2 s after its release", i+1)
			}
		}
		locktest.Release(t, locktest.Lock(t, <-waiting))
	}, queuelocktest.WithLatency(time.Millisecond))
}

// TestAcquireAllProgress checks that AcquireAll reports its progress for each queue in its caller's goroutine.
func TestAcquireAllProgress(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, locktest.SharedScope, "a", "b")
		held := locktest.AcquireAll(t, a, waitpolicy.NoWait, "a", "b", "c")
		time.AfterFunc(5*time.Second, func() {
			locktest.Check(t, held.Release(t.Context()))
		})
		told := map[string]int{} // no mutex: one goroutine
		locks := locktest.Must(b.AcquireAll(t.Context(), locktest.KeysOf("c", "b", "a", "d"), waitpolicy.Forever, queuelock.OnProgress(func(p queuelock.Progress) {
			told[p.Key.Entity]++
			if p.Position != 1 || p.TicketsAhead != 0 {
				t.Errorf("%+v", p)
			}
		})))
		if told["a"] == 0 || told["b"] == 0 || told["c"] == 0 || told["d"] != 0 {
			t.Errorf("reported %v", told)
		}
		locktest.Release(t, locks)

		// And a panic of it leaves all queues.
		held = locktest.AcquireAll(t, a, waitpolicy.NoWait, "b")
		func() {
			defer func() {
				if recover() != "boom" {
					t.Error("the panic is gone")
				}
			}()
			locks, err := b.AcquireAll(t.Context(), locktest.KeysOf("a", "b", "c"), waitpolicy.Forever, queuelock.OnProgress(func(queuelock.Progress) { panic("boom") }))
			t.Errorf("%v, %v", locks, err)
		}()
		locktest.Release(t, held)
		time.Sleep(time.Second)
		locktest.NothingLeft(t, table)
	}, queuelocktest.WithLatency(time.Millisecond))
}

// TestNextQueue checks that the next queue is entered when the row in the one before is written.
func TestNextQueue(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		b, db, a := locktest.Pair(t, table, locktest.SharedScope, "b", "a")
		held := locktest.AcquireAll(t, a, waitpolicy.NoWait, "a")
		gate := db.Inject(queuelocktest.HoldResponse().Of("PutItem").On("a", ""))
		next := db.Inject(queuelocktest.DelayRequest(0).Of("UpdateItem").On("b", ""))
		waiting := locktest.QueueUpAll(t.Context(), b, waitpolicy.Forever, "b", "a")
		<-gate.Reached()
		time.Sleep(time.Second)
		if next.Fired() != 0 {
			t.Error("b was entered before the row in a was known to be there")
		}
		gate.Release()
		time.Sleep(time.Second)
		if next.Fired() != 1 {
			t.Error("b was not gone to")
		}
		locktest.Release(t, held)
		locktest.Release(t, locktest.Lock(t, <-waiting))
		time.Sleep(time.Second)
		locktest.NothingLeft(t, table)
	}, queuelocktest.WithLatency(time.Millisecond))
}

// TestAcquireAllModes checks that several locks can be shared and counted.
func TestAcquireAllModes(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b, c := locktest.Three(t, table, locktest.SharedScope, "a", "b", "c")
		read := func(c *queuelock.Client) *queuelock.Locks {
			return locktest.Must(c.AcquireAll(t.Context(), locktest.KeysOf("a", "b"), waitpolicy.For(time.Hour), queuelock.Shared()))
		}
		first, second := read(a), read(b)
		writer := locktest.QueueUpAll(t.Context(), c, waitpolicy.For(time.Hour), "b", "a")
		time.Sleep(time.Second)
		_, err := a.AcquireAll(t.Context(), locktest.KeysOf("b"), waitpolicy.NoWait, queuelock.Shared())
		locktest.Is(t, err, queuelock.ErrNotAcquired)
		locktest.Release(t, first)
		time.Sleep(time.Second)
		locktest.StillWaits(t, "the writer", writer)
		locktest.Release(t, second)
		locktest.Release(t, locktest.Lock(t, <-writer))
		time.Sleep(time.Second)

		pool := func(c *queuelock.Client, n int) (*queuelock.Locks, error) {
			return c.AcquireAll(t.Context(), locktest.KeysOf("pool-1", "pool-2"), waitpolicy.For(time.Minute), queuelock.Permits(n))
		}
		held := []*queuelock.Locks{locktest.Must(pool(a, 2)), locktest.Must(pool(b, 2))}
		_, err = pool(c, 2)
		locktest.Is(t, err, queuelock.ErrNotAcquired)
		_, err = pool(c, 3)
		if mismatch, ok := errors.AsType[*queue.MismatchError](err); !ok || !strings.Contains(mismatch.Is, "2") {
			t.Errorf("another number of permits: %v", err)
		}
		for _, locks := range held {
			locktest.Release(t, locks)
		}
		time.Sleep(time.Second)
		locktest.NothingLeft(t, table)
	}, queuelocktest.WithLatency(time.Millisecond))
}

// TestAcquireAllBesideClosedQueue checks that a call for several locks holds none while one of their queues is closed for long, has
// all soon after that opens, and that a short closing is waited for in its place.
func TestAcquireAllBesideClosedQueue(t *testing.T) {
	for name, cfg := range map[string]queuelock.Config{"one after the other": {}, "a common ticket": locktest.SharedScope} {
		for _, closed := range []string{"a", "b"} {
			locktest.InTable(t, name+", closed is "+closed, func(t *testing.T, table *queuelocktest.Table) {
				open := map[string]string{"a": "b", "b": "a"}[closed]
				a, b, c := locktest.Three(t, table, cfg, "one", "two", "three")
				for _, lasts := range []time.Duration{2 * time.Hour, time.Second} {
					lock := locktest.Must(a.Acquire(t.Context(), queuelock.Key{Entity: closed}, waitpolicy.NoWait, queuelock.HoldAtLeast(lasts)))
					locktest.Release(t, lock)
					opens := time.Now().Add(lasts)
					both := locktest.QueueUpAll(t.Context(), b, waitpolicy.Forever, "a", "b")
					if lasts > time.Minute {
						time.Sleep(time.Minute)
						begun := time.Now()
						locktest.Release(t, locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: open}, waitpolicy.Forever)))
						if took := time.Since(begun); took > 5*time.Second {
							t.Errorf("%v for a lock that a call holds which waits for another", took)
						}
					}
					got := locktest.Within(t, "both", 3*time.Hour, both)
					locktest.OK(t, got.Err)
					if late := time.Since(opens); late > 10*time.Second {
						t.Errorf("%v after the queue opened", late)
					}
					locktest.OK(t, got.Lock.Release(context.Background()))
				}
			})
		}
	}
}

// TestSecondClosing lets another close the queue again before a call that has waited for it to open. The
// call keeps its new place then, or those that come later would close it before the call for ever.
func TestSecondClosing(t *testing.T) {
	for name, cfg := range map[string]queuelock.Config{"one after the other": {}, "a common ticket": locktest.SharedScope} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			a, b, c := locktest.Three(t, table, cfg, "one", "two", "three")
			const closed = 2 * time.Hour
			turn := func(c *queuelock.Client) {
				locktest.Release(t, locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: "b"}, waitpolicy.Forever, queuelock.HoldAtLeast(closed))))
			}
			turn(a)
			both := locktest.QueueUpAll(t.Context(), b, waitpolicy.Forever, "a", "b")
			time.Sleep(time.Minute)
			turn(a) // it has waited in the queue, and is served when that opens
			time.Sleep(time.Minute)
			later := locktest.Background(func() (any, error) { turn(c); return nil, nil })
			got := locktest.Within(t, "both", closed+time.Minute, both)
			locktest.OK(t, got.Err)
			locktest.StillWaits(t, "the later one", later)
			locktest.OK(t, got.Lock.Release(context.Background()))
			<-later
		})
	}
}

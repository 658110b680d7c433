package acquire_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// notAcquired is the error of an Acquire that must fail with one.
func notAcquired(t *testing.T, err error) *queuelock.NotAcquiredError {
	t.Helper()
	e, ok := errors.AsType[*queuelock.NotAcquiredError](err)
	if !ok {
		t.Fatalf("%v", err)
	}
	return e
}

// TestPosition checks that a position is that among the waiters, whatever tickets are between, and follows those ahead.
func TestPosition(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b, c := locktest.Three(t, table, queuelock.Config{}, "a", "b", "c")
		held := locktest.Acquire(t, a, waitpolicy.NoWait)
		// In order: c, b, c, b. The two of c give up, and then the last knows only
		// that the ticket between may be a waiter's.
		ctx, cancel := context.WithCancel(t.Context())
		gone := []<-chan locktest.Outcome{locktest.QueueUp(ctx, c, waitpolicy.Forever)}
		time.Sleep(time.Second)
		first := locktest.QueueUp(t.Context(), b, waitpolicy.For(40*time.Second))
		time.Sleep(time.Second)
		gone = append(gone, locktest.QueueUp(ctx, c, waitpolicy.Forever))
		time.Sleep(time.Second)
		var w locktest.ProgressLog
		last := locktest.QueueUp(t.Context(), b, waitpolicy.For(30*time.Second), queuelock.OnProgress(w.Add))
		time.Sleep(time.Second)
		if got := w.Places(); got != "4/3 a; " {
			t.Errorf("reported %s", got)
		}
		cancel()
		for _, g := range gone {
			<-g
		}
		if e := notAcquired(t, (<-last).Err); e.Position != 3 {
			t.Errorf("position %d, want 3", e.Position)
		}
		if e := notAcquired(t, (<-first).Err); e.Position != 1 {
			t.Errorf("position %d, want 1", e.Position)
		}
		locktest.Release(t, held)
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

// A waiter behind another of its client does not look: it knows what the first of them sees.
func TestServing(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{Poll: waitpolicy.Schedule{SlowestNext: 30 * time.Second, Slowest: 30 * time.Second}})
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		held := locktest.Acquire(t, a, waitpolicy.NoWait)
		between := locktest.Attend(t, c, time.Hour)
		time.Sleep(time.Second)
		first := locktest.QueueUp(t.Context(), b, waitpolicy.For(100*time.Second))
		time.Sleep(time.Second)
		second := locktest.QueueUp(t.Context(), b, waitpolicy.For(80*time.Second))
		time.Sleep(18 * time.Second)
		locktest.Release(t, held)
		served := time.Now()
		for _, done := range []<-chan locktest.Outcome{second, first} {
			got := <-done
			s := notAcquired(t, got.Err).Serving
			if s == nil || s.Owner != "c" {
				t.Fatalf("%+v", s)
			}
			if age := got.At.Sub(served); s.Age < age-2*time.Second || s.Age > age+2*time.Second || s.Remaining > time.Minute {
				t.Errorf("%+v, which has held for %v", s, age)
			}
		}
		_ = c.Close(t.Context())
		<-between
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

func TestShortWait(t *testing.T) {
	for _, scope := range []ticket.Scope{ticket.ScopeQueue, ticket.ScopeTable} {
		for _, wait := range []waitpolicy.Wait{waitpolicy.For(30), waitpolicy.For(time.Millisecond)} {
			locktest.InTable(t, fmt.Sprint("MakesOneAttempt/", scope, "/", wait), func(t *testing.T, table *queuelocktest.Table) {
				cfg := queuelock.Config{Scope: scope}
				u, key, _ := locktest.NewOrder(t, table)
				a, _ := locktest.Open(t, table, "a", cfg)
				lock := locktest.Acquire(t, a, wait)
				b, db := locktest.Open(t, table, "b", cfg)
				_, err := b.Acquire(t.Context(), locktest.Order, wait)
				if e := notAcquired(t, err); e.Serving == nil {
					t.Errorf("a busy lock: %v", e)
				}
				if rows, _ := locktest.RowsAndHolders(t, a); rows != 0 {
					t.Errorf("%d rows", rows)
				}
				locktest.Release(t, lock)
				all := locktest.Must(b.AcquireAll(t.Context(), locktest.KeysOf("x", "y"), waitpolicy.For(30)))
				locktest.Release(t, all)
				item := locktest.LockItem(t, b, u.Key(key), wait)
				locktest.OK(t, item.Release(t.Context()))
				db.Partition()
				begun := time.Now()
				if _, err := b.Acquire(t.Context(), locktest.Order, wait); err == nil || time.Since(begun) > 5*time.Second {
					t.Errorf("without a network: %v after %v", err, time.Since(begun))
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				sent := db.Counts().Total().Sent
				if _, err := b.Acquire(ctx, locktest.Order, wait); !errors.Is(err, context.Canceled) || db.Counts().Total().Sent != sent {
					t.Errorf("with a context that has ended: %v, and %d requests", err, db.Counts().Total().Sent-sent)
				}
			}, queuelocktest.WithLatency(2*time.Millisecond))
		}
	}
}

// TestOverlappingAnswers checks that a waiter does not act on an older record than its own, which another waiter of
// its client receives later: the answer to the CLAIM of ticket 2 is slow. Ticket 3 is taken after the CLAIM was
// applied, by the same client, and ticket 4 by another one. By the record of the CLAIM, ticket 3 was never issued.
func TestOverlappingAnswers(t *testing.T) {
	locktest.InTable(t, "CostNoPlace", func(t *testing.T, table *queuelocktest.Table) {
		here, db, there := locktest.Pair(t, table, queuelock.Config{}, "here", "there")
		third, _ := locktest.Open(t, table, "third", queuelock.Config{})
		held := locktest.Acquire(t, there, waitpolicy.NoWait)
		first := locktest.LockBy(t, here)
		synctest.Wait()
		take := db.Inject(queuelocktest.HoldRequest().Of("UpdateItem").Mentioning("if_not_exists(holders").Times(1))
		second := locktest.LockBy(t, here)
		<-take.Reached()
		claim := db.Inject(queuelocktest.HoldResponse().Of("UpdateItem").Mentioning("size (holders) = 0").Times(1))
		locktest.Release(t, held)
		<-claim.Reached()
		take.Release()
		time.Sleep(200 * time.Millisecond) // its row is put
		last := locktest.LockBy(t, third)
		time.Sleep(200 * time.Millisecond)
		claim.Release()
		time.Sleep(100 * time.Millisecond) // the second looks while the first holds the lock
		for want := uint64(1); want <= 3; want++ {
			var got locktest.Outcome
			select {
			case got = <-first:
			case got = <-second:
			case got = <-last:
			}
			if got.Err != nil || got.Lock.Ticket().After(held.Ticket()) != want {
				t.Fatalf("ticket %v, %v is granted, want that %d after the first holder's", got.Lock.Ticket(), got.Err, want)
			}
			locktest.Release(t, got.Lock)
		}
	})
}

// TestOwnHolder checks that a wait for a permit of the same client says so, also if that is not the one of the lowest
// ticket, and that no other wait does.
func TestOwnHolder(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b, c := locktest.Three(t, table, queuelock.Config{}, "a", "b", "c")
		permits := queuelock.Permits(2)
		locktest.Acquire(t, b, waitpolicy.NoWait, permits)
		own := locktest.Acquire(t, a, waitpolicy.NoWait, permits).Ticket()
		for of, want := range map[*queuelock.Client]ticket.Number{a: own, c: {}} {
			_, err := of.Acquire(t.Context(), locktest.Order, waitpolicy.For(5*time.Second), permits)
			if got := notAcquired(t, err).Own; got != want {
				t.Errorf("%v, own %v, want %v", err, got, want)
			}
			locktest.Says(t, err, "2 of 2 permits in use")
		}
	})
}

// TestOwnHolderOfItemsAndSeveral checks waits of LockItem and AcquireAll for a lock of the same client, and of another
// one: the error has the own ticket, and the log says so once, after 10 s.
func TestOwnHolderOfItemsAndSeveral(t *testing.T) {
	wait := waitpolicy.For(30 * time.Second)
	type ticketed interface{ Ticket() ticket.Number }
	for name, call := range map[string]func(*queuelock.Client, queuelock.ItemKey, waitpolicy.Wait) (ticketed, error){
		"Acquire": func(c *queuelock.Client, _ queuelock.ItemKey, wait waitpolicy.Wait) (ticketed, error) {
			return c.Acquire(context.Background(), locktest.Order, wait)
		},
		"LockItem": func(c *queuelock.Client, item queuelock.ItemKey, wait waitpolicy.Wait) (ticketed, error) {
			return c.LockItem(context.Background(), item, wait)
		},
		"AcquireAll": func(c *queuelock.Client, _ queuelock.ItemKey, wait waitpolicy.Wait) (ticketed, error) {
			locks, err := c.AcquireAll(context.Background(), []queuelock.Key{{Entity: "other"}, locktest.Order}, wait)
			if err != nil {
				return nil, err
			}
			return locks.All()[1], nil
		},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			u, key, _ := locktest.NewOrder(t, table)
			var log, others locktest.Journal
			a, _ := locktest.Open(t, table, "a", queuelock.Config{Logger: log.Logger()})
			b, _ := locktest.Open(t, table, "b", queuelock.Config{Logger: others.Logger()})
			own := locktest.Must(call(a, u.Key(key), waitpolicy.NoWait)).Ticket()
			early := 0
			time.AfterFunc(9*time.Second, func() { early = log.Count(ownLog) })
			_, err := call(a, u.Key(key), wait)
			if busy, ok := errors.AsType[*queuelock.NotAcquiredError](err); !ok || busy.Own != own {
				t.Errorf("%v, want own ticket %s", err, own)
			}
			_, err = call(b, u.Key(key), wait)
			if busy, ok := errors.AsType[*queuelock.NotAcquiredError](err); !ok || !busy.Own.IsZero() {
				t.Errorf("another client: %v", err)
			}
			synctest.Wait()
			if n := log.Count(ownLog); early != 0 || n != 1 || others.Says(ownLog) {
				t.Errorf("logged %d times within 9 s and %d times within 30 s, want 0 and 1; by the other client: %v", early, n, others.Says(ownLog))
			}
		})
	}
}

const ownLog = "waits for a lock that this client itself holds"

// TestOwnTurnsAreNotLogged checks that turns of the waiter's own client that each end within 10 s are not logged.
func TestOwnTurnsAreNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log locktest.Journal
		c, _ := locktest.Open(t, queuelocktest.NewTable(t), "c", queuelock.Config{Logger: log.Logger()})
		var done []<-chan struct{}
		for range 8 {
			done = append(done, locktest.Attend(t, c, 7*time.Second))
			synctest.Wait()
		}
		for _, d := range done {
			<-d
		}
		synctest.Wait()
		if log.Says(ownLog) {
			t.Error("turns of 7 s were logged")
		}
	})
}

// TestOwnTicketOfATurn checks that a caller which asks for a lock that its own client holds learns the ticket of the present turn.
func TestOwnTicketOfATurn(t *testing.T) {
	withSlowTable(t, func(t *testing.T, table *queuelocktest.Table) {
		holder, _ := locktest.OpenMet(t, table, "holder", queuelock.Config{})
		c, _ := locktest.OpenMet(t, table, "c", queuelock.Config{Block: 64})
		held := locktest.Acquire(t, holder, waitpolicy.NoWait)
		var turns sync.WaitGroup
		for range 4 {
			turns.Go(func() {
				lock := locktest.Acquire(t, c, waitpolicy.Forever)
				_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
				if busy, ok := errors.AsType[*queuelock.NotAcquiredError](err); !ok || busy.Own != lock.Ticket() {
					t.Errorf("in the turn of ticket %s: %v", lock.Ticket(), err)
				}
				locktest.Release(t, lock)
			})
		}
		time.Sleep(time.Second)
		locktest.Release(t, held)
		turns.Wait()
	})
}

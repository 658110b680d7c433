package acquire_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestAttemptsOnBusyLock checks that attempts on a busy lock cost one request each and no
// ticket.
func TestAttemptsOnBusyLock(t *testing.T) {
	for _, n := range []int{1, 2, 5, 40} {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{})
			b, db := locktest.OpenMet(t, table, "b", queuelock.Config{})
			held, before := locktest.Acquire(t, a, waitpolicy.NoWait), db.Counts()
			const every = 10 * time.Second
			begun := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			_, err := b.Acquire(ctx, locktest.Order, waitpolicy.Attempts(n, every))
			busy, ok := errors.AsType[*queuelock.NotAcquiredError](err)
			if !ok || !errors.Is(err, queuelock.ErrNotAcquired) || busy.Serving == nil || busy.Serving.Owner != "a" || busy.Position != 0 || busy.Err != nil {
				t.Errorf("%d attempts: %v, want that a is being served", n, err)
			}
			if took, most := time.Since(begun), time.Duration(n-1)*every; took > most || took < most/5*4 || ok && busy.Waited != took {
				t.Errorf("%d attempts took %v, want up to %v, and up to a fifth less", n, took, most)
			}
			synctest.Wait()
			if spent := db.Counts().Sub(before).Total(); spent.Sent != n || spent.WriteUnits != float64(n) || spent.ReadUnits != 0 {
				t.Errorf("%d attempts: %+v, want %d requests and WCU, 0 RCU", n, spent, n)
			}
			locktest.Release(t, held)
			if next := locktest.Acquire(t, b, waitpolicy.NoWait); next.Ticket().After(held.Ticket()) != 1 {
				t.Errorf("ticket %s follows %s: attempts burnt one", next.Ticket(), held.Ticket())
			}
		})
	}
}

// TestAttemptOnFreeLock checks that an attempt succeeds when the lock is free.
func TestAttemptOnFreeLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, db := locktest.OpenMet(t, table, "b", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait))
		wait := waitpolicy.Attempts(5, time.Second)
		spent := locktest.Cost(table, func() { locktest.Release(t, locktest.Acquire(t, b, wait)) })
		if spent.Sent != 2 {
			t.Errorf("idle lock: %+v, want one request for the acquire and one for the release", spent)
		}
		held := locktest.Acquire(t, a, waitpolicy.NoWait)
		before := db.Counts()
		third := db.Inject(queuelocktest.HoldResponse().After(2).Times(1))
		done := locktest.QueueUp(t.Context(), b, wait)
		<-third.Reached()
		locktest.Release(t, held)
		third.Release()
		got := <-done
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		if n := db.Counts().Sub(before).Total().Sent; n != 4 {
			t.Errorf("%d requests, want 4", n)
		}
		locktest.Release(t, got.Lock)
		if rows, holders := locktest.RowsAndHolders(t, a); rows != 0 || holders != 0 {
			t.Errorf("%d rows and %d holders are left", rows, holders)
		}
	})
}

// TestAttemptsBesideWaiters checks that attempts do not pass waiters. The waiters in the
// queue go first.
func TestAttemptsBesideWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		held := locktest.Acquire(t, a, waitpolicy.NoWait)
		first := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
		time.Sleep(100 * time.Millisecond)
		trying := locktest.QueueUp(t.Context(), c, waitpolicy.Attempts(1000, 50*time.Millisecond))
		time.Sleep(time.Second)
		locktest.Release(t, held)
		got := <-first
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		time.Sleep(time.Second)
		select {
		case <-trying:
			t.Fatal("an attempt passed a waiter, or ended")
		default:
		}
		locktest.Release(t, got.Lock)
		if got := <-trying; got.Err != nil {
			t.Error(got.Err)
		}
	})
}

// TestEndOfAttempts checks that attempts end when their context ends, and when the client
// is closed.
func TestEndOfAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, _ := locktest.OpenMet(t, table, "a", queuelock.Config{TTL: time.Hour})
		b, db := locktest.OpenMet(t, table, "b", queuelock.Config{})
		locktest.Acquire(t, a, waitpolicy.NoWait)
		before := db.Counts()
		wait := waitpolicy.Attempts(100, time.Minute)

		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		begun := time.Now()
		_, err := b.Acquire(ctx, locktest.Order, wait)
		if !errors.Is(err, queuelock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 90*time.Second {
			t.Errorf("%v after %v, want ErrNotAcquired and the deadline after 1m30s", err, time.Since(begun))
		}
		if n := db.Counts().Sub(before).Total().Sent; n != 2 {
			t.Errorf("%d requests, want 2", n)
		}

		done := locktest.QueueUp(t.Context(), b, wait)
		time.Sleep(10 * time.Second)
		begun = time.Now()
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := <-done; !errors.Is(got.Err, queuelock.ErrClosed) || got.At.Sub(begun) != 0 {
			t.Errorf("%v after %v, want ErrClosed at once", got.Err, got.At.Sub(begun))
		}
	})
}

// TestInvalidAttempts checks that invalid options for attempts are refused.
func TestInvalidAttempts(t *testing.T) {
	table := queuelocktest.NewTable(t)
	a, _ := locktest.Open(t, table, "a", queuelock.Config{})
	for want, wait := range map[string]waitpolicy.Wait{
		"one attempt or more": waitpolicy.Attempts(0, time.Second), "at least 1ms": waitpolicy.Attempts(3, 0), "-1s": waitpolicy.Attempts(1, -time.Second),
	} {
		if _, err := a.Acquire(t.Context(), locktest.Order, wait); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", wait, err, want)
		}
	}
	if n := table.Counts().Total().Sent; n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

// TestAttemptsOutlastFaults checks that attempts outlast transient faults. An attempt
// that the table does not answer counts, and the next one follows. A holder that has died
// is evicted by the attempt that finds it out.
func TestAttemptsOutlastFaults(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{
		"refused connections": queuelocktest.LoseRequest(), "no answer": queuelocktest.SwallowRequest(),
		"throttle": queuelocktest.Refuse(queuelocktest.Throttling), "lost answers": queuelocktest.LoseResponse(),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
				a, _ := locktest.Open(t, table, "a", queuelock.Config{})
				b, db := locktest.Open(t, table, "b", queuelock.Config{})
				locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait))
				injected := db.Inject(fault)
				done := locktest.QueueUp(t.Context(), b, waitpolicy.Attempts(10, 5*time.Second))
				time.Sleep(20 * time.Second)
				injected.Remove()
				got := <-done
				if got.Err != nil || injected.Fired() < 2 {
					t.Fatalf("%v, after %d faults", got.Err, injected.Fired())
				}
				locktest.Release(t, got.Lock)

				db.Inject(fault)
				begun := time.Now()
				_, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.Attempts(3, 5*time.Second))
				if err == nil || errors.Is(err, queuelock.ErrClosed) {
					t.Errorf("%v, want an error of the table", err)
				}
				if took := time.Since(begun); took > 45*time.Second {
					t.Errorf("three attempts at a table that does not answer took %v", took)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, dbA := locktest.Open(t, table, "a", queuelock.Config{TTL: 10 * time.Second})
		b, db := locktest.Open(t, table, "b", queuelock.Config{})
		locktest.Acquire(t, a, waitpolicy.NoWait)
		dbA.Partition()
		begun := time.Now()
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.Attempts(20, time.Second)))
		if took := time.Since(begun); took > 14*time.Second {
			t.Errorf("a dead holder kept attempts out for %v", took)
		}
		time.Sleep(time.Second) // for the RESET after a queued turn
		before := db.Counts()
		db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied))
		if _, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.Attempts(20, time.Second)); err == nil || errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("%v, want that access is denied", err)
		}
		if n := db.Counts().Sub(before)["UpdateItem"].Sent; n != 1 {
			t.Errorf("%d requests, want that the first denial ends it", n)
		}
	})
}

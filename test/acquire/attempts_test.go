package acquire_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestAttemptsOnBusyLock checks that attempts on a busy lock cost one request each and no ticket.
func TestAttemptsOnBusyLock(t *testing.T) {
	for _, n := range []int{1, 2, 5, 40} {
		locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
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

// TestEndOfAttempts checks that attempts end with their context, and with the client.
func TestEndOfAttempts(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
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
		locktest.Check(t, b.Close(t.Context()))
		if got := <-done; !errors.Is(got.Err, queuelock.ErrClosed) || got.At.Sub(begun) != 0 {
			t.Errorf("%v after %v, want ErrClosed at once", got.Err, got.At.Sub(begun))
		}
	})
}

// TestPollingADeadHolder checks that a client which tries a lock now and then takes over that of a dead holder at its second try,
// also if it only observes.
func TestPollingADeadHolder(t *testing.T) {
	for _, every := range []time.Duration{5 * time.Minute, 11 * time.Minute, time.Hour, 48 * time.Hour} {
		for name, opts := range map[string][]queuelocktest.Option{"dates": nil, "no dates": {queuelocktest.WithoutDate()}} {
			locktest.InBubble(t, every.String()+", "+name, func(t *testing.T) {
				table, cfg := queuelocktest.NewTable(t, opts...), queuelock.Config{ObserveExpiry: true}
				dead, network := locktest.Open(t, table, "dead", cfg)
				locktest.Acquire(t, dead, waitpolicy.NoWait)
				network.Partition()
				daemon, _ := locktest.Open(t, table, "daemon", cfg)
				time.Sleep(every)
				if _, err := daemon.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); err == nil {
					t.Error("the first try cannot judge the lease")
				}
				time.Sleep(every)
				locktest.Release(t, locktest.Acquire(t, daemon, waitpolicy.NoWait))
			})
		}
	}
}

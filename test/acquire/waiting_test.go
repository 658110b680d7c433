package acquire_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
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
				if e := notAcquired(t, must1(b.Acquire(t.Context(), locktest.Order, wait))); e.Serving == nil {
					t.Errorf("a busy lock: %v", e)
				}
				if rows, _ := locktest.RowsAndHolders(t, a); rows != 0 {
					t.Errorf("%d rows", rows)
				}
				locktest.Release(t, lock)
				all := locktest.Must(b.AcquireAll(t.Context(), locktest.KeysOf("x", "y"), waitpolicy.For(30)))
				locktest.ReleaseAll(t, all)
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

// must1 is the error of a call that returns something else too.
func must1[T any](_ T, err error) error { return err }

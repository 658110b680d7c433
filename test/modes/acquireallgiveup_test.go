package modes_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestAcquireAllNoWait checks that AcquireAll with NoWait acquires all locks or none.
func TestAcquireAllNoWait(t *testing.T) {
	for _, scope := range []ticket.Scope{ticket.ScopeTable, ticket.ScopeQueue} {
		locktest.InTable(t, scope.String(), func(t *testing.T, table *queuelocktest.Table) {
			a, b := locktest.Two(t, table, queuelock.Config{Scope: scope}, "a", "b")
			held := locktest.AcquireAll(t, a, waitpolicy.NoWait, "m")
			_, err := b.AcquireAll(t.Context(), locktest.KeysOf("z", "m", "a"), waitpolicy.NoWait)
			busy, ok := errors.AsType[*queuelock.NotAcquiredError](err)
			if !ok || busy.Key.Entity != "m" || busy.Serving == nil || busy.Serving.Owner != "a" {
				t.Errorf("%v, want that m is busy", err)
			}
			if n := table.Counts()["PutItem"].Applied; scope == ticket.ScopeTable && n != 0 {
				t.Errorf("%d items were put, want no row", n)
			}
			begun := time.Now()
			_, err = b.AcquireAll(t.Context(), locktest.KeysOf("z", "m", "a"), waitpolicy.Attempts(3, 10*time.Second))
			locktest.Is(t, err, queuelock.ErrNotAcquired)
			if took := time.Since(begun); took < 15*time.Second || took > 21*time.Second {
				t.Errorf("three attempts took %v", took)
			}
			locktest.ReleaseAll(t, locktest.AcquireAll(t, a, waitpolicy.NoWait, "a", "z")) // given back
			time.AfterFunc(5*time.Second, func() {
				locktest.Check(t, held.Release(t.Context()))
			})
			locktest.ReleaseAll(t, locktest.AcquireAll(t, b, waitpolicy.Attempts(3, 10*time.Second), "z", "m", "a"))
			time.Sleep(time.Second)
			locktest.NothingLeft(t, table)
		})
	}
}

// TestAcquireAllGivesUp checks that AcquireAll leaves nothing when it gives up.
func TestAcquireAllGivesUp(t *testing.T) {
	for _, scope := range []ticket.Scope{ticket.ScopeTable, ticket.ScopeQueue} {
		for _, how := range []string{"wait over", "cancelled", "closed"} {
			locktest.InTable(t, fmt.Sprint(scope, "/", how), func(t *testing.T, table *queuelocktest.Table) {
				a, b := locktest.Two(t, table, queuelock.Config{Scope: scope}, "a", "b")
				held := locktest.AcquireAll(t, a, waitpolicy.NoWait, "c")
				ctx, cancel := context.WithCancelCause(t.Context())
				wait, reason := waitpolicy.For(time.Minute), errors.New("no more need")
				if how == "wait over" {
					wait = waitpolicy.For(3 * time.Second)
				}
				waiting := locktest.QueueUpAll(ctx, b, wait, "d", "c", "b", "a")
				time.Sleep(2 * time.Second)
				switch how {
				case "cancelled":
					cancel(reason)
				case "closed":
					locktest.Check(t, b.Close(t.Context()))
				}
				got := <-waiting
				cancel(nil)
				missed, ok := errors.AsType[*queuelock.NotAcquiredError](got.Err)
				switch {
				case how == "closed":
					ok = errors.Is(got.Err, queuelock.ErrClosed)
				case ok:
					ok = missed.Key.Entity == "c" && missed.Serving != nil && errors.Is(got.Err, context.Canceled) == (how == "cancelled") && errors.Is(got.Err, reason) == (how == "cancelled")
				}
				if !ok {
					t.Errorf("%v", got.Err)
				}
				locktest.ReleaseAll(t, locktest.AcquireAll(t, a, waitpolicy.NoWait, "a", "b", "d"))
				locktest.ReleaseAll(t, held)
				time.Sleep(time.Second)
				locktest.NothingLeft(t, table)
			}, queuelocktest.WithLatency(time.Millisecond))
		}
	}
}

// TestGiveUpTime checks that AcquireAll takes as long to give up many locks as few: they are given back side by side.
func TestGiveUpTime(t *testing.T) {
	many := locktest.Scaled(100, 30)
	for what, test := range map[string]struct {
		held int // by another
		opts []queuelock.AcquireOption
	}{
		"all but one are had":                 {1, nil},
		"all but one are had, without leases": {1, []queuelock.AcquireOption{queuelock.FailClosed()}},
		"half are had":                        {many / 2, nil},
		"none is had":                         {many, nil},
	} {
		locktest.InTable(t, what, func(t *testing.T, table *queuelocktest.Table) {
			b, db, a := locktest.Pair(t, table, locktest.SharedScope, "b", "a")
			var entities []string
			for i := range many {
				entities = append(entities, fmt.Sprintf("k%02d", i))
			}
			held := locktest.AcquireAll(t, a, waitpolicy.NoWait, entities[many-test.held:]...)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := locktest.Background(func() (*queuelock.Locks, error) {
				return b.AcquireAll(ctx, locktest.KeysOf(entities...), waitpolicy.Forever, test.opts...)
			})
			time.Sleep(5 * time.Second)
			silent := db.Inject(queuelocktest.SwallowRequest())
			cancel()
			begun := time.Now()
			got := <-done
			if took := got.At.Sub(begun); !errors.Is(got.Err, context.Canceled) || took > 4500*time.Millisecond {
				t.Errorf("it gave up after %v: %v", took, got.Err)
			}
			silent.Remove()
			locktest.ReleaseAll(t, held)
			if test.opts == nil {
				return
			}
			// Each entry that may be left without an owner is named.
			for _, entity := range entities[:many-1] {
				if !strings.Contains(got.Err.Error(), fmt.Sprintf("queuelock: %q (lock) ticket", entity)) {
					t.Errorf("nothing is said of %s", entity)
				}
			}
			if err := b.Close(t.Context()); err != nil { // which tries it again
				t.Error(err)
			}
			locktest.ReleaseAll(t, locktest.AcquireAll(t, a, waitpolicy.NoWait, entities[:many-1]...))
		}, queuelocktest.WithLatency(time.Millisecond))
	}
}

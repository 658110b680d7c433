package modes_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
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
			locktest.Release(t, locktest.AcquireAll(t, a, waitpolicy.NoWait, "a", "z")) // given back
			time.AfterFunc(5*time.Second, func() {
				locktest.Check(t, held.Release(t.Context()))
			})
			locktest.Release(t, locktest.AcquireAll(t, b, waitpolicy.Attempts(3, 10*time.Second), "z", "m", "a"))
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
				locktest.Release(t, locktest.AcquireAll(t, a, waitpolicy.NoWait, "a", "b", "d"))
				locktest.Release(t, held)
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
			locktest.Release(t, held)
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
			locktest.Release(t, locktest.AcquireAll(t, a, waitpolicy.NoWait, entities[:many-1]...))
		}, queuelocktest.WithLatency(time.Millisecond))
	}
}

func TestNoDeadlock(t *testing.T) {
	for _, scope := range []ticket.Scope{ticket.ScopeTable, ticket.ScopeQueue} {
		for seed := range locktest.Scaled[uint64](12, 1) {
			locktest.InBubble(t, fmt.Sprint(scope, "/", seed), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 7))
				table := locktest.Watched(t) // it judges who holds the locks, and their tickets
				table.Inject(queuelocktest.DelayRequest(9*time.Millisecond).WithProbability(0.3, seed))
				table.Inject(queuelocktest.DelayResponse(7*time.Millisecond).WithProbability(0.3, seed+1))
				entities := []string{"a", "b", "c", "d", "e"}
				var all sync.WaitGroup
				for p := range 5 {
					c, _ := locktest.Open(t, table, fmt.Sprint("p", p), queuelock.Config{Scope: scope})
					var turns [][]string
					for range 6 {
						mine := slices.Clone(entities)
						random.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
						turns = append(turns, mine[:1+random.IntN(4)])
					}
					all.Go(func() {
						for _, mine := range turns {
							locks, err := c.AcquireAll(t.Context(), locktest.KeysOf(mine...), waitpolicy.For(10*time.Minute))
							if err != nil {
								t.Errorf("p%d: %v", p, err)
								return
							}
							time.Sleep(time.Duration(len(mine)) * 5 * time.Millisecond)
							locktest.Check(t, locks.Release(t.Context()))
						}
					})
				}
				all.Wait()
				time.Sleep(time.Second)
				locktest.NothingLeft(t, table)
			})
		}
	}
}

func TestManyLocks(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, locktest.SharedScope, "a", "b")
		var entities []string
		count := locktest.Scaled(300, 101) // more than a transaction has items
		for i := range count {
			entities = append(entities, fmt.Sprint("e", i))
		}
		var held *queuelock.Locks
		if n := locktest.Cost(table, func() { held = locktest.AcquireAll(t, a, waitpolicy.Forever, entities...) }).Sent; n != count+2 {
			t.Errorf("%d idle locks took %d requests, want one for each, one for the number and one for the first number", count, n)
		}
		waiting := locktest.QueueUpAll(t.Context(), b, waitpolicy.For(time.Hour), entities...)
		time.Sleep(10 * time.Second)
		if looks := locktest.Cost(table, func() { time.Sleep(time.Minute) }).ReadUnits; looks > 3000 {
			t.Errorf("%v looks in a minute, want those of sixteen queues, and few more", looks)
		}
		if held.Err() != nil {
			t.Fatal(held.Err())
		}
		released := time.Now()
		if n := locktest.Cost(table, func() { locktest.Release(t, held) }).Sent; n > 7*count/3 {
			t.Errorf("the release of %d locks took %d requests", count, n)
		}
		got := <-waiting
		locktest.OK(t, got.Err)
		if took := got.At.Sub(released); took > 5*time.Second {
			t.Errorf("handed over in %v", took)
		}
		if len(got.Lock.All()) != count || got.Lock.Err() != nil {
			t.Errorf("%d locks, %v", len(got.Lock.All()), got.Lock.Err())
		}
		time.Sleep(time.Minute)
		locktest.Release(t, got.Lock)
		time.Sleep(time.Second)
		locktest.NothingLeft(t, table)
	}, queuelocktest.WithLatency(time.Millisecond))
}

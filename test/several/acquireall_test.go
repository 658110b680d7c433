package several_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/audit"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestAllLocksAreHeldWithOneTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
		c, _ := locktest.Open(t, table, "a", locktest.SharedScope)
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "trace"))
		locks, err := c.AcquireAll(ctx, locktest.KeysOf("stock/7", "order/7", "stock/7", "account/1"), waitpolicy.For(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		cancel() // ends the wait only
		common, ok := locks.Ticket()
		var entities []string
		for _, lock := range locks.All() {
			entities = append(entities, lock.Key().Entity)
			if lock.Ticket() != common || lock.Err() != nil || locks.Get(queuelock.Key{Entity: lock.Key().Entity}) != lock {
				t.Errorf("%s: ticket %s of %s, %v", lock.Key(), lock.Ticket(), common, lock.Err())
			}
		}
		if !ok || common != ticket.FromUint64(1) || !slices.Equal(entities, []string{"stock/7", "order/7", "account/1"}) {
			t.Errorf("ticket %s, %v, of %q", common, ok, entities)
		}
		if locks.Get(queuelock.Key{Entity: "stock/7", Reason: "other"}) != nil {
			t.Error("a lock that was not asked for")
		}
		time.Sleep(time.Hour)
		if locks.Err() != nil || locks.Context().Err() != nil || locks.Context().Value(key{}) != "trace" {
			t.Errorf("after an hour: %v, %v", locks.Err(), locks.Context().Err())
		}
		for range 2 {
			locktest.ReleaseAll(t, locks)
		}
		<-locks.Done()
		if !errors.Is(locks.Err(), queuelock.ErrReleased) || !errors.Is(context.Cause(locks.Context()), queuelock.ErrReleased) {
			t.Errorf("released: %v, %v", locks.Err(), context.Cause(locks.Context()))
		}
		locktest.NothingLeft(t, table)
	})
}

func TestAcquireAllRefusesWhatHasNoCommonTicketOrNoKey(t *testing.T) {
	table := queuelocktest.NewTable(t)
	for _, test := range []struct {
		scope queuelock.Scope
		keys  []queuelock.Key
		say   string
	}{
		{queuelock.ScopeShared, nil, "no keys"},
		{queuelock.ScopeQueue, []queuelock.Key{}, "no keys"},
		{queuelock.ScopeShared, locktest.KeysOf("a", ""), "the entity is empty"},
		{queuelock.ScopeEntity, locktest.KeysOf("a", "b"), `"a" and "b", which have no common ticket`},
	} {
		c, _ := locktest.Open(t, table, "a", queuelock.Config{Scope: test.scope})
		if _, err := c.AcquireAll(t.Context(), test.keys, waitpolicy.Forever); err == nil || !strings.Contains(err.Error(), test.say) {
			t.Errorf("%v of %v: %v, want that %s", test.scope, test.keys, err, test.say)
		}
		_, err := c.AcquireAll(t.Context(), locktest.KeysOf("a"), waitpolicy.NoWait, queuelock.OnHandle(func(queuelock.Handle) {}))
		locktest.Says(t, err, "queuelock: AcquireAll: OnHandle is for Acquire")
	}
	if n := table.Counts().Total().Sent; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestSeveralReasonsOfAnEntityAreLockedWithItsTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "a", queuelock.Config{Scope: queuelock.ScopeEntity})
		for i := range uint64(3) {
			locks, err := c.AcquireAll(t.Context(), []queuelock.Key{{Entity: "e", Reason: "b"}, {Entity: "e", Reason: "a"}}, waitpolicy.Forever)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := locks.Ticket(); !ok || got != ticket.FromUint64(i+1) {
				t.Errorf("ticket %s, %v", got, ok)
			}
			locktest.ReleaseAll(t, locks)
		}
		locktest.NothingLeft(t, table)
	})
}

// The time of a number whose registration is held up: somebody with a later one
// is served, so it is worth nothing, and what it had elsewhere is given back.
func TestWhoIsOvertakenInOneQueueGivesAllBackAndTakesANewNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
		slow, dbSlow := locktest.Open(t, table, "slow", locktest.SharedScope)
		fast, _ := locktest.Open(t, table, "fast", locktest.SharedScope)
		locktest.ReleaseAll(t, locktest.AcquireAll(t, fast, waitpolicy.Forever, "a", "b"))

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
		locktest.ReleaseAll(t, free)
		both := locktest.QueueUpAll(t.Context(), fast, waitpolicy.For(time.Hour), "a") // ticket 6: behind the new number, 4
		time.Sleep(time.Second)
		select {
		case got := <-waiting:
			t.Fatalf("served past the holder of b: %+v", got)
		case got := <-both:
			t.Fatalf("served past the holder of a: %+v", got)
		default:
		}
		locktest.ReleaseAll(t, later)
		got := <-waiting
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		if n, _ := got.Locks.Ticket(); n != ticket.FromUint64(4) {
			t.Errorf("ticket %s, want a new one", n)
		}
		if n := dbSlow.Counts()["PutItem"].Sent; n != 1 {
			t.Errorf("%d rows were put, want none with the ticket that was overtaken", n)
		}
		locktest.ReleaseAll(t, got.Locks)
		next := <-both
		if next.Err != nil {
			t.Fatal(next.Err)
		}
		locktest.ReleaseAll(t, next.Locks)
		locktest.NothingLeft(t, table)
	})
}

// Two that want the same locks, named in different orders, while others take
// single ones of them.
func TestProcessesThatTakeSeveralLocksInAnyOrderNeverDeadlock(t *testing.T) {
	for _, scope := range []queuelock.Scope{queuelock.ScopeShared, queuelock.ScopeQueue} {
		for seed := range locktest.Scaled[uint64](12, 2) {
			t.Run(fmt.Sprint(scope, "/", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					random := rand.New(rand.NewPCG(seed, 7))
					watch := audit.New(embedded.Config{}, "queuelock", time.Now)
					table := queuelocktest.NewTable(t, queuelocktest.WithEngine(watch), queuelocktest.WithLatency(2*time.Millisecond))
					table.Inject(queuelocktest.DelayRequest(9*time.Millisecond).WithProbability(0.3, seed))
					table.Inject(queuelocktest.DelayResponse(7*time.Millisecond).WithProbability(0.3, seed+1))
					entities := []string{"a", "b", "c", "d", "e"}
					use := map[string]string{}
					last := map[string]ticket.Number{}
					var mu sync.Mutex
					var wg sync.WaitGroup
					for p := range 5 {
						name := fmt.Sprint("p", p)
						c, _ := locktest.Open(t, table, name, queuelock.Config{Scope: scope})
						var turns [][]string
						for range 6 {
							mine := slices.Clone(entities)
							random.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
							turns = append(turns, mine[:1+random.IntN(4)])
						}
						wg.Go(func() {
							for _, mine := range turns {
								locks, err := c.AcquireAll(t.Context(), locktest.KeysOf(mine...), waitpolicy.For(10*time.Minute))
								if err != nil {
									t.Errorf("%s: %v", name, err)
									return
								}
								mu.Lock()
								for _, lock := range locks.All() {
									entity := lock.Key().Entity
									if other := use[entity]; other != "" {
										t.Errorf("%s and %s hold %s", name, other, entity)
									}
									if !last[entity].Less(lock.Ticket()) {
										t.Errorf("%s: ticket %s after %s", entity, lock.Ticket(), last[entity])
									}
									use[entity], last[entity] = name, lock.Ticket()
								}
								mu.Unlock()
								time.Sleep(time.Duration(len(mine)) * 5 * time.Millisecond)
								mu.Lock()
								for _, entity := range mine {
									use[entity] = ""
								}
								mu.Unlock()
								if err := locks.Release(t.Context()); err != nil {
									t.Errorf("%s: %v", name, err)
								}
							}
						})
					}
					wg.Wait()
					time.Sleep(time.Second)
					locktest.NothingLeft(t, table)
					for _, v := range watch.Violations() {
						t.Error(v)
					}
				})
			})
		}
	}
}

func TestAcquireAllWithNoWaitIsAllOrNothing(t *testing.T) {
	for _, scope := range []queuelock.Scope{queuelock.ScopeShared, queuelock.ScopeQueue} {
		t.Run(scope.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t)
				a, _ := locktest.Open(t, table, "a", queuelock.Config{Scope: scope})
				b, _ := locktest.Open(t, table, "b", queuelock.Config{Scope: scope})
				held := locktest.AcquireAll(t, a, waitpolicy.NoWait, "m")
				_, err := b.AcquireAll(t.Context(), locktest.KeysOf("z", "m", "a"), waitpolicy.NoWait)
				busy, ok := errors.AsType[*queuelock.NotAcquiredError](err)
				if !ok || busy.Key.Entity != "m" || busy.Serving == nil || busy.Serving.Owner != "a" {
					t.Errorf("%v, want that m is busy", err)
				}
				if n := table.Counts()["PutItem"].Applied; scope == queuelock.ScopeShared && n != 1 {
					t.Errorf("%d items were put, want the counter and no row", n)
				}
				begun := time.Now()
				if _, err := b.AcquireAll(t.Context(), locktest.KeysOf("z", "m", "a"), waitpolicy.Attempts(3, 10*time.Second)); !errors.Is(err, queuelock.ErrNotAcquired) {
					t.Errorf("%v", err)
				}
				if took := time.Since(begun); took < 15*time.Second || took > 21*time.Second {
					t.Errorf("three attempts took %v", took)
				}
				locktest.ReleaseAll(t, locktest.AcquireAll(t, a, waitpolicy.NoWait, "a", "z")) // given back
				time.AfterFunc(5*time.Second, func() {
					if err := held.Release(t.Context()); err != nil {
						t.Error(err)
					}
				})
				locktest.ReleaseAll(t, locktest.AcquireAll(t, b, waitpolicy.Attempts(3, 10*time.Second), "z", "m", "a"))
				time.Sleep(time.Second)
				locktest.NothingLeft(t, table)
			})
		})
	}
}

func TestAnAcquireAllThatGivesUpLeavesNothing(t *testing.T) {
	for _, scope := range []queuelock.Scope{queuelock.ScopeShared, queuelock.ScopeQueue} {
		for _, how := range []string{"wait over", "cancelled", "closed"} {
			t.Run(fmt.Sprint(scope, "/", how), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
					a, _ := locktest.Open(t, table, "a", queuelock.Config{Scope: scope})
					b, _ := locktest.Open(t, table, "b", queuelock.Config{Scope: scope})
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
						if err := b.Close(t.Context()); err != nil {
							t.Error(err)
						}
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
				})
			})
		}
	}
}

// A table that does not answer takes each of the locks its whole time. Those are
// given back side by side, however many.
func TestAnAcquireAllThatGivesUpTakesAsLongForManyLocksAsForFew(t *testing.T) {
	for what, test := range map[string]struct {
		held int // by another, of a hundred
		opts []queuelock.Option
	}{
		"all but one are had":                 {1, nil},
		"all but one are had, without leases": {1, []queuelock.Option{queuelock.FailClosed()}},
		"half are had":                        {50, nil},
		"none is had":                         {100, nil},
	} {
		locktest.InBubble(t, what, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
			a, _ := locktest.Open(t, table, "a", locktest.SharedScope)
			b, db := locktest.Open(t, table, "b", locktest.SharedScope)
			var entities []string
			for i := range 100 {
				entities = append(entities, fmt.Sprintf("k%02d", i))
			}
			held := locktest.AcquireAll(t, a, waitpolicy.NoWait, entities[100-test.held:]...)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan locktest.SeveralOutcome, 1)
			go func() {
				locks, err := b.AcquireAll(ctx, locktest.KeysOf(entities...), waitpolicy.Forever, test.opts...)
				done <- locktest.SeveralOutcome{Locks: locks, Err: err, At: time.Now()}
			}()
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
			// Each of those that may stand without an owner is named.
			for _, entity := range entities[:99] {
				if !strings.Contains(got.Err.Error(), fmt.Sprintf("queuelock: %q (lock) ticket", entity)) {
					t.Errorf("nothing is said of %s", entity)
				}
			}
			if err := b.Close(t.Context()); err != nil { // which tries it again
				t.Error(err)
			}
			locktest.ReleaseAll(t, locktest.AcquireAll(t, a, waitpolicy.NoWait, entities[:99]...))
		})
	}
}

// A process that dies in the middle holds up the others for its leases and no
// longer: that of its locks, and that of its rows.
func TestACrashInTheMiddleOfAnAcquireAllCostsItsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := queuelock.Config{Scope: queuelock.ScopeShared, TTL: 20 * time.Second, WaiterTTL: 5 * time.Second}
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
		a, _ := locktest.Open(t, table, "a", cfg)
		b, db := locktest.Open(t, table, "b", cfg)
		held := locktest.AcquireAll(t, a, waitpolicy.NoWait, "c")
		locktest.QueueUpAll(t.Context(), b, waitpolicy.Forever, "a", "b", "c", "d")
		time.Sleep(15 * time.Second)
		db.Partition() // b holds a, b and d, and waits for c
		died := time.Now()
		time.Sleep(time.Second)
		locktest.ReleaseAll(t, held)
		locks := locktest.AcquireAll(t, a, waitpolicy.Forever, "d", "c", "b", "a")
		if took := time.Since(died); took > 22*time.Second {
			t.Errorf("all were had after %v", took)
		}
		locktest.ReleaseAll(t, locks)
	})
}

func TestAnyNumberOfLocksCanBeTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
		a, _ := locktest.Open(t, table, "a", locktest.SharedScope)
		b, _ := locktest.Open(t, table, "b", locktest.SharedScope)
		var entities []string
		count := locktest.Scaled(300, 120) // more than a transaction has items
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
		if n := locktest.Cost(table, func() { locktest.ReleaseAll(t, held) }).Sent; n > 7*count/3 {
			t.Errorf("the release of %d locks took %d requests", count, n)
		}
		got := <-waiting
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		if took := got.At.Sub(released); took > 5*time.Second {
			t.Errorf("handed over in %v", took)
		}
		if len(got.Locks.All()) != count || got.Locks.Err() != nil {
			t.Errorf("%d locks, %v", len(got.Locks.All()), got.Locks.Err())
		}
		time.Sleep(time.Minute)
		locktest.ReleaseAll(t, got.Locks)
		time.Sleep(time.Second)
		locktest.NothingLeft(t, table)
	})
}

// Without a common ticket it waits in one queue after the other. However many
// those are, it looks in each as often as an Acquire.
func TestOneByOneEachLockIsTakenSoonAfterItIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
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
			if s := locktest.Must(b.Inspect(t.Context(), lock.Key())); len(s.Serving) == 0 {
				t.Errorf("lock %d is idle, 2 s after its release", i+1)
			}
		}
		got := <-waiting
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		locktest.ReleaseAll(t, got.Locks)
	})
}

func TestALockLostWhileOthersAreWaitedForBeginsAnew(t *testing.T) {
	for _, scope := range []queuelock.Scope{queuelock.ScopeShared, queuelock.ScopeQueue} {
		t.Run(scope.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
				a, _ := locktest.Open(t, table, "a", queuelock.Config{Scope: scope})
				b, _ := locktest.Open(t, table, "b", queuelock.Config{Scope: scope})
				held := locktest.AcquireAll(t, a, waitpolicy.NoWait, "b")
				waiting := locktest.QueueUpAll(t.Context(), b, waitpolicy.Forever, "a", "b")
				time.Sleep(time.Second)
				locktest.Evict(t, table, "a")
				time.Sleep(40 * time.Second)
				locktest.ReleaseAll(t, held)
				got := <-waiting
				if got.Err != nil || got.Locks.Err() != nil {
					t.Fatalf("%v, %v", got.Err, got.Locks.Err())
				}
				if n, ok := got.Locks.Ticket(); ok && n != ticket.FromUint64(3) {
					t.Errorf("ticket %s, want a new one", n)
				}
				locktest.ReleaseAll(t, got.Locks)
				locktest.NothingLeft(t, table)
			})
		})
	}
}

func TestTheContextOfAllEndsWithTheFirstThatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "a", locktest.SharedScope)
		locks := locktest.AcquireAll(t, c, waitpolicy.NoWait, "a", "b", "c")
		locktest.Evict(t, table, "b")
		select {
		case <-locks.Done():
		case <-time.After(time.Minute):
			t.Error("the context goes on, with a lock that was lost a minute ago")
		}
		lost, ok := errors.AsType[*queuelock.LostError](locks.Err())
		if !ok || lost.Key.Entity != "b" || !errors.Is(context.Cause(locks.Context()), queuelock.ErrLost) || locks.Get(queuelock.Key{Entity: "a"}).Err() != nil {
			t.Errorf("%v, %v", locks.Err(), context.Cause(locks.Context()))
		}
		for range 2 {
			err := locks.Release(t.Context())
			if lost, ok := errors.AsType[*queuelock.LostError](err); !ok || lost.Key.Entity != "b" {
				t.Errorf("%v, want that b was lost", err)
			}
		}
		locktest.NothingLeft(t, table)

		// One that is released by itself ends it as well.
		locks = locktest.AcquireAll(t, c, waitpolicy.NoWait, "a", "b")
		locktest.Release(t, locks.Get(queuelock.Key{Entity: "a"}))
		<-locks.Done()
		if !errors.Is(locks.Err(), queuelock.ErrReleased) {
			t.Errorf("%v", locks.Err())
		}
		locktest.ReleaseAll(t, locks)
	})
}

// What cannot be released does not keep the others from it.
func TestReleaseOfAllTriesEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.SharedScope)
		locks := locktest.AcquireAll(t, c, waitpolicy.NoWait, "a", "b", "c")
		time.Sleep(2 * time.Second)
		bad := db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).On("b", ""))
		err := locks.Release(t.Context())
		if err == nil || errors.Is(err, queuelock.ErrLost) || strings.Contains(err.Error(), `"a"`) || !strings.Contains(err.Error(), `"b"`) {
			t.Errorf("%v, want that b could not be released", err)
		}
		other, _ := locktest.Open(t, table, "b", locktest.SharedScope)
		locktest.ReleaseAll(t, locktest.AcquireAll(t, other, waitpolicy.NoWait, "a", "c"))
		bad.Remove()
		locktest.ReleaseAll(t, locks)
		locktest.NothingLeft(t, table)
	})
}

func TestTransactAsksForAllLocks(t *testing.T) {
	locktest.OnEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "a", locktest.SharedScope)
		locks := locktest.AcquireAll(t, c, waitpolicy.Forever, "a", "b", "c")
		note := func(n string) types.TransactWriteItem {
			return types.TransactWriteItem{Put: &types.Put{TableName: aws.String(table.Name()), Item: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "note"}, "sk": &types.AttributeValueMemberS{Value: n},
			}}}
		}
		if err := locks.Transact(t.Context(), note("1")); err != nil {
			t.Fatal(err)
		}
		many := make([]types.TransactWriteItem, 98)
		for _, items := range [][]types.TransactWriteItem{nil, many} {
			if err := locks.Transact(t.Context(), items...); err == nil || !strings.Contains(err.Error(), "100 in all") {
				t.Errorf("%d items: %v", len(items), err)
			}
		}
		locktest.Evict(t, table, "b")
		err := locks.Transact(t.Context(), note("2"))
		if lost, ok := errors.AsType[*queuelock.LostError](err); !ok || lost.Key.Entity != "b" {
			t.Errorf("%v, want that b was lost", err)
		}
		if err := locks.Transact(t.Context(), note("3")); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("%v", err)
		}
		for _, item := range table.Items() {
			if sk := item["sk"].(*types.AttributeValueMemberS).Value; sk == "2" || sk == "3" {
				t.Errorf("written without the lock: %v", item)
			}
		}
		if err := locks.Release(t.Context()); !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("%v", err)
		}
	})
}

func TestProgressOfAnAcquireAllIsToldByItsCallerForEachQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
		a, _ := locktest.Open(t, table, "a", locktest.SharedScope)
		b, _ := locktest.Open(t, table, "b", locktest.SharedScope)
		held := locktest.AcquireAll(t, a, waitpolicy.NoWait, "a", "b", "c")
		time.AfterFunc(5*time.Second, func() {
			if err := held.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
		told := map[string]int{} // no mutex: one goroutine
		locks, err := b.AcquireAll(t.Context(), locktest.KeysOf("c", "b", "a", "d"), waitpolicy.Forever, queuelock.OnProgress(func(p queuelock.Progress) {
			told[p.Key.Entity]++
			if p.Position != 1 || p.TicketsAhead != 0 {
				t.Errorf("%+v", p)
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		if told["a"] == 0 || told["b"] == 0 || told["c"] == 0 || told["d"] != 0 {
			t.Errorf("told %v", told)
		}
		locktest.ReleaseAll(t, locks)

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
		locktest.ReleaseAll(t, held)
		time.Sleep(time.Second)
		locktest.NothingLeft(t, table)
	})
}

func TestTheNextQueueIsGoneToWhenTheRowInTheLastStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
		a, _ := locktest.Open(t, table, "a", locktest.SharedScope)
		b, db := locktest.Open(t, table, "b", locktest.SharedScope)
		held := locktest.AcquireAll(t, a, waitpolicy.NoWait, "a")
		gate := db.Inject(queuelocktest.HoldResponse().Of("PutItem").On("a", ""))
		next := db.Inject(queuelocktest.DelayRequest(0).Of("UpdateItem").On("b", ""))
		waiting := locktest.QueueUpAll(t.Context(), b, waitpolicy.Forever, "b", "a")
		<-gate.Reached()
		time.Sleep(time.Second)
		if next.Fired() != 0 {
			t.Error("b was gone to before the row in a was known to stand")
		}
		gate.Release()
		time.Sleep(time.Second)
		if next.Fired() != 1 {
			t.Error("b was not gone to")
		}
		locktest.ReleaseAll(t, held)
		got := <-waiting
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		locktest.ReleaseAll(t, got.Locks)
		time.Sleep(time.Second)
		locktest.NothingLeft(t, table)
	})
}

func TestSeveralLocksCanBeSharedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Millisecond))
		a, _ := locktest.Open(t, table, "a", locktest.SharedScope)
		b, _ := locktest.Open(t, table, "b", locktest.SharedScope)
		c, _ := locktest.Open(t, table, "c", locktest.SharedScope)
		take := func(c *queuelock.Client, opts ...queuelock.Option) *queuelock.Locks {
			t.Helper()
			locks, err := c.AcquireAll(t.Context(), locktest.KeysOf("a", "b"), waitpolicy.For(time.Hour), opts...)
			if err != nil {
				t.Fatal(err)
			}
			return locks
		}
		first, second := take(a, queuelock.Shared()), take(b, queuelock.Shared())
		writer := locktest.QueueUpAll(t.Context(), c, waitpolicy.For(time.Hour), "b", "a")
		time.Sleep(time.Second)
		if _, err := a.AcquireAll(t.Context(), locktest.KeysOf("b"), waitpolicy.NoWait, queuelock.Shared()); !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("a reader passed a writer: %v", err)
		}
		locktest.ReleaseAll(t, first)
		time.Sleep(time.Second)
		select {
		case <-writer:
			t.Fatal("a writer was served beside a reader")
		default:
		}
		locktest.ReleaseAll(t, second)
		got := <-writer
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		locktest.ReleaseAll(t, got.Locks)
		time.Sleep(time.Second)

		pool := func(c *queuelock.Client, n int) (*queuelock.Locks, error) {
			return c.AcquireAll(t.Context(), locktest.KeysOf("pool-1", "pool-2"), waitpolicy.For(time.Minute), queuelock.Permits(n))
		}
		var held []*queuelock.Locks
		for _, c := range []*queuelock.Client{a, b} {
			locks, err := pool(c, 2)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, locks)
		}
		if _, err := pool(c, 2); !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Errorf("a third of two: %v", err)
		}
		if mismatch, ok := errors.AsType[*queuelock.MismatchError](func() error { _, err := pool(c, 3); return err }()); !ok || !strings.Contains(mismatch.Is, "2") {
			t.Errorf("another number of permits: %v", mismatch)
		}
		for _, locks := range held {
			locktest.ReleaseAll(t, locks)
		}
		time.Sleep(time.Second)
		locktest.NothingLeft(t, table)
	})
}

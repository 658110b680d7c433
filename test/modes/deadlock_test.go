package modes_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

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
		if n := locktest.Cost(table, func() { locktest.ReleaseAll(t, held) }).Sent; n > 7*count/3 {
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
		locktest.ReleaseAll(t, got.Lock)
		time.Sleep(time.Second)
		locktest.NothingLeft(t, table)
	}, queuelocktest.WithLatency(time.Millisecond))
}

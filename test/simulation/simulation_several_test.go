package simulation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/audit"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestRandomFaultsOfSeveral is TestRandomFaults for clients that take several of five
// locks at a time. The guarantees are the same for each lock. No client waits for ever,
// and a client that fails leaves nothing.
func TestRandomFaultsOfSeveral(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSchedule(rt)
		s.Turns = min(s.Turns, 4)
		scope := rapid.SampledFrom([]queuelock.Scope{queuelock.ScopeTable, queuelock.ScopeTable, queuelock.ScopeQueue}).Draw(rt, "scope")
		var problems []string
		synctest.Test(t, func(t *testing.T) { problems = simulateSeveral(t, s, scope) })
		if len(problems) > 0 {
			rt.Fatalf("%v %+v\n%s", scope, s, strings.Join(problems, "\n"))
		}
	})
}

// beliefsOf returns the clients that believe to hold each lock.
type beliefsOf map[string]*believers

func (b beliefsOf) begin(who string, locks *queuelock.Locks) {
	for _, lock := range locks.All() {
		b[lock.Key().Entity].begin(who, lock.Ticket())
	}
}

func (b beliefsOf) end(who string, locks *queuelock.Locks) {
	for _, lock := range locks.All() {
		b[lock.Key().Entity].end(who)
	}
}

func simulateSeveral(t *testing.T, s schedule, scope queuelock.Scope) []string {
	entities := []string{"a", "b", "c", "d", "e"}
	watch := audit.New(embedded.Config{OmitDate: s.OldEngine, OmitFailedItem: s.OldEngine}, "queuelock", time.Now)
	table := queuelocktest.NewTable(t, queuelocktest.WithEngine(watch), queuelocktest.WithLatency(4*time.Millisecond))
	general := &believers{}
	beliefs := beliefsOf{}
	for _, entity := range entities {
		beliefs[entity] = &believers{now: map[string]ticket.Number{}}
	}

	var wg sync.WaitGroup
	for i := range s.Clients {
		name := fmt.Sprintf("client-%d", i)
		random := rand.New(rand.NewPCG(s.Seed, uint64(i)))
		db := table.Client(name)
		injectAll(db, s, random)
		wg.Go(func() { liveWithSeveral(table, db, name, entities, scope, s, random, beliefs, general) })
	}
	wg.Wait()
	if err := table.Settle(context.Background()); err != nil {
		general.problem("requests did not settle: %v", err)
	}
	time.Sleep(2 * s.TTL) // orphaned entries of late requests outlive no lease

	// A newcomer on a good network gets all of them, and leaves them clean.
	ctx, cancel := context.WithTimeout(t.Context(), 10*s.TTL)
	defer cancel()
	c, err := queuelock.New(table.Client("newcomer"), table.Name(), queuelock.Config{TTL: s.TTL, Scope: scope})
	if err != nil {
		return []string{err.Error()}
	}
	locks, err := c.AcquireAll(ctx, locktest.KeysOf(entities...), waitpolicy.Forever)
	if err != nil {
		general.problem("no client can be served any more: %v", err)
	} else {
		beliefs.begin("newcomer", locks)
		if err := locks.Release(ctx); err != nil {
			general.problem("newcomer's release: %v", err)
		}
	}
	for range 3 { // by observation it takes two looks, a lease apart
		for _, key := range locktest.KeysOf(entities...) {
			if _, err := c.Sweep(ctx, key); err != nil {
				general.problem("sweep: %v", err)
			}
		}
		time.Sleep(s.TTL + time.Second)
	}
	left := len(table.Items()) - len(locktest.Counters(table))
	for _, key := range locktest.KeysOf(entities...) {
		state, err := c.Inspect(context.Background(), key)
		if err != nil || len(state.Serving)+len(state.Waiting) > 0 || left != len(entities) {
			general.problem("left behind: %+v, %v, in %d items", state, err, left)
		}
	}
	if err := c.Close(context.Background()); err != nil {
		general.problem("close: %v", err)
	}
	problems := append([]string{}, general.problems...)
	for _, entity := range entities {
		for _, problem := range beliefs[entity].problems {
			problems = append(problems, entity+": "+problem)
		}
	}
	if len(problems) > 0 {
		problems = append(problems, table.Log())
	}
	return append(problems, watch.Violations()...)
}

// liveWithSeveral is live with several locks at a time.
func liveWithSeveral(table *queuelocktest.Table, db *queuelocktest.Client, name string, entities []string, scope queuelock.Scope, s schedule, random *rand.Rand, beliefs beliefsOf, general *believers) {
	ctx := context.Background()
	var mu sync.Mutex // guards stalls, and closing
	stalls, closing := rand.New(rand.NewPCG(s.Seed, random.Uint64())), false
	stalling := locktest.Stalling{Client: db.Client, Pause: func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		if closing || stalls.IntN(1000) >= s.Stall {
			return 0
		}
		return time.Duration(stalls.Int64N(3 * int64(s.TTL)))
	}}
	c, err := queuelock.New(stalling, table.Name(), queuelock.Config{TTL: s.TTL, Owner: name, Scope: scope})
	if err != nil {
		general.problem("%s: %v", name, err)
		return
	}
	defer func() {
		mu.Lock()
		closing = true // Close is measured, and not the pause
		mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
		defer cancel()
		if err := c.Close(ctx); ctx.Err() != nil {
			general.problem("%s: Close took more than ten minutes: %v", name, err)
		}
	}()
	chance := func(percent int) bool { return random.IntN(100) < percent }
	for range s.Turns {
		time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
		wait := []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(10 * time.Second), waitpolicy.For(time.Minute), waitpolicy.Forever, waitpolicy.Forever}[random.IntN(5)]
		limit := 10 * time.Minute
		if chance(s.Cancel) {
			limit = time.Duration(random.IntN(5000)) * time.Millisecond
		}
		mine := append([]string{}, entities...)
		random.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
		mine = mine[:1+random.IntN(len(mine))]
		acquireCtx, cancel := context.WithTimeout(ctx, limit)
		begun := time.Now()
		locks, err := c.AcquireAll(acquireCtx, locktest.KeysOf(mine...), wait)
		cancel()
		if err != nil {
			if took := time.Since(begun); took > limit+time.Minute+10*s.TTL {
				general.problem("%s: AcquireAll took %v to give up after %v", name, took, limit)
			}
			continue
		}
		beliefs.begin(name, locks)
		pause := time.Duration(random.IntN(4000)) * time.Millisecond
		switch {
		case chance(s.Die):
			// It dies: nothing of it is ever sent again.
			db.Partition()
			<-locks.Done()
			beliefs.end(name, locks)
			return
		case chance(s.Cut):
			db.Partition()
			select {
			case <-locks.Done():
			case <-time.After(pause):
			}
			beliefs.end(name, locks)
			db.Heal()
		default:
			select {
			case <-locks.Done():
			case <-time.After(pause):
			}
			beliefs.end(name, locks)
		}
		releaseCtx, cancel := context.WithTimeout(ctx, 10*time.Second)
		_ = locks.Release(releaseCtx) // the faults may keep it from succeeding; its lease ends it then
		cancel()
	}
}

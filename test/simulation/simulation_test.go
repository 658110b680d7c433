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

// schedule is one random run: some clients, what each of them does, and how
// often which fault befalls their requests.
type schedule struct {
	Seed    uint64
	Clients int
	Turns   int
	// Chances, in percent, of each fault befalling a request.
	LoseRequest, LoseResponse, Delay, Duplicate, Late, Refuse, Swallow int
	// Chances, in percent, of what befalls a turn.
	Die, Cut, Cancel int
	// Chance, in a thousand, that a caller is paused for up to three leases before or
	// after a request.
	Stall     int
	OldEngine bool
	TTL       time.Duration
}

func drawSchedule(t *rapid.T) schedule {
	chance := func(name string, most int) int { return rapid.IntRange(0, most).Draw(t, name) }
	return schedule{
		Seed:         rapid.Uint64().Draw(t, "seed"),
		Clients:      rapid.IntRange(2, 5).Draw(t, "clients"),
		Turns:        rapid.IntRange(1, 6).Draw(t, "turns"),
		LoseRequest:  chance("lose request", 10),
		LoseResponse: chance("lose response", 15),
		Delay:        chance("delay", 20),
		Duplicate:    chance("duplicate", 10),
		Late:         chance("late", 5),
		Refuse:       chance("refuse", 10),
		Swallow:      chance("swallow", 3),
		Die:          chance("die", 15),
		Cut:          chance("cut", 15),
		Cancel:       chance("cancel", 20),
		Stall:        chance("stall", 30),
		OldEngine:    rapid.Bool().Draw(t, "old engine"),
		TTL:          rapid.SampledFrom([]time.Duration{2 * time.Second, 10 * time.Second, time.Minute}).Draw(t, "ttl"),
	}
}

// TestRandomFaults checks that all guarantees hold under random faults. Whatever happens
// to requests and clients, there are never two holders, in the table or in their own
// belief; tokens increase; order is kept; and in the end the table is clean.
func TestRandomFaults(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSchedule(rt)
		var problems []string
		synctest.Test(t, func(t *testing.T) { problems = simulate(t, s) })
		if len(problems) > 0 {
			rt.Fatalf("%+v\n%s", s, strings.Join(problems, "\n"))
		}
	})
}

// believers are the clients that believe to hold the lock.
type believers struct {
	mu       sync.Mutex
	now      map[string]ticket.Number
	last     ticket.Number
	problems []string
}

func (b *believers) begin(who string, t ticket.Number) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.now) > 0 {
		b.problems = append(b.problems, fmt.Sprintf("%s got ticket %s while %v believed to hold the lock", who, t, b.now))
	}
	if !b.last.Less(t) {
		b.problems = append(b.problems, fmt.Sprintf("%s got ticket %s after %s", who, t, b.last))
	}
	b.now[who], b.last = t, t
}

func (b *believers) end(who string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.now, who)
}

func (b *believers) problem(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// simulate runs a schedule and returns what went wrong.
func simulate(t *testing.T, s schedule) []string {
	key := queuelock.Key{Entity: "order-7"}
	watch := audit.New(embedded.Config{OmitDate: s.OldEngine, OmitFailedItem: s.OldEngine}, "queuelock", time.Now)
	table := queuelocktest.NewTable(t, queuelocktest.WithEngine(watch), queuelocktest.WithLatency(4*time.Millisecond))
	beliefs := &believers{now: map[string]ticket.Number{}}

	var wg sync.WaitGroup
	for i := range s.Clients {
		name := fmt.Sprintf("client-%d", i)
		random := rand.New(rand.NewPCG(s.Seed, uint64(i)))
		db := table.Client(name)
		injectAll(db, s, random)
		wg.Go(func() { live(t, table, db, name, key, s, random, beliefs) })
	}
	wg.Wait()
	if err := table.Settle(context.Background()); err != nil {
		beliefs.problem("requests did not settle: %v", err)
	}
	time.Sleep(2 * s.TTL) // orphaned entries of late requests outlive no lease

	// A newcomer on a good network finds a clean queue, or cleans it.
	ctx, cancel := context.WithTimeout(t.Context(), 10*s.TTL)
	defer cancel()
	c, err := queuelock.New(table.Client("newcomer"), table.Name(), queuelock.Config{TTL: s.TTL})
	if err != nil {
		return []string{err.Error()}
	}
	lock, err := c.Acquire(ctx, key, waitpolicy.Forever)
	if err != nil {
		beliefs.problem("no client can be served any more: %v", err)
	} else {
		beliefs.begin("newcomer", lock.Ticket())
		if err := lock.Release(ctx); err != nil {
			beliefs.problem("newcomer's release: %v", err)
		}
	}
	for range 2 { // by observation it takes two looks, a lease apart
		if _, err := c.Sweep(ctx, key); err != nil {
			beliefs.problem("sweep: %v", err)
		}
		time.Sleep(s.TTL + time.Second)
	}
	if _, err := c.Sweep(ctx, key); err != nil {
		beliefs.problem("sweep: %v", err)
	}
	state, err := c.Inspect(ctx, key)
	if err != nil {
		beliefs.problem("inspect: %v", err)
	} else if len(state.Serving)+len(state.Waiting) > 0 || len(table.Items()) != 1 {
		beliefs.problem("left behind: %+v in %d items", state, len(table.Items()))
	}
	if err := c.Close(ctx); err != nil {
		beliefs.problem("close: %v", err)
	}
	beliefs.mu.Lock()
	defer beliefs.mu.Unlock()
	if len(beliefs.problems) > 0 {
		beliefs.problems = append(beliefs.problems, table.Log())
	}
	return append(beliefs.problems, watch.Violations()...)
}

// injectAll puts a schedule's faults on a client's network.
func injectAll(db *queuelocktest.Client, s schedule, random *rand.Rand) {
	for _, f := range []struct {
		fault   queuelocktest.Fault
		percent int
	}{
		{queuelocktest.LoseRequest(), s.LoseRequest},
		{queuelocktest.LoseResponse(), s.LoseResponse},
		{queuelocktest.DelayRequest(300 * time.Millisecond), s.Delay},
		{queuelocktest.DelayResponse(700 * time.Millisecond), s.Delay},
		{queuelocktest.DelayRequest(2 * time.Second).LandingAnyway(), s.Delay / 2},
		{queuelocktest.Duplicate(1500 * time.Millisecond), s.Duplicate},
		{queuelocktest.Duplicate(15 * time.Second), s.Duplicate},
		{queuelocktest.LandLate(3 * time.Second), s.Late},
		{queuelocktest.Refuse(queuelocktest.Throttling), s.Refuse},
		{queuelocktest.Refuse(queuelocktest.InternalError), s.Refuse},
		{queuelocktest.Refuse(queuelocktest.TransactionConflict), s.Refuse},
		{queuelocktest.SwallowRequest(), s.Swallow},
		{queuelocktest.SwallowResponse(), s.Swallow},
	} {
		db.Inject(f.fault.WithProbability(float64(f.percent)/100, random.Uint64()))
	}
}

// live is a client's life: it takes turns, gives up, is partitioned, or crashes.
func live(t *testing.T, table *queuelocktest.Table, db *queuelocktest.Client, name string, key queuelock.Key, s schedule, random *rand.Rand, beliefs *believers) {
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
	c, err := queuelock.New(stalling, table.Name(), queuelock.Config{TTL: s.TTL, Owner: name})
	if err != nil {
		beliefs.problem("%s: %v", name, err)
		return
	}
	defer func() {
		mu.Lock()
		closing = true // Close is measured, and not the pause
		mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
		defer cancel()
		if err := c.Close(ctx); ctx.Err() != nil {
			beliefs.problem("%s: Close took more than ten minutes: %v", name, err)
		}
	}()
	chance := func(percent int) bool { return random.IntN(100) < percent }
	for range s.Turns {
		time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
		wait := []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(3 * time.Second), waitpolicy.For(time.Minute), waitpolicy.Forever}[random.IntN(4)]
		limit := 10 * time.Minute
		if chance(s.Cancel) {
			limit = time.Duration(random.IntN(5000)) * time.Millisecond
		}
		acquireCtx, cancel := context.WithTimeout(ctx, limit)
		begun := time.Now()
		lock, err := c.Acquire(acquireCtx, key, wait)
		cancel()
		if err != nil {
			if took := time.Since(begun); took > limit+time.Minute+10*s.TTL {
				beliefs.problem("%s: Acquire took %v to give up after %v", name, took, limit)
			}
			continue
		}
		beliefs.begin(name, lock.Ticket())
		switch {
		case chance(s.Die):
			// It dies: nothing of it is ever sent again.
			db.Partition()
			<-lock.Done()
			beliefs.end(name)
			return
		case chance(s.Cut):
			db.Partition()
			select {
			case <-lock.Done():
			case <-time.After(time.Duration(random.IntN(5000)) * time.Millisecond):
			}
			beliefs.end(name)
			db.Heal()
		default:
			select {
			case <-lock.Done():
			case <-time.After(time.Duration(random.IntN(4000)) * time.Millisecond):
			}
			beliefs.end(name)
		}
		releaseCtx, cancel := context.WithTimeout(ctx, 10*time.Second)
		_ = lock.Release(releaseCtx) // the faults may keep it from succeeding; its lease ends it then
		cancel()
	}
}

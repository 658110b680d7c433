package pace_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/bells"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// crowd are waiters that come during a long turn, each for a turn of 20 ms unless short says another length.
type crowd struct {
	before   []time.Duration // turns of the first client, one after the other
	long     time.Duration   // its last turn
	n        int
	short    func(*rand.Rand) time.Duration
	hub      *bells.Hub
	each     int // goroutines of each client; zero: one
	opts     []queuelock.AcquireOption
	last     []queuelock.AcquireOption // of the last one alone
	crashed  int                       // each so manieth loses its network as soon as it waits; zero: none
	refused  error                     // what those get that are not granted the lock
	grants   int                       // zero: all
	gap, end time.Duration             // the longest between two turns, and from the end of the long one to the last grant
	reads    float64                   // read units in the long turn; zero: any
}

// seen is what a crowd has shown.
type seen struct {
	gap, end time.Duration
	grants   int
	lost     int // live waiters that were granted the lock after one that came later
	reads    float64
}

func (s seen) String() string {
	return fmt.Sprintf("%d grants, the last after %v, the longest gap %v, %d out of order; %.0f read units in the long turn",
		s.grants, s.end.Round(time.Millisecond), s.gap.Round(time.Millisecond), s.lost, s.reads)
}

// bound is what docs/configuration.md promises of the time for which the lock is free while live processes wait: the longest turn yet
// was of that length.
func bound(longest time.Duration, even, lost bool, waiters int) time.Duration {
	s := waitpolicy.Default
	trips := time.Duration(waiters+2) * 2 * 5 * ms
	switch {
	case even && lost:
		return s.Slowest + trips
	case even || lost:
		return max(4*s.SlowestNext, min(longest, s.Slowest)) + trips
	}
	return min(longest, max(s.SlowestNext, min(longest/60, s.Slowest))) + trips
}

func (c crowd) run(t *testing.T) (s seen) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(5*ms))
		open := func(name string) (*queuelock.Client, *queuelocktest.Client) {
			cfg := queuelock.Config{Block: max(1, c.each)}
			if c.hub != nil {
				cfg.Wake = c.hub.Client(name)
			}
			return locktest.OpenMet(t, table, name, cfg)
		}
		first, _ := open("first")
		for _, turn := range c.before {
			lock := locktest.Acquire(t, first, waitpolicy.Forever, c.opts...)
			time.Sleep(turn)
			locktest.Release(t, lock)
		}
		held := locktest.Acquire(t, first, waitpolicy.Forever, c.opts...)
		begun, before := time.Now(), table.Counts()
		time.Sleep(400 * ms)
		rng := rand.New(rand.NewPCG(uint64(c.n), 3))
		var mu sync.Mutex
		var ended time.Time
		var tickets []uint64
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var wg sync.WaitGroup
		for i := range c.n {
			client, db := open(fmt.Sprint(i))
			opts := c.opts
			if i == c.n-1 {
				opts = append(slices.Clone(opts), c.last...)
			}
			crashes := c.crashed > 0 && i%c.crashed == 0
			for range max(1, c.each) {
				turn := 20 * ms
				if c.short != nil {
					turn = c.short(rng)
				}
				wg.Go(func() {
					lock, err := client.Acquire(ctx, locktest.Order, waitpolicy.Forever, opts...)
					if crashes || c.refused != nil && errors.Is(err, c.refused) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					s.grants++
					tickets = append(tickets, uint64(i))
					if !ended.IsZero() {
						s.gap = max(s.gap, time.Since(ended))
					}
					s.end = time.Since(begun) - c.long
					mu.Unlock()
					time.Sleep(turn)
					mu.Lock()
					ended = time.Now()
					mu.Unlock()
					locktest.Release(t, lock)
				})
			}
			time.Sleep(30 * ms)
			if crashes {
				db.Partition()
			}
		}
		time.Sleep(time.Until(begun.Add(c.long)))
		mu.Lock()
		ended = time.Now()
		mu.Unlock()
		s.reads = table.Counts().Sub(before).Total().ReadUnits
		locktest.Release(t, held)
		if c.crashed > 0 {
			time.Sleep(time.Minute)
			cancel()
		}
		wg.Wait()
		for i := range tickets {
			if i > 0 && tickets[i] < tickets[i-1] {
				s.lost++
			}
		}
	})
	return s
}

func repeated(n int, d time.Duration) []time.Duration { return slices.Repeat([]time.Duration{d}, n) }

// TestCrowd lets a crowd wait behind a long turn, and then take turns of 20 ms each. The lock must not be idle for long while they wait, and
// none may lose its place.
func TestCrowd(t *testing.T) {
	second, hour := time.Second, locktest.Scaled(time.Hour, 10*time.Minute) // of heartbeats of all
	third := func(n int64) bool { return n%3 == 0 }
	for name, c := range map[string]crowd{
		"Of6":                       {n: 6, long: 5 * second, gap: 700 * ms, end: 1500 * ms},
		"Of20":                      {n: 20, long: 5 * second, gap: second, end: 2500 * ms, reads: 560},
		"AfterAMinute":              {n: 20, long: time.Minute, gap: 1500 * ms, end: 4 * second},
		"AfterAnHour":               {n: 20, long: hour, gap: 12 * second, end: 20 * second, reads: 16_000},
		"AfterShortTurns":           {n: 20, before: repeated(30, 20*ms), long: time.Minute, gap: 1500 * ms, end: 4 * second},
		"AfterEvenTurns":            {n: 20, before: repeated(30, 2*second), long: 5 * second, gap: 4 * second, end: 6 * second}, // two short turns end the evenness
		"OfBells":                   {n: 20, long: 5 * second, hub: new(bells.Hub), gap: 100 * ms, end: second},
		"OfBellsAfterAMinute":       {n: 20, long: time.Minute, hub: new(bells.Hub), gap: 100 * ms, end: second},
		"OfBellsAfterAnHour":        {n: 20, long: hour, hub: new(bells.Hub), gap: 100 * ms, end: second},
		"OfBellsAfterShortTurns":    {n: 20, before: repeated(30, 20*ms), long: time.Minute, hub: new(bells.Hub), gap: 100 * ms, end: second},
		"OfBellsAThirdOfThemLost":   {n: 20, long: 5 * second, hub: losing(third), gap: second, end: 2500 * ms},
		"OfBellsLostAfterAMinute":   {n: 20, long: time.Minute, hub: losing(third), gap: 1500 * ms, end: 4 * second},
		"OfBellsAllOfThemLost":      {n: 20, long: 5 * second, hub: losing(all), gap: second, end: 2500 * ms},
		"OfBellsLostAfterFour":      {n: 20, long: 5 * second, hub: losing(func(n int64) bool { return n > 4 }), gap: second, end: 3500 * ms},
		"WithCrashedWaiters":        {n: 20, long: 5 * second, crashed: 4, grants: 15, gap: 16 * second, end: 20 * second},
		"WithCrashedWaitersOfBells": {n: 20, long: 5 * second, crashed: 4, hub: new(bells.Hub), grants: 15, gap: 16 * second, end: 20 * second},
		"OfBlocks":                  {n: 6, each: 16, long: 5 * second, gap: second, end: 5 * second},
		"OfBlocksWithBells":         {n: 6, each: 16, long: 5 * second, hub: new(bells.Hub), gap: 100 * ms, end: 3500 * ms},
		"Superseded":                {n: 20, long: 5 * second, opts: []queuelock.AcquireOption{queuelock.Supersede()}, refused: queuelock.ErrSuperseded, grants: 1, gap: second, end: second},
		"MaxWaiters":                {n: 20, long: 5 * second, opts: []queuelock.AcquireOption{queuelock.MaxWaiters(12)}, refused: queuelock.ErrQueueFull, grants: 12, gap: second, end: 2 * second},
		"Permits":                   {n: 20, long: 5 * second, opts: []queuelock.AcquireOption{queuelock.Permits(2)}, gap: 400 * ms, end: -3 * second},
		"Readers":                   {n: 20, long: 5 * second, opts: nil, last: []queuelock.AcquireOption{queuelock.Shared()}, gap: second, end: 2500 * ms},
		"OfUnevenTurns": {n: 30, long: 5 * second, gap: 1200 * ms, end: 20 * second,
			short: func(r *rand.Rand) time.Duration {
				return time.Duration(50 * ms.Seconds() * 1e9 * math.Exp(1.5*r.NormFloat64()))
			}},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.run(t)
			t.Log(s)
			want := c.n * max(1, c.each)
			if c.grants > 0 {
				want = c.grants
			}
			if s.grants != want || s.lost > 0 || s.gap > c.gap || s.end > c.end || c.reads > 0 && s.reads > c.reads {
				t.Errorf("want %d grants in order, the last after %v, no gap of more than %v, %v read units", want, c.end, c.gap, c.reads)
			}
		})
	}
}

var crowds = flag.Int("pace.crowds", 0, "how many crowds TestUnevenTurns tries; zero: a few")

// TestUnevenTurns lets clients take turns of lengths drawn at random, again and again, some with bells of which some are lost. None
// loses its place, and the lock is never free for longer than docs/configuration.md says.
func TestUnevenTurns(t *testing.T) {
	all := cmp.Or(*crowds, locktest.Scaled(24, 6))
	for seed := range all {
		rng := rand.New(rand.NewPCG(uint64(seed), 11))
		mean := time.Duration(float64(ms) * math.Exp(rng.Float64()*math.Log(locktest.Scaled(3000.0, 500)))) // 1 ms to 3 s
		kinds := map[string]func(*rand.Rand) time.Duration{
			"exponential": exponential(mean),
			"bimodal": func(r *rand.Rand) time.Duration {
				if r.IntN(10) == 0 {
					return 20 * mean
				}
				return mean
			},
			"lognormal": func(r *rand.Rand) time.Duration {
				return time.Duration(float64(mean) * math.Exp(1.5*r.NormFloat64()))
			},
			"changing": func() func(*rand.Rand) time.Duration {
				n, turn := 0, mean
				return func(r *rand.Rand) time.Duration {
					if n++; n%12 == 0 {
						turn = time.Duration(float64(mean) * math.Exp(2*r.NormFloat64()))
					}
					return turn
				}
			}(),
		}
		kind := slices.Sorted(maps.Keys(kinds))[rng.IntN(len(kinds))]
		c := contest{contenders: 2 + rng.IntN(18), cycles: 6, hold: kinds[kind], trip: 5 * ms}
		switch rng.IntN(4) {
		case 0:
			c.hub = new(bells.Hub)
		case 1:
			c.hub = losing(func(n int64) bool { return n%4 == 0 })
		}
		t.Run(fmt.Sprintf("%d/%s/%dOf%v", seed, kind, c.contenders, mean.Round(ms)), func(t *testing.T) {
			got := c.run(t)
			limit := bound(got.longest, kind == "changing", c.hub != nil && c.hub.Fate != nil, c.contenders)
			t.Logf("%v; the longest turn took %v, the longest gap %v of %v", got, got.longest, got.gap, limit)
			if got.overtaken > 0 {
				t.Errorf("%d were overtaken", got.overtaken)
			}
			if got.gap > limit {
				t.Error("the lock was free for too long")
			}
		})
	}
}

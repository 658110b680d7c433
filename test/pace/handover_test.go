package pace_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/bells"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// contest is a number of contenders, each an independent client, that take turns until
// each has had so many.
type contest struct {
	contenders, cycles int
	hold               func(*rand.Rand) time.Duration
	hub                *bells.Hub                  // nil: no bells
	warm               int                         // turns before cost and hand-overs count
	slow               func(*queuelocktest.Client) // adds faults; optional
	skew               func(int) time.Duration     // of the host that dates the answers to a client; nil: none
	fresh              bool                        // each turn is that of a new client
	trip               time.Duration               // of a request; zero: locktest.RoundTrip
}

// result is what a contest has shown.
type result struct {
	handOvers []time.Duration // from the answer to a release to the next grant
	overtaken int             // waiters that were there long before one that was granted first
	turns     []time.Duration // from the call of a release to the next grant
	cost      queuelocktest.Tally
	cycles    int
	lasted    time.Duration
	longest   time.Duration // turn
	gap       time.Duration // the longest hand-over
}

func (r result) mean() time.Duration {
	var sum time.Duration
	for _, d := range r.handOvers {
		sum += d
	}
	return sum / time.Duration(max(1, len(r.handOvers)))
}

func (r result) p99() time.Duration {
	sorted := slices.Sorted(slices.Values(r.handOvers))
	return sorted[len(sorted)*99/100]
}

// trips is the mean from the call of a release to the next grant, in round trips.
func (r result) trips() float64 {
	var sum time.Duration
	for _, d := range r.turns {
		sum += d
	}
	return float64(sum) / float64(len(r.turns)) / float64(locktest.RoundTrip)
}

// units returns write and read units for each cycle.
func (r result) units() (write, read float64) {
	return r.cost.WriteUnits / float64(r.cycles), r.cost.ReadUnits / float64(r.cycles)
}

func (r result) String() string {
	write, read := r.units()
	return fmt.Sprintf("hand-over mean %v, p99 %v, %.2f round trips; %.1f cycles/s; %.1f write and %.1f read units a cycle; %d overtaken",
		r.mean().Round(100*time.Microsecond), r.p99().Round(100*time.Microsecond), r.trips(),
		float64(r.cycles)/r.lasted.Seconds(), write, read, r.overtaken)
}

// bounds are the most that a contest may show; zero: any.
type bounds struct{ mean, p99, trips, write, read float64 } // ms, ms, round trips, units

// within runs a contest, in which no client is overtaken.
func (c contest) within(t *testing.T, most bounds) {
	t.Helper()
	got := c.run(t)
	t.Log(got)
	write, read := got.units()
	for _, of := range [][2]float64{
		{got.mean().Seconds() * 1000, most.mean}, {got.p99().Seconds() * 1000, most.p99}, {got.trips(), most.trips},
		{write, most.write}, {read, most.read},
	} {
		if of[1] > 0 && of[0] > of[1] {
			t.Errorf("%.2f, want at most %v of %+v", of[0], of[1], most)
		}
	}
	if got.overtaken > 0 {
		t.Error("order was traded for speed")
	}
}

func (c contest) run(t *testing.T) (r result) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(cmp.Or(c.trip, locktest.RoundTrip)))
		var mu sync.Mutex
		var released, releasing time.Time
		waiting := map[int]time.Time{} // since when
		var contenders sync.WaitGroup
		var clients []*queuelock.Client
		for i := range c.contenders {
			var cfg queuelock.Config
			if c.hub != nil {
				cfg.Wake = c.hub.Client(fmt.Sprint(i))
			}
			client, db := open(t, table, fmt.Sprint(i), cfg, c.skew, i)
			if c.slow != nil {
				c.slow(db)
			}
			clients = append(clients, client)
		}
		before, began, grants := table.Counts(), time.Now(), 0
		for i, client := range clients {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			contenders.Go(func() {
				time.Sleep(time.Duration(i) * 137 * time.Microsecond)
				for range c.cycles {
					client := client
					if c.fresh {
						client, _ = locktest.Open(t, table, fmt.Sprint(i), queuelock.Config{})
					}
					asked := time.Now()
					mu.Lock()
					waiting[i] = asked
					mu.Unlock()
					lock := locktest.Acquire(t, client, waitpolicy.Forever)
					mu.Lock()
					if grants++; grants == c.warm {
						before = table.Counts()
					}
					if asked.Before(released) && grants > c.warm {
						r.handOvers, r.turns = append(r.handOvers, time.Since(released)), append(r.turns, time.Since(releasing))
						r.gap = max(r.gap, time.Since(released))
					}
					delete(waiting, i)
					for _, since := range waiting {
						if since.Add(2 * locktest.RoundTrip).Before(asked) { // its row was there
							r.overtaken++
						}
					}
					mu.Unlock()
					mu.Lock() // lengths may depend on those before
					turn := c.hold(rng)
					r.longest = max(r.longest, turn)
					mu.Unlock()
					time.Sleep(turn)
					called := time.Now()
					locktest.Release(t, lock)
					mu.Lock()
					releasing, released = called, time.Now()
					mu.Unlock()
				}
			})
		}
		contenders.Wait()
		r.lasted = time.Since(began)
		synctest.Wait()
		r.cost, r.cycles = table.Counts().Sub(before).Total(), c.contenders*c.cycles-c.warm
	})
	return r
}

// open is locktest.OpenMet of a client whose answers have the dates of a host with that skew.
func open(t *testing.T, table *queuelocktest.Table, name string, cfg queuelock.Config, skew func(int) time.Duration, i int) (*queuelock.Client, *queuelocktest.Client) {
	if skew == nil {
		return locktest.OpenMet(t, table, name, cfg)
	}
	db := table.Client(name, func(o *dynamodb.Options) { o.HTTPClient = dated{o.HTTPClient, skew(i)} })
	client := locktest.Must(queuelock.New(db, table.Name(), cfg))
	t.Cleanup(func() {
		locktest.Check(t, client.Close(context.WithoutCancel(t.Context())))
	})
	locktest.Must(client.Viewer().Inspect(t.Context(), queuelock.Key{Entity: "another"}))
	return client, db
}

// dated sends requests whose answers have the date of a host that is ahead.
type dated struct {
	dynamodb.HTTPClient
	ahead time.Duration
}

func (d dated) Do(r *http.Request) (*http.Response, error) {
	answer, err := d.HTTPClient.Do(r)
	if err == nil {
		applied := time.Now().Add(-locktest.RoundTrip / 2)
		answer.Header.Set("Date", applied.Add(d.ahead).UTC().Format(http.TimeFormat))
	}
	return answer, err
}

func always(d time.Duration) func(*rand.Rand) time.Duration {
	return func(*rand.Rand) time.Duration { return d }
}

func exponential(mean time.Duration) func(*rand.Rand) time.Duration {
	return func(rng *rand.Rand) time.Duration { return time.Duration(rng.ExpFloat64() * float64(mean)) }
}

// losing returns bells of which some are lost, by their number.
func losing(lost func(n int64) bool) *bells.Hub {
	var rung atomic.Int64
	return &bells.Hub{Fate: func(string, string, int64) []time.Duration {
		if lost(rung.Add(1)) {
			return nil
		}
		return []time.Duration{ms / 5}
	}}
}

// TestHandOver bounds the time from a release to the next grant, and its cost. Turns that
// are short beside a round trip are the hardest.
func TestHandOver(t *testing.T) {
	const cycles = 96 // in all: of fewer, the first looks are a large part
	type measured struct {
		name       string
		contenders int
		hold       func(*rand.Rand) time.Duration
		most       bounds
		hub        *bells.Hub
	}
	for _, test := range locktest.Some([]measured{
		{"2Of0ms", 2, always(0), bounds{mean: 8, p99: 30, write: 6.5, read: 3}, nil},
		{"2Of5ms", 2, always(5 * ms), bounds{mean: 6, p99: 30, write: 6.5, read: 3}, nil},
		{"8Of5ms", 8, always(5 * ms), bounds{mean: 7, p99: 40, write: 7, read: 8}, nil},
		{"32Of5ms", 32, always(5 * ms), bounds{mean: 8, p99: 60, write: 7.5, read: 12}, nil},
		{"2Of50ms", 2, always(50 * ms), bounds{mean: 10, p99: 80, write: 7, read: 10}, nil},
		{"2Of1s", 2, always(time.Second), bounds{mean: 8, p99: 200, write: 4.5, read: 7.5}, nil},
		{"8Of50ms", 8, always(50 * ms), bounds{mean: 14, p99: 80, write: 8, read: 14}, nil},
		{"8Of50msNoBellArrives", 8, always(50 * ms), bounds{mean: 14, p99: 80, write: 8, read: 14}, losing(all)},
		{"8Of1s", 8, always(time.Second), bounds{mean: 16, p99: 200, write: 7.5, read: 25}, nil},
		{"8Of20msAtRandom", 8, exponential(20 * ms), bounds{mean: 18, p99: 150, write: 8.5, read: 25}, nil},
	}) {
		t.Run(test.name, func(t *testing.T) {
			contest{contenders: test.contenders, cycles: max(2, cycles/test.contenders), hold: test.hold, hub: test.hub}.within(t, test.most)
		})
	}
}

func all(int64) bool { return true }

// TestExpectedEnd bounds the same where the end of a turn can be foreseen, after two turns of each contender. Looks come
// when the turn is likely to end, so constant turns need the fewest. Neither clocks that differ as much as is allowed
// for, nor turns of any length, make it slower than looks at regular intervals: 12 ms with constant turns of 1 s.
func TestExpectedEnd(t *testing.T) {
	opposed := func(i int) time.Duration { return 100 * ms * time.Duration(1-i/2%2*2) } // of who grants by name, and who looks
	type measured struct {
		name    string
		contest contest
		most    bounds
	}
	for _, test := range locktest.Some([]measured{
		{"8Of1s", contest{hold: always(time.Second)}, bounds{mean: 6, read: 18}},
		{"8Of1sWithOpposedClocks", contest{hold: always(time.Second), skew: opposed}, bounds{mean: 15, read: 23}},
		{"8Of1sOfNewClients", contest{hold: always(time.Second), fresh: true}, bounds{mean: 12, read: 26}},
		{"8Of10s", contest{hold: always(10 * time.Second)}, bounds{mean: 30, read: 34}},
		{"8Of1sAtRandom", contest{hold: exponential(time.Second)}, bounds{mean: 45, read: 54}},
	}) {
		t.Run(test.name, func(t *testing.T) {
			c := test.contest
			c.contenders, c.cycles, c.warm = 8, max(4, locktest.Scaled(12, 6)), 16
			c.within(t, test.most)
		})
	}
}

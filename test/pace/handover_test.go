package pace_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
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

// units returns write and read units for each cycle.
func (r result) units() (write, read float64) {
	return r.cost.WriteUnits / float64(r.cycles), r.cost.ReadUnits / float64(r.cycles)
}

func (r result) String() string {
	write, read := r.units()
	return fmt.Sprintf("hand-over mean %v, p99 %v; %.1f cycles/s; %.1f write and %.1f read units a cycle; %d overtaken",
		r.mean().Round(100*time.Microsecond), r.p99().Round(100*time.Microsecond),
		float64(r.cycles)/r.lasted.Seconds(), write, read, r.overtaken)
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

// TestHandOver bounds the time from a release to the next grant, and its cost. Turns that
// are short beside a round trip are the hardest.
func TestHandOver(t *testing.T) {
	const cycles = 96 // in all: of fewer, the first looks are a large part
	type measured struct {
		name        string
		contenders  int
		hold        func(*rand.Rand) time.Duration
		mean, p99   time.Duration
		write, read float64
		hub         *bells.Hub
	}
	noneArrives := &bells.Hub{Fate: func(string, string, int64) []time.Duration { return nil }}
	for _, test := range locktest.Some([]measured{
		{"2Of0ms", 2, always(0), 8 * ms, 30 * ms, 6.5, 3, nil},
		{"2Of5ms", 2, always(5 * ms), 6 * ms, 30 * ms, 6.5, 3, nil},
		{"8Of5ms", 8, always(5 * ms), 7 * ms, 40 * ms, 7, 8, nil},
		{"32Of5ms", 32, always(5 * ms), 8 * ms, 60 * ms, 7.5, 12, nil},
		{"2Of50ms", 2, always(50 * ms), 10 * ms, 80 * ms, 7, 10, nil},
		{"2Of1s", 2, always(time.Second), 8 * ms, 200 * ms, 4.5, 7.5, nil},
		{"8Of50ms", 8, always(50 * ms), 14 * ms, 80 * ms, 8, 14, nil},
		{"8Of50msNoBellArrives", 8, always(50 * ms), 14 * ms, 80 * ms, 8, 14, noneArrives},
		{"8Of1s", 8, always(time.Second), 16 * ms, 200 * ms, 7.5, 25, nil},
		{"8Of20msAtRandom", 8, exponential(20 * ms), 18 * ms, 150 * ms, 8.5, 25, nil},
	}) {
		t.Run(test.name, func(t *testing.T) {
			got := contest{contenders: test.contenders, cycles: max(2, cycles/test.contenders), hold: test.hold, hub: test.hub}.run(t)
			t.Log(got)
			write, read := got.units()
			if got.mean() > test.mean || got.p99() > test.p99 || write > test.write || read > test.read {
				t.Errorf("want at most mean %v, p99 %v, %v and %v units", test.mean, test.p99, test.write, test.read)
			}
			if got.overtaken > 0 {
				t.Error("order was traded for speed")
			}
		})
	}
}

// TestExpectedEnd bounds the same where the end of a turn can be foreseen, after two turns of each contender. Looks come
// when the turn is likely to end, so constant turns need the fewest. Neither clocks that differ as much as is allowed
// for, nor turns of any length, make it slower than looks at regular intervals: 12 ms with constant turns of 1 s.
func TestExpectedEnd(t *testing.T) {
	opposed := func(i int) time.Duration { return 100 * ms * time.Duration(1-i/2%2*2) } // of who grants by name, and who looks
	type measured struct {
		name       string
		contest    contest
		mean, read float64 // ms, units
	}
	for _, test := range locktest.Some([]measured{
		{"8Of1s", contest{hold: always(time.Second)}, 6, 18},
		{"8Of1sWithOpposedClocks", contest{hold: always(time.Second), skew: opposed}, 15, 23},
		{"8Of1sOfNewClients", contest{hold: always(time.Second), fresh: true}, 12, 26},
		{"8Of10s", contest{hold: always(10 * time.Second)}, 30, 34},
		{"8Of1sAtRandom", contest{hold: exponential(time.Second)}, 45, 54},
	}) {
		t.Run(test.name, func(t *testing.T) {
			c := test.contest
			c.contenders, c.cycles, c.warm = 8, max(4, locktest.Scaled(12, 6)), 16
			got := c.run(t)
			t.Log(got)
			if _, read := got.units(); got.mean().Seconds()*1000 > test.mean || read > test.read {
				t.Errorf("want at most a mean of %v ms and %v read units", test.mean, test.read)
			}
			if got.overtaken > 0 {
				t.Error("order was traded for speed")
			}
		})
	}
}

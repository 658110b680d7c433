package scenario

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/workload/benchmark/capacity"
	"github.com/queuelock/queuelock/internal/workload/benchmark/stats"
)

var contendedColumns = append([]Column{
	{"mean", "hand-over mean, ms", 1}, {"p50", "p50", 1}, {"p99", "p99", 1}, {"longest", "longest", 1}, {"after", "mean after release, ms", 1}, {"cycles", "cycles/s", 1},
	{"write units", "write units a cycle", 1}, {"read units", "read units a cycle", 1},
	{"overtook", "grants that overtook, of 100", 1},
}, Column{"overlaps", "overlaps", 0})

// contended is a lock that several clients want all the time.
var contended = Scenario{
	Name: "contended", Title: "A contended lock",
	About:   "Each contender acquires the lock, holds it, releases it, and asks again at once. A hand-over is the time from the call of release until the next holder's acquire returns; the mean after release counts from the return of release. All contenders are independent clients, with connections of their own, in one process. Overlaps are pairs of holders at the same time; a lock that has any is broken. The measurement begins after half a second and ten holds, and lasts three seconds and thirty holds. With holds of one second that is about 33 turns, and the 99th percentile is the greatest value.",
	Ratio:   "mean",
	Columns: contendedColumns,
	Variants: func(s Size) []Variant {
		var all []Variant
		for _, h := range holds(s) {
			for _, n := range contenders(s) {
				all = append(all, contend(s, h, n, inOneProcess))
			}
		}
		return all
	},
}

// processes is contended, with each contender in a process of its own.
var processes = Scenario{
	Name: "processes", Title: "A contended lock, contenders as processes",
	About:   "As before, with each contender in a process of its own.",
	Ratio:   "mean",
	Columns: contendedColumns,
	Variants: func(s Size) []Variant {
		return []Variant{contend(s, short, pick(s, 4, 8), inProcesses)}
	},
}

// goroutines is contended, with all contenders in one client.
var goroutines = Scenario{
	Name: "goroutines", Title: "A contended lock, contenders as goroutines of one client",
	About:   "As before, with one client for all contenders, as in a server that locks the same entity for several requests.",
	Ratio:   "mean",
	Columns: contendedColumns,
	Variants: func(s Size) []Variant {
		return []Variant{contend(s, short, 8, inOneClient)}
	},
}

// hold is how long holders hold.
type hold struct {
	name string
	next func(*rand.Rand) time.Duration
	mean time.Duration
}

// short is the hold of most measurements.
var short = hold{"5 ms", fixed(5 * time.Millisecond), 5 * time.Millisecond}

func fixed(d time.Duration) func(*rand.Rand) time.Duration {
	return func(*rand.Rand) time.Duration { return d }
}

// uneven are turns of lengths that are not known before: most programs have such.
var uneven = []hold{
	{"50 ms exponential", func(r *rand.Rand) time.Duration { return scaled(50*time.Millisecond, r.ExpFloat64()) }, 50 * time.Millisecond},
	{"20 ms, each tenth 400 ms", func(r *rand.Rand) time.Duration {
		if r.IntN(10) == 0 {
			return 400 * time.Millisecond
		}
		return 20 * time.Millisecond
	}, 58 * time.Millisecond},
	{"50 ms log-normal", func(r *rand.Rand) time.Duration { // its deviation is 1.3 times its mean
		return scaled(50*time.Millisecond, math.Exp(r.NormFloat64()-0.5))
	}, 50 * time.Millisecond},
}

func scaled(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }

func holds(s Size) []hold {
	if s.Quick {
		return []hold{short, uneven[1]}
	}
	var all []hold
	for _, ms := range []int{0, 5, 50, 1000} {
		d := time.Duration(ms) * time.Millisecond
		all = append(all, hold{fmt.Sprintf("%d ms", ms), fixed(d), d})
	}
	return append(all, uneven...)
}

func contenders(s Size) []int {
	switch {
	case s.Quick:
		return []int{8}
	case s.Most:
		return []int{2, 8, 32, 128}
	}
	return []int{2, 8, 32}
}

// placement says where contenders are.
type placement int

const (
	inOneProcess placement = iota // independent clients
	inProcesses                   // a process each
	inOneClient                   // goroutines
)

func contend(s Size, h hold, n int, where placement) Variant {
	v := Variant{
		Name: fmt.Sprintf("%s, %d contenders", h.name, n), Group: h.name, X: float64(n),
		Measure: func(ctx context.Context, t *Trial) (Values, error) {
			clients, err := t.contenders(ctx, n, where)
			if err != nil {
				return nil, err
			}
			return t.contend(ctx, s, clients, h)
		},
	}
	if where != inProcesses {
		v.Most = h.most(s, n)
	}
	return v
}

// most bounds the units of n contenders. A turn takes at least two requests more than the
// hold, and waiters look more often in longer turns. Each contender has a few cycles of
// its own, and sends a heartbeat every few seconds.
func (h hold) most(s Size, n int) capacity.Count {
	before, measured := h.window(s)
	lasts := (before + measured).Seconds()
	cycles := lasts/(h.mean.Seconds()+0.004) + 4*float64(n)
	heartbeats := float64(n) * lasts / 5
	return units(cycles, 12, 60+h.mean.Seconds()*200, n+1).Add(units(heartbeats, 1, 0, 0))
}

// contenders opens n clients, and uses each once.
func (t *Trial) contenders(ctx context.Context, n int, where placement) ([]Client, error) {
	process, first, err := t.client(ctx, defaultLease)
	if err != nil {
		return nil, err
	}
	clients := []Client{first}
	for len(clients) < n {
		client := first
		switch where {
		case inOneProcess:
			client, err = process.Open(ctx, defaultLease)
		case inProcesses:
			_, client, err = t.client(ctx, defaultLease)
		}
		if err != nil {
			return nil, err
		}
		clients = append(clients, client)
	}
	err = Each(n, 16, func(i int) error {
		_, _, err := cycle(ctx, clients[i], fmt.Sprintf("warm-%d", i))
		return err
	})
	if err != nil {
		return nil, err
	}
	_, _, err = cycle(ctx, first, "busy")
	return clients, err
}

// window returns how long to let contenders find their rhythm, and how long to measure.
func (h hold) window(s Size) (before, measured time.Duration) {
	if s.Quick {
		return 300 * time.Millisecond, time.Second
	}
	return 500*time.Millisecond + 10*h.mean, 3*time.Second + 30*h.mean
}

// contend lets clients want one lock until the window is over.
func (t *Trial) contend(ctx context.Context, s Size, clients []Client, h hold) (Values, error) {
	before, measured := h.window(s)
	ctx, stop := context.WithTimeout(ctx, before+measured)
	defer stop()
	queue := &queue{}
	var loops sync.WaitGroup
	for _, client := range clients {
		random := rand.New(rand.NewPCG(t.Random.Uint64(), t.Random.Uint64()))
		loops.Go(func() {
			for ctx.Err() == nil {
				queue.turn(ctx, client, func() error { return pause(ctx, h.next(random)) })
			}
		})
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return nil, err
		}
	}
	_ = pause(ctx, before)
	window, since := stats.Window{From: time.Now()}, t.count()
	<-ctx.Done()
	window.To = time.Now()
	v := Values{}
	turns, failure := queue.result()
	t.spent(v, since, stats.Cycles(turns, window))
	loops.Wait()
	if failure != nil {
		return nil, failure
	}
	t.describe(v, turns, window, t.Slack)
	return v, nil
}

// describe adds what the turns show. Two calls that are closer than slack count as
// simultaneous.
func (t *Trial) describe(v Values, turns []stats.Turn, window stats.Window, slack time.Duration) {
	cycles := stats.Cycles(turns, window)
	handOvers := stats.Milliseconds(stats.HandOvers(turns, window))
	if len(handOvers) > 0 {
		v["mean"], v["p50"], v["p99"] = stats.Mean(handOvers), stats.Quantile(handOvers, 0.5), stats.Quantile(handOvers, 0.99)
		v["longest"] = stats.Quantile(handOvers, 1)
	}
	if after := stats.Milliseconds(stats.AfterRelease(turns, window)); len(after) > 0 {
		v["after"] = stats.Mean(after)
	}
	v["cycles"] = float64(cycles) / window.To.Sub(window.From).Seconds()
	if cycles > 0 {
		v["overtook"] = 100 * float64(stats.Overtakes(turns, window, slack)) / float64(cycles)
	}
	v["overlaps"] = float64(stats.Overlaps(turns))
}

// queue records the turns of all contenders.
type queue struct {
	mu    sync.Mutex
	turns []stats.Turn // guarded by mu
	err   error        // guarded by mu; the first
}

// turn waits for the lock "busy", holds it, and releases it.
func (q *queue) turn(ctx context.Context, client Client, hold func() error) {
	n := q.add(stats.Turn{Called: time.Now()})
	turn, err := client.Acquire(ctx, "busy")
	if err != nil {
		q.fail(ctx, err)
		return
	}
	q.change(n, func(t *stats.Turn) { t.Granted = turn.Granted })
	if hold() != nil {
		return
	}
	q.change(n, func(t *stats.Turn) { t.Released = time.Now() })
	if err := turn.Release(ctx); err != nil {
		q.fail(ctx, err)
		return
	}
	q.change(n, func(t *stats.Turn) { t.Ended = time.Now() })
}

func (q *queue) add(t stats.Turn) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turns = append(q.turns, t)
	return len(q.turns) - 1
}

func (q *queue) change(n int, f func(*stats.Turn)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f(&q.turns[n])
}

// fail records an error that is not the end of the measurement.
func (q *queue) fail(ctx context.Context, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if ctx.Err() == nil && q.err == nil {
		q.err = err
	}
}

func (q *queue) result() ([]stats.Turn, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]stats.Turn(nil), q.turns...), q.err
}

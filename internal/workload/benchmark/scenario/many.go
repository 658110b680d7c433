package scenario

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/queuelock/queuelock/internal/workload/benchmark/capacity"
	"github.com/queuelock/queuelock/internal/workload/benchmark/stats"
)

// manyKeys is one client with many locks that no other client wants.
var manyKeys = Scenario{
	Name: "many-keys", Title: "Many keys",
	About: "Goroutines of one client acquire and release 200 keys in turn, without contention. The network limits 4 of them. 16 are limited by the cores, if client and engine share two. The processor time of the client is the user and system time of its process during the cycles. The engine's includes nothing of the proxy between the two.",
	Ratio: "cycles",
	Columns: append([]Column{
		{"cycles", "cycles/s", 0},
		{"processor", "processor seconds for 1,000 cycles: client", 2}, {"engine", "engine", 2},
	}, costColumns...),
	Variants: func(s Size) []Variant {
		var all []Variant
		for _, n := range pick(s, []int{16}, []int{4, 16}) {
			work := Work{Keys: 200, Concurrency: n, Seconds: pick(s, 1.5, 8), Most: pick(s, 4000, 1250*n)}
			all = append(all, Variant{
				Name: fmt.Sprintf("%d keys, %d goroutines", work.Keys, n),
				Measure: func(ctx context.Context, t *Trial) (Values, error) {
					return measureManyKeys(ctx, t, work)
				},
				Most: units(float64(work.Most+work.Keys), 2.2, 0.1, 2*work.Keys),
			})
		}
		return all
	},
}

func measureManyKeys(ctx context.Context, t *Trial, work Work) (Values, error) {
	_, client, err := t.client(ctx, defaultLease)
	if err != nil {
		return nil, err
	}
	warm := work
	warm.Seconds = 0 // each key once
	if _, err := client.Cycles(ctx, warm); err != nil {
		return nil, err
	}
	before, busy := t.count(), t.engine()
	done, err := client.Cycles(ctx, work)
	if err != nil {
		return nil, err
	}
	v := Values{
		"cycles":    float64(done.Cycles) / done.Seconds,
		"processor": done.CPUSeconds * 1000 / float64(done.Cycles),
	}
	if used := t.engine() - busy; !math.IsNaN(used) {
		v["engine"] = used * 1000 / float64(done.Cycles)
	}
	t.spent(v, before, done.Cycles)
	return v, nil
}

// held is many locks in one process.
var held = Scenario{
	Name: "held", Title: "Many locks held by one process",
	About:   "One client holds many locks, with leases of ten minutes so that none is lost while the others are acquired. Memory is the heap after a collection and the stacks of goroutines, less what the process had before, with the client and its pool of connections.",
	Columns: []Column{{"memory", "KB each", 1}, {"goroutines", "goroutines each", 1}, {"acquire", "seconds to acquire all", 1}},
	Ratio:   "memory",
	Variants: func(s Size) []Variant {
		n := pick(s, 500, 10000)
		return []Variant{{Name: thousands(n) + " held", Measure: func(ctx context.Context, t *Trial) (Values, error) {
			return measureHeld(ctx, t, n)
		}}}
	},
}

// heldLease is that of held.
const heldLease = 10 * time.Minute

func measureHeld(ctx context.Context, t *Trial, n int) (Values, error) {
	process, client, err := t.client(ctx, heldLease)
	if err != nil {
		return nil, err
	}
	before, err := baseline(ctx, t, process, client)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	turns := make([]Turn, n)
	err = Each(n, 64, func(i int) error {
		var err error
		turns[i], err = client.Acquire(ctx, fmt.Sprintf("held-%d", i))
		return err
	})
	if err != nil {
		return nil, err
	}
	v := Values{"acquire": time.Since(begun).Seconds()}
	if err := grown(ctx, v, process, before, n); err != nil {
		return nil, err
	}
	// A lock that was lost needs less memory: the oldest must still be held.
	return v, Each(100, 10, func(i int) error { return turns[i].Release(ctx) })
}

// baseline fills a client's pool of connections and returns what its process needs then.
func baseline(ctx context.Context, t *Trial, process Process, client Client) (Usage, error) {
	const connections = 256
	err := Each(connections, connections, func(i int) error {
		_, _, err := cycle(ctx, client, fmt.Sprintf("warm-%d", i))
		return err
	})
	if err != nil {
		return Usage{}, err
	}
	if err := settle(ctx, t); err != nil {
		return Usage{}, err
	}
	return process.Usage(ctx)
}

// grown adds to v what the process needs for each of n more than before.
func grown(ctx context.Context, v Values, process Process, before Usage, n int) error {
	after, err := process.Usage(ctx)
	if err != nil {
		return err
	}
	v["memory"] = (float64(after.Memory) - float64(before.Memory)) / 1024 / float64(n)
	if after.Goroutines >= 0 {
		v["goroutines"] = float64(after.Goroutines-before.Goroutines) / float64(n)
	}
	return nil
}

// waiting is many waiters of one lock in one process.
var waiting = Scenario{
	Name: "waiting", Title: "Many waiters in one process",
	About:   "Goroutines of one client wait for a lock that a client of another process holds. Goroutines include the one in which the caller waits. Requests and units are those of all waiters together, while nothing changes: this library renews rows, and the others look at the lock. One item, and one partition, of DynamoDB takes 1,000 write units or 3,000 read units a second; this engine has no such limit.",
	Columns: append([]Column{{"memory", "KB each", 1}, {"goroutines", "goroutines each", 1}}, Column{"requests", "requests/s", 0}, Column{"write units", "write units/s", 0}, Column{"read units", "read units/s", 0}),
	Ratio:   "memory",
	Variants: func(s Size) []Variant {
		var all []Variant
		for _, n := range pick(s, []int{200}, []int{2000, 10000}) {
			all = append(all, Variant{Name: thousands(n) + " waiting", Measure: func(ctx context.Context, t *Trial) (Values, error) {
				return measureWaiting(ctx, t, n, pick(s, 700*time.Millisecond, 10*time.Second))
			}})
		}
		return all
	},
}

func measureWaiting(ctx context.Context, t *Trial, n int, watched time.Duration) (Values, error) {
	_, holder, err := t.client(ctx, defaultLease)
	if err != nil {
		return nil, err
	}
	if _, err := holder.Acquire(ctx, "busy"); err != nil {
		return nil, err
	}
	process, client, err := t.client(ctx, defaultLease)
	if err != nil {
		return nil, err
	}
	before, err := baseline(ctx, t, process, client)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for i := range n {
		go func() { _, _ = client.Acquire(ctx, "busy") }() // until the worker is killed
		if i%100 == 99 {
			if err := pause(ctx, 100*time.Millisecond); err != nil { // a thousand a second
				return nil, err
			}
		}
	}
	if err := pause(ctx, watched+time.Duration(n)*time.Millisecond); err != nil {
		return nil, err
	}
	since, begun := t.count(), time.Now()
	if err := pause(ctx, watched); err != nil {
		return nil, err
	}
	v := Values{}
	t.rates(v, since, time.Since(begun))
	return v, grown(ctx, v, process, before, n)
}

// rates adds costs a second to v.
func (t *Trial) rates(v Values, since capacity.Count, passed time.Duration) {
	if t.Count == nil {
		return
	}
	c := t.count().Sub(since)
	v["requests"] = float64(c.Requests) / passed.Seconds()
	v["write units"] = c.WriteUnits / passed.Seconds()
	v["read units"] = c.ReadUnits / passed.Seconds()
}

// settleBriefly waits until requests have become rare: waiters that poll never end theirs.
func settleBriefly(ctx context.Context, t *Trial) error {
	end := time.Now().Add(wavePause * 2)
	for before := t.count(); time.Now().Before(end); {
		if err := pause(ctx, wavePause/2); err != nil {
			return err
		}
		now := t.count()
		if now.Requests-before.Requests < 10 {
			return nil
		}
		before = now
	}
	return nil
}

// drain is many waiters that are let in one after the other.
var drain = Scenario{
	Name: "drain", Title: "Draining a queue of waiters",
	About:   "Waiters of eight clients in one process are let in one after the other. Each releases at once. They come in waves, with half a second between two, and here a grant overtook if a waiter of an earlier wave was still waiting. A subject that needs more than the limit of time is stopped, and its values are those of the turns until then.",
	Columns: append([]Column{{"turns", "turns/s", 1}, {"share", "% of the waiters served", 0}, {"overtook", "grants that overtook, of 100", 1}}, costColumns...),
	Ratio:   "turns",
	Variants: func(s Size) []Variant {
		n, limit := pick(s, 50, 1000), pick(s, 2*time.Second, time.Minute)
		return []Variant{{
			Name: fmt.Sprintf("%s waiters, at most %.0f s", thousands(n), limit.Seconds()),
			Measure: func(ctx context.Context, t *Trial) (Values, error) {
				return measureDrain(ctx, t, n, limit)
			},
			Most: units(float64(n+50), 15, 40, 10),
		}}
	},
}

// Waiters come in waves, because so many calls at a time take longer than usual to reach
// the table, and their order is not known until they do.
const (
	waves     = 5
	wavePause = 500 * time.Millisecond
)

func measureDrain(ctx context.Context, t *Trial, n int, limit time.Duration) (Values, error) {
	const width = 8
	clients, err := t.contenders(ctx, width, inOneProcess)
	if err != nil {
		return nil, err
	}
	_, holder, err := t.client(ctx, defaultLease)
	if err != nil {
		return nil, err
	}
	first, err := holder.Acquire(ctx, "busy")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	queue, ended := &queue{}, make(chan struct{}, n)
	for i := range n {
		go func() {
			queue.turn(ctx, clients[i%width], func() error { return nil })
			ended <- struct{}{}
		}()
		space := 2 * time.Millisecond
		if (i+1)%(n/waves) == 0 {
			space = wavePause
		}
		if err := pause(ctx, space); err != nil {
			return nil, err
		}
	}
	if err := settleBriefly(ctx, t); err != nil {
		return nil, err
	}
	since := t.count()
	window := stats.Window{From: time.Now()}
	if err := first.Release(ctx); err != nil {
		return nil, err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
waiting:
	for range n {
		select {
		case <-ended:
		case <-timer.C:
			break waiting
		}
	}
	window.To = time.Now()
	turns, err := queue.result()
	if err != nil {
		return nil, err
	}
	v := Values{}
	t.describe(v, turns, window, wavePause-10*time.Millisecond)
	served := stats.Cycles(turns, window)
	t.spent(v, since, served)
	v["turns"], v["share"] = v["cycles"], 100*float64(served)/float64(n)
	return v, nil
}

// Package scenario has what is measured: one function for each scenario, which measures
// one subject once.
//
// A scenario starts processes and opens clients in them. What these are is the caller's
// choice: see [Process].
package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/workload/benchmark/capacity"
)

// Scenario is one kind of measurement.
type Scenario struct {
	Name  string
	Title string
	About string // for the page: what is measured

	Variants func(Size) []Variant
	Columns  []Column
	// Ratio names the column whose ratio to the first subject is reported. Empty for
	// none.
	Ratio string
}

// Variant is a scenario with its numbers.
type Variant struct {
	Name    string
	Measure func(context.Context, *Trial) (Values, error)
	// Most is what this library may spend at most, deleting the keys included, where a
	// request takes 2 ms or more. It is several times what is usual. Zero for a scenario
	// that needs processes.
	Most capacity.Count
	// Group and X place the variant in a plot.
	Group string
	X     float64
}

// Column is a value of a measurement.
type Column struct {
	Name   string // as in Values
	Title  string
	Digits int
}

// Values are the results of one measurement. What could not be measured is absent.
type Values map[string]float64

// Cost returns what a cycle costs. The number of requests is rounded up.
func (v Values) Cost() capacity.Count {
	return capacity.Count{Requests: int(math.Ceil(v["requests"])), WriteUnits: v["write units"], ReadUnits: v["read units"]}
}

// Size says how much is measured.
type Size struct {
	Quick bool
	Most  bool // also 128 contenders
}

// pick returns a if the size is the quick one, otherwise b.
func pick[T any](s Size, a, b T) T {
	if s.Quick {
		return a
	}
	return b
}

// All lists the scenarios in the order of the page.
var All = []Scenario{
	idle, firstOfProcess, firstOfKey, contended, longTurn, processes, goroutines, crowd, manyKeys, crash, noWait, drain, held, waiting,
}

// ForLibrary returns the scenarios that measure this library without processes of their
// own.
func ForLibrary() []Scenario {
	return slices.DeleteFunc(slices.Clone(All), func(s Scenario) bool {
		return slices.ContainsFunc(s.Variants(Size{}), func(v Variant) bool { return v.Most == capacity.Count{} })
	})
}

// Most returns what the scenarios may spend at most.
func Most(scenarios []Scenario, s Size, repetitions int) capacity.Count {
	var sum capacity.Count
	for _, sc := range scenarios {
		for _, v := range sc.Variants(s) {
			sum = sum.Add(v.Most.Times(repetitions))
		}
	}
	return sum
}

// units returns the bound of n operations that spend so many units each, in requests of
// one unit, and of deleting so many keys.
func units(n, write, read float64, keys int) capacity.Count {
	write, read = math.Ceil(n*write)+float64(2*keys), math.Ceil(n*read)+float64(keys)
	return capacity.Count{Requests: int(write + read), WriteUnits: write, ReadUnits: read}
}

// Trial is one measurement of one subject. Its keys are its own.
type Trial struct {
	Start     func() (Process, error) // starts a process; the trial ends it
	Count     func() capacity.Count   // what the subject's requests have cost so far; nil if they are not counted
	Engine    func() (float64, bool)  // processor seconds of the engine so far; nil if they are not known
	RoundTrip time.Duration           // that of a request
	Slack     time.Duration           // two calls that are closer count as simultaneous
	Random    *rand.Rand              // the same for each subject

	mu        sync.Mutex
	processes []Process // guarded by mu
}

// defaultLease is that of all scenarios but crash and held.
const defaultLease = 60 * time.Second

// count is Count, or zero if nothing is counted.
func (t *Trial) count() capacity.Count {
	if t.Count == nil {
		return capacity.Count{}
	}
	return t.Count()
}

// engine is Engine, or no number if that is not known.
func (t *Trial) engine() float64 {
	if t.Engine == nil {
		return math.NaN()
	}
	seconds, ok := t.Engine()
	if !ok {
		return math.NaN()
	}
	return seconds
}

// start starts a process, which Close ends.
func (t *Trial) start() (Process, error) {
	p, err := t.Start()
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.processes = append(t.processes, p)
	return p, nil
}

// Close ends all processes.
func (t *Trial) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = Each(len(t.processes), len(t.processes), func(i int) error {
		t.processes[i].End()
		return nil
	})
}

// client starts a process with one client.
func (t *Trial) client(ctx context.Context, lease time.Duration) (Process, Client, error) {
	p, err := t.start()
	if err != nil {
		return nil, nil, err
	}
	c, err := p.Open(ctx, lease)
	return p, c, err
}

// spent adds a cost for each of n cycles to v. A subject whose requests are not counted
// has none.
func (t *Trial) spent(v Values, since capacity.Count, n int) {
	if t.Count == nil || n == 0 {
		return
	}
	v.cost(t.count().Sub(since), n)
}

// cost adds what each of n cycles has cost.
func (v Values) cost(c capacity.Count, n int) {
	v["requests"] = float64(c.Requests) / float64(n)
	v["write units"] = c.WriteUnits / float64(n)
	v["read units"] = c.ReadUnits / float64(n)
}

// columns of the cost of a cycle.
var costColumns = []Column{{"requests", "requests", 1}, {"write units", "write units", 1}, {"read units", "read units", 1}}

// cycle acquires and releases a lock, and returns the time of each.
func cycle(ctx context.Context, c Client, key string) (acquire, release time.Duration, err error) {
	begun := time.Now()
	turn, err := c.Acquire(ctx, key)
	if err != nil {
		return 0, 0, err
	}
	acquired := time.Now()
	err = turn.Release(ctx)
	return turn.Granted.Sub(begun), time.Since(acquired), err
}

// settle waits until background requests of earlier cycles have ended.
func settle(ctx context.Context, t *Trial) error {
	for before := t.count(); ; {
		if err := pause(ctx, 10*t.RoundTrip+20*time.Millisecond); err != nil {
			return err
		}
		now := t.count()
		if now == before {
			return nil
		}
		before = now
	}
}

func pause(ctx context.Context, d time.Duration) error {
	retry.Sleep(ctx, d)
	return ctx.Err()
}

// Each calls f for 0 to n-1, at most width at a time, and returns their errors.
func Each(n, width int, f func(i int) error) error {
	errs := make([]error, n)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(n, width) {
		workers.Go(func() {
			for i := range next {
				errs[i] = f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
	return errors.Join(errs...)
}

func thousands(n int) string {
	if n >= 1000 {
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	return fmt.Sprint(n)
}

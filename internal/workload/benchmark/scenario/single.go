package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/workload/benchmark/stats"
)

var cycleColumns = append([]Column{{"acquire", "acquire, ms", 1}, {"release", "release, ms", 1}}, costColumns...)

// idle is a lock that is free and was used before, by a client that was used before.
var idle = Scenario{
	Name: "idle", Title: "An idle lock",
	About:    "One client acquires and releases a lock that no other client wants. Means of a cycle.",
	Columns:  cycleColumns,
	Ratio:    "acquire",
	Variants: func(s Size) []Variant { return single(pick(s, 20, 100), measureIdle, 3, 1) },
}

// firstOfProcess is the first cycle of a new process, of a lock that was used before.
var firstOfProcess = Scenario{
	Name: "first-of-process", Title: "The first cycle of a process",
	About:    "A new process opens its client and acquires and releases a lock that was used before. The time of the acquire includes that of connections, but not that of the start of the process and the opening of the client. The requests include those of opening.",
	Columns:  cycleColumns,
	Ratio:    "acquire",
	Variants: func(s Size) []Variant { return single(pick(s, 2, 10), measureFirstOfProcess, 3, 2) },
}

// firstOfKey is the first cycle of a key, by a client that was used before.
var firstOfKey = Scenario{
	Name: "first-of-key", Title: "The first use of a key",
	About:    "One client, which was used before, acquires and releases locks that were never used.",
	Columns:  cycleColumns,
	Ratio:    "acquire",
	Variants: func(s Size) []Variant { return single(pick(s, 10, 50), measureFirstOfKey, 3, 2) },
}

// single returns the only variant of a scenario that does something n times, which costs
// at most so many units each time.
func single(n int, measure func(ctx context.Context, t *Trial, n int) (Values, error), write, read float64) []Variant {
	const first = 10 // cycles before the measurement
	return []Variant{{
		Measure: func(ctx context.Context, t *Trial) (Values, error) { return measure(ctx, t, n) },
		Most:    units(float64(n+first), write, read, n+first),
	}}
}

// cycles are times of several cycles.
type cycles struct{ acquire, release []time.Duration }

func (c *cycles) add(acquire, release time.Duration) {
	c.acquire, c.release = append(c.acquire, acquire), append(c.release, release)
}

func (c *cycles) values() Values {
	return Values{
		"acquire": stats.Mean(stats.Milliseconds(c.acquire)), "release": stats.Mean(stats.Milliseconds(c.release)),
	}
}

func measureIdle(ctx context.Context, t *Trial, n int) (Values, error) {
	return oneClient(ctx, t, n, func(int) string { return "used" })
}

func measureFirstOfKey(ctx context.Context, t *Trial, n int) (Values, error) {
	return oneClient(ctx, t, n, func(i int) string { return fmt.Sprintf("new-%d", i) })
}

func oneClient(ctx context.Context, t *Trial, n int, key func(i int) string) (Values, error) {
	_, client, err := t.client(ctx, defaultLease)
	if err != nil {
		return nil, err
	}
	for range 3 {
		if _, _, err := cycle(ctx, client, "used"); err != nil {
			return nil, err
		}
	}
	if err := settle(ctx, t); err != nil {
		return nil, err
	}
	before := t.count()
	var all cycles
	for i := range n {
		acquire, release, err := cycle(ctx, client, key(i))
		if err != nil {
			return nil, err
		}
		all.add(acquire, release)
	}
	if err := settle(ctx, t); err != nil {
		return nil, err
	}
	v := all.values()
	t.spent(v, before, n)
	return v, nil
}

func measureFirstOfProcess(ctx context.Context, t *Trial, n int) (Values, error) {
	_, client, err := t.client(ctx, defaultLease)
	if err != nil {
		return nil, err
	}
	if _, _, err := cycle(ctx, client, "used"); err != nil {
		return nil, err
	}
	if err := settle(ctx, t); err != nil {
		return nil, err
	}
	before := t.count()
	var all cycles
	for range n {
		_, client, err := t.client(ctx, defaultLease)
		if err != nil {
			return nil, err
		}
		acquire, release, err := cycle(ctx, client, "used")
		if err != nil {
			return nil, err
		}
		all.add(acquire, release)
	}
	if err := settle(ctx, t); err != nil {
		return nil, err
	}
	v := all.values()
	t.spent(v, before, n)
	return v, nil
}

// noWait is an attempt at a lock that another client holds.
var noWait = Scenario{
	Name: "nowait", Title: "An attempt at a busy lock, without waiting",
	About:   "A client asks for a lock that another client holds, and gives up at once.",
	Columns: append([]Column{{"attempt", "attempt, ms", 1}}, costColumns...),
	Ratio:   "attempt",
	Variants: func(s Size) []Variant {
		return single(pick(s, 10, 50), measureNoWait, 2, 1)
	},
}

func measureNoWait(ctx context.Context, t *Trial, n int) (Values, error) {
	process, holder, err := t.client(ctx, defaultLease)
	if err != nil {
		return nil, err
	}
	if _, _, err := cycle(ctx, holder, "warm"); err != nil {
		return nil, err
	}
	if _, err := holder.Acquire(ctx, "busy"); err != nil {
		return nil, err
	}
	other, err := process.Open(ctx, defaultLease)
	if err != nil {
		return nil, err
	}
	if _, _, err := cycle(ctx, other, "warm"); err != nil {
		return nil, err
	}
	if err := settle(ctx, t); err != nil {
		return nil, err
	}
	before := t.count()
	var times []time.Duration
	for range n {
		begun := time.Now()
		_, granted, err := other.Try(ctx, "busy")
		if err != nil {
			return nil, err
		}
		if granted {
			return nil, errors.New("the lock was granted twice")
		}
		times = append(times, time.Since(begun))
	}
	v := Values{"attempt": stats.Mean(stats.Milliseconds(times))}
	t.spent(v, before, n)
	return v, nil
}

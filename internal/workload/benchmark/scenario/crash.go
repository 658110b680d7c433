package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/workload/benchmark/stats"
)

// crashLease is the lease of holders that crash.
const crashLease = 3 * time.Second

// crash is a holder that is killed while another client waits.
var crash = Scenario{
	Name: "crash", Title: "From a crash to the next holder",
	About:   "A process holds locks with a lease of 3 s and is killed. A client of another process waits for each. The locks were acquired just before, so nearly the whole lease is left: the worst case.",
	Columns: []Column{{"median", "median, s", 2}, {"max", "max, s", 2}},
	Ratio:   "median",
	Variants: func(s Size) []Variant {
		n := pick(s, 4, 8)
		return []Variant{{
			Name: fmt.Sprintf("lease of %.0f s, %d locks", crashLease.Seconds(), n),
			Measure: func(ctx context.Context, t *Trial) (Values, error) {
				return measureCrash(ctx, t, n)
			},
			Most: units(float64(n), 60, 150, 2*n),
		}}
	},
}

func measureCrash(ctx context.Context, t *Trial, n int) (Values, error) {
	holders, waiters, err := t.crew(ctx, n)
	if err != nil {
		return nil, err
	}
	err = Each(n, n, func(i int) error {
		_, err := holders.clients[i].Acquire(ctx, keyOf(i))
		return err
	})
	if err != nil {
		return nil, err
	}
	granted := make([]time.Time, n)
	waits := make(chan error)
	go func() {
		waits <- Each(n, n, func(i int) error {
			turn, err := waiters.clients[i].Acquire(ctx, keyOf(i))
			granted[i] = turn.Granted
			return err
		})
	}()
	_ = pause(ctx, 10*t.RoundTrip) // until they wait
	killed := time.Now()
	holders.process.Kill()
	if err := <-waits; err != nil {
		return nil, err
	}
	var times []float64
	for i, at := range granted {
		if at.Before(killed) {
			return nil, fmt.Errorf("%s was granted while it was held", keyOf(i))
		}
		times = append(times, at.Sub(killed).Seconds())
	}
	return Values{"median": stats.Median(times), "max": slices.Max(times)}, nil
}

func keyOf(i int) string { return fmt.Sprintf("key-%d", i) }

// fleet is a process and its clients.
type fleet struct {
	process Process
	clients []Client
}

// crew starts the process that crashes and the one that waits.
func (t *Trial) crew(ctx context.Context, n int) (holders, waiters fleet, err error) {
	for _, f := range []*fleet{&holders, &waiters} {
		if f.process, err = t.start(); err != nil {
			return holders, waiters, err
		}
		for i := range n {
			client, err := f.process.Open(ctx, crashLease)
			if err == nil {
				_, _, err = cycle(ctx, client, "warm-"+keyOf(i))
			}
			if err != nil {
				return holders, waiters, err
			}
			f.clients = append(f.clients, client)
		}
	}
	return holders, waiters, nil
}

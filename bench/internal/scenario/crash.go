package scenario

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/bench/internal/stats"
)

// crashLease is the lease of holders that crash.
const crashLease = 3 * time.Second

// crash is a holder that is killed while another client waits.
var crash = Scenario{
	Name: "crash", Title: "From a crash to the next holder",
	About:   "A process holds locks with a lease of 3 s and is killed. A client of another process waits for each. The locks were acquired at different times, so their last heartbeats are spread over the interval of heartbeats.",
	Columns: []Column{{"median", "median, s", 2}, {"max", "max, s", 2}},
	Ratio:   "median",
	Variants: func(s Size) []Variant {
		n := pick(s, 4, 8)
		return []Variant{{Name: "3 s lease", Measure: func(ctx context.Context, t *Trial) (Values, error) { return measureCrash(ctx, t, n) }}}
	},
}

func measureCrash(ctx context.Context, t *Trial, n int) (Values, error) {
	site := t.Site
	site.Lease = crashLease
	holders, err := t.Start()
	if err != nil {
		return nil, err
	}
	waiters, err := t.Start()
	if err != nil {
		return nil, err
	}
	granted := make([]time.Time, n)
	errs := make([]error, n)
	var waits sync.WaitGroup
	for i := range n {
		key := fmt.Sprintf("key-%d", i)
		holder, err := holders.Open(ctx, site)
		if err != nil {
			return nil, err
		}
		waiter, err := waiters.Open(ctx, site)
		if err != nil {
			return nil, err
		}
		if _, err := holder.Acquire(ctx, key); err != nil {
			return nil, err
		}
		waits.Go(func() {
			turn, err := waiter.Acquire(ctx, key)
			granted[i], errs[i] = turn.Granted, err
		})
		if err := pause(ctx, crashLease/time.Duration(2*n)); err != nil {
			return nil, err
		}
	}
	if err := pause(ctx, crashLease/4); err != nil {
		return nil, err
	}
	killed := time.Now()
	holders.Kill()
	waits.Wait()
	var times []float64
	for i := range n {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if granted[i].Before(killed) {
			return nil, fmt.Errorf("%s was granted while it was held", fmt.Sprintf("key-%d", i))
		}
		times = append(times, granted[i].Sub(killed).Seconds())
	}
	return Values{"median": stats.Median(times), "max": slices.Max(times)}, nil
}

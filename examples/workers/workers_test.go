package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
)

const (
	calls   = 3
	period  = time.Second
	latency = 200 * time.Millisecond // of a call
)

// api is the interface whose calls are limited. Every second call arrives late.
type api struct {
	mu          sync.Mutex
	inside, max int
	begun       int
	arrived     []time.Time
	jobs        []string // that were done
	first       chan struct{}
}

func newAPI() *api { return &api{first: make(chan struct{})} }

func (a *api) call(ctx context.Context, job string) error {
	a.mu.Lock()
	a.begun++
	if a.begun == 1 {
		close(a.first)
	}
	way := latency * time.Duration(a.begun%2)
	a.inside++
	a.max = max(a.max, a.inside)
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.inside--
	}()
	select {
	case <-time.After(way):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	a.mu.Lock()
	a.arrived, a.jobs = append(a.arrived, time.Now()), append(a.jobs, job)
	a.mu.Unlock()
	<-time.After(latency - way)
	return nil
}

// check finds neither more calls at the same time nor more in a period than admitted.
func (a *api) check(t *testing.T) {
	t.Helper()
	if a.max > calls {
		t.Errorf("%d calls at the same time, admitted are %d", a.max, calls)
	}
	slices.SortFunc(a.arrived, time.Time.Compare)
	for i := range a.arrived[min(calls, len(a.arrived)):] {
		if gap := a.arrived[i+calls].Sub(a.arrived[i]); gap < period {
			t.Errorf("%d calls arrived within %v", calls+1, gap)
		}
	}
}

func newPool(t *testing.T, table *queuelocktest.Table, name string) (pool, *queuelocktest.Client) {
	net := table.Client(name)
	locks, err := queuelock.New(net, table.Name(), queuelock.Config{Owner: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := locks.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return pool{workers: 4, limit: limit{api: "geocoder", calls: calls, period: period, locks: locks}}, net
}

// jobs returns ten jobs.
func jobs(name string) <-chan string {
	all := make(chan string, 10)
	for i := range cap(all) {
		all <- fmt.Sprint(name, "-", i)
	}
	close(all)
	return all
}

// TestWorkers runs the pools of several processes beside each other.
func TestWorkers(t *testing.T) {
	t.Run("KeepTheLimit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table, a, done := queuelocktest.NewTable(t), newAPI(), make(chan error)
			for i := range 3 {
				name := fmt.Sprint("process-", i)
				p, _ := newPool(t, table, name)
				go func() { done <- p.run(t.Context(), jobs(name), a.call) }()
			}
			if err := errors.Join(<-done, <-done, <-done); err != nil {
				t.Error(err)
			}
			a.check(t)
			if a.max < calls {
				t.Errorf("at most %d calls at the same time, want all %d permits used", a.max, calls)
			}
			slices.Sort(a.jobs)
			if all := len(slices.Compact(a.jobs)); all != 30 || len(a.arrived) != 30 {
				t.Errorf("%d of 30 jobs were done in %d calls", all, len(a.arrived))
			}
		})
	})
	t.Run("KeepTheLimitAfterALoss", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table, a := queuelocktest.NewTable(t), newAPI()
			p1, net := newPool(t, table, "first")
			p2, _ := newPool(t, table, "second")
			first, second := make(chan error, 1), make(chan error, 1)
			go func() { first <- p1.run(t.Context(), jobs("first"), a.call) }()
			<-a.first
			net.Partition()
			go func() { second <- p2.run(t.Context(), jobs("second"), a.call) }()
			if err := <-second; err != nil {
				t.Error(err)
			}
			if err := <-first; !errors.Is(err, queuelock.ErrUnavailable) {
				t.Errorf("%v, want the jobs without a permit", err)
			}
			a.check(t)
			net.Heal()
		})
	})
	t.Run("EndWithTheirContext", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p, _ := newPool(t, queuelocktest.NewTable(t), "first")
			ctx, cancel := context.WithCancel(t.Context())
			endless := make(chan string, 1) // stays open
			endless <- "job"
			err := p.run(ctx, endless, func(context.Context, string) error { cancel(); return nil })
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want that it was cancelled", err)
			}
		})
	})
}

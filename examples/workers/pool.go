package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// limit admits so many calls in each period, over all processes. Calls come in the order
// in which they asked. The period is shorter than the lease, Config.TTL.
type limit struct {
	api    string
	calls  int
	period time.Duration
	locks  *queuelock.Client
}

// do waits for a permit and makes the call. It keeps the permit for one period after the
// call: the next call with this permit then arrives at least a period later, however
// long the first was on its way.
func (l limit) do(ctx context.Context, call func(context.Context) error) error {
	return l.locks.Do(ctx, queuelock.Key{Entity: l.api, Reason: "calls"}, waitpolicy.Forever,
		func(ctx context.Context, permit *queuelock.Lock) error {
			err := call(ctx)
			select {
			case <-time.After(l.period):
			case <-permit.Context().Done(): // lost: its lease was longer than the period
			}
			return err
		}, queuelock.Permits(l.calls))
}

// pool does jobs in several workers.
type pool struct {
	workers int
	limit   limit
}

// run makes a call for each job until all are done or ctx ends. It returns the errors of
// the jobs that failed; a failed job may have been done.
func (p pool) run(ctx context.Context, jobs <-chan string, call func(context.Context, string) error) error {
	var (
		all    sync.WaitGroup
		mu     sync.Mutex
		failed []error
	)
	for range p.workers {
		all.Go(func() {
			for job := range until(ctx, jobs) {
				err := p.limit.do(ctx, func(ctx context.Context) error { return call(ctx, job) })
				if err != nil {
					mu.Lock()
					failed = append(failed, fmt.Errorf("job %q: %w", job, err))
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return errors.Join(append(failed, context.Cause(ctx))...)
}

// until yields jobs until there are no more or ctx ends.
func until(ctx context.Context, jobs <-chan string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for {
			select {
			case job, ok := <-jobs:
				if !ok || !yield(job) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

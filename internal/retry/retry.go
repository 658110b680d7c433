// Package retry repeats requests that failed, with growing pauses, until they succeed
// or time is up.
package retry

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/grace"
	"github.com/queuelock/queuelock/internal/random"
)

// Policy decides which requests are repeated, and for how long.
type Policy struct {
	Retryable func(err error) bool // whether a request that failed with err may succeed later
	Timeout   time.Duration        // of failures, counted from the first; zero: none
	Grace     time.Duration        // how long a request under way may outlive ctx; zero: not at all
	OnRetry   func(err error)      // receives each retryable error before the pause; nil: nothing
	Schedule  *Schedule            // in place of Timeout: makes several calls one series of attempts
}

// Do calls request until it succeeds, fails with an error that is not retryable, or time
// is up. It returns the last error, which ctx may have caused.
func (p Policy) Do(ctx context.Context, request func(ctx context.Context) error) error {
	schedule := p.Schedule
	if schedule == nil {
		schedule = For(p.Timeout)
	}
	for {
		err := p.try(ctx, request)
		if err == nil || !p.Retryable(err) {
			return err
		}
		if p.OnRetry != nil {
			p.OnRetry(err)
		}
		if !schedule.Pause(ctx) {
			return err
		}
	}
}

func (p Policy) try(ctx context.Context, request func(ctx context.Context) error) error {
	if p.Grace > 0 {
		extended, cancel := grace.Context(ctx, p.Grace)
		defer cancel()
		ctx = extended
	}
	return request(ctx)
}

// Schedule spaces attempts: 50 ms after the first failure, then twice as long each
// time up to 2 s, with random variation. It is not safe for concurrent use.
type Schedule struct {
	timeout time.Duration
	end     time.Time     // of all series; zero: none
	begun   time.Time     // the first failure of the series; zero: none yet
	delay   time.Duration // after the last failure
}

// For returns a Schedule that ends when failures have gone on for timeout, counted
// from the first. Zero never ends.
func For(timeout time.Duration) *Schedule { return &Schedule{timeout: timeout} }

// Until returns a Schedule that ends at that time.
func Until(end time.Time) *Schedule { return &Schedule{end: end} }

// Pause waits before the next attempt. It returns false at once if the timeout or the end
// would pass during the wait, or ctx has ended.
func (s *Schedule) Pause(ctx context.Context) bool {
	if s.begun.IsZero() {
		s.begun, s.delay = time.Now(), 50*time.Millisecond
	} else {
		s.delay = min(2*s.delay, 2*time.Second)
	}
	now := time.Now()
	if ctx.Err() != nil || s.timeout != 0 && now.Sub(s.begun)+s.delay > s.timeout {
		return false
	}
	pause := random.Around(ctx, s.delay)
	return (s.end.IsZero() || now.Add(pause).Before(s.end)) && Sleep(ctx, pause)
}

// Reset ends a series of failures: the timeout and the delays begin again.
func (s *Schedule) Reset() { s.begun = time.Time{} }

// Sleep waits for d. It returns false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// Package retry repeats requests that failed, with growing pauses, until they succeed
// or time is up.
package retry

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/queuelock/queuelock/internal/grace"
	"github.com/queuelock/queuelock/internal/random"
)

// Policy decides which requests are repeated, and for how long.
type Policy struct {
	// Retryable reports whether a request that failed with err may succeed later.
	Retryable func(err error) bool
	// Timeout limits how long failures go on, counted from the first. Zero: no limit.
	Timeout time.Duration
	// Grace is how long a request under way may outlive ctx. Zero: not at all.
	Grace time.Duration
	// OnRetry receives each retryable error, before the pause. Nil: nothing.
	OnRetry func(err error)
	// Schedule spaces the attempts of several calls as one series, in place of
	// Timeout. Nil: each call is a series of its own.
	Schedule *Schedule
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
	delays  *backoff.ExponentialBackOff
	failing bool // the timeout runs
}

// For returns a Schedule that ends when failures have gone on for timeout, counted
// from the first. Zero never ends.
func For(timeout time.Duration) *Schedule {
	return &Schedule{delays: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(50*time.Millisecond),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(2*time.Second),
		backoff.WithRandomizationFactor(0), // Pause does that
		backoff.WithMaxElapsedTime(timeout),
	)}
}

// Pause waits before the next attempt. It returns false at once if the timeout has
// passed or ctx has ended.
func (s *Schedule) Pause(ctx context.Context) bool {
	if !s.failing {
		s.failing = true
		s.delays.Reset()
	}
	delay := s.delays.NextBackOff()
	if delay == backoff.Stop || ctx.Err() != nil {
		return false
	}
	return Sleep(ctx, random.Around(ctx, delay))
}

// Reset ends a series of failures: the timeout and the delays begin again.
func (s *Schedule) Reset() { s.failing = false }

// Sleep waits for d. It returns false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

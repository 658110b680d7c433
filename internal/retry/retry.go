// Package retry is the rhythm of attempts at a table that does not answer.
package retry

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/queuelock/queuelock/internal/random"
)

// Schedule spaces attempts: 50 ms after the first failure, twice that after
// the next, at most 2 s, each shortened or lengthened at random. It is not
// safe for concurrent use.
type Schedule struct {
	delays  *backoff.ExponentialBackOff
	failing bool // patience runs
}

// For returns a Schedule that gives up when failures have gone on for
// patience, counted from the first; zero never does.
func For(patience time.Duration) *Schedule {
	return &Schedule{delays: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(50*time.Millisecond),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(2*time.Second),
		backoff.WithRandomizationFactor(0), // Pause does that
		backoff.WithMaxElapsedTime(patience),
	)}
}

// Pause waits before the next attempt. It returns false, at once, if patience
// or ctx is over.
func (s *Schedule) Pause(ctx context.Context) bool {
	if !s.failing {
		s.failing = true
		s.delays.Reset()
	}
	delay := s.delays.NextBackOff()
	if delay == backoff.Stop || ctx.Err() != nil {
		return false
	}
	timer := time.NewTimer(random.Around(ctx, delay))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Reset starts the schedule anew, after a time without failures.
func (s *Schedule) Reset() { s.failing = false }

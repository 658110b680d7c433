// Package retry repeats requests that failed, with growing pauses, until they succeed
// or time is up. It lets a request outlive its caller's context for a limited time: a
// write whose answer is not awaited has an unknown outcome, and its clean-up costs more
// than the wait.
//
// The pauses grow and end by a backoff.ExponentialBackOff. The loop of backoff.Retry is not
// used: most attempts are steps of a state machine, and it returns ctx's error in place of
// the last one.
package retry

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/queuelock/queuelock/internal/random"
)

// Policy decides which requests are repeated, and for how long.
type Policy struct {
	Retryable func(err error) bool // whether a request that failed with err may succeed later; nil: never
	OnRetry   func(err error)      // receives each retryable error before the pause; nil: nothing
	// of one series of attempts, which may be several calls; nil: each Do has an endless one
	Schedule *Schedule
}

// Within returns the policy for one series of attempts, whose Schedule is For(timeout).
func (p Policy) Within(timeout time.Duration) Policy {
	p.Schedule = For(timeout)
	return p
}

// Answer is Do for a request with an answer, and returns the last.
func Answer[T any](ctx context.Context, p Policy, request func(ctx context.Context) (T, error)) (answer T, err error) {
	err = p.Do(ctx, func(ctx context.Context) (err error) {
		answer, err = request(ctx)
		return err
	})
	return answer, err
}

// Do calls request until it succeeds, fails with an error that is not retryable, or time
// is up. It returns the last error, which ctx may have caused.
func (p Policy) Do(ctx context.Context, request func(ctx context.Context) error) error {
	if p.Schedule == nil {
		p.Schedule = For(0)
	}
	for {
		if err := request(ctx); err == nil || !p.Again(ctx, err) {
			return err
		}
	}
}

// Again waits before the next attempt, and returns true. It returns false if a request that
// failed with err is not to be repeated, or by the Schedule.
func (p Policy) Again(ctx context.Context, err error) bool {
	if p.Retryable == nil || !p.Retryable(err) {
		return false
	}
	if p.OnRetry != nil {
		p.OnRetry(err)
	}
	return p.Schedule.Pause(ctx)
}

// Outlive returns a context with the values of ctx that ends a period after ctx, or when
// cancel is called. If ctx has ended already, the period begins now.
func Outlive(ctx context.Context, period time.Duration) (extended context.Context, cancel context.CancelFunc) {
	extended, end := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() { time.AfterFunc(period, end) })
	return extended, func() { unhook(); end() }
}

// Schedule spaces attempts: the first pause is short, and each one after it is twice as
// long, up to the longest, with random variation. It is not safe for concurrent use.
type Schedule struct {
	backoff backoff.ExponentialBackOff // without its jitter, which no seed repeats
	begun   bool                       // the series has failed
	end     time.Time                  // of all series; zero: none
}

// Between returns a Schedule with pauses between these, which never ends.
func Between(first, longest time.Duration) *Schedule {
	return &Schedule{backoff: backoff.ExponentialBackOff{
		InitialInterval: first, Multiplier: 2, MaxInterval: longest, Stop: backoff.Stop, Clock: backoff.SystemClock,
	}}
}

// For returns a Schedule, with pauses from 50 ms to 2 s, that ends when failures have
// gone on for timeout, counted from the first. Zero never ends.
func For(timeout time.Duration) *Schedule {
	s := Between(50*time.Millisecond, 2*time.Second)
	s.backoff.MaxElapsedTime = timeout
	return s
}

// Until is For with an end at that time.
func Until(end time.Time) *Schedule {
	s := For(0)
	s.end = end
	return s
}

// Pause waits before the next attempt. It returns false at once if the end would pass during
// the wait, or the timeout during a wait without variation, or ctx has ended.
func (s *Schedule) Pause(ctx context.Context) bool {
	pause, ok := s.Next(ctx)
	return ok && ctx.Err() == nil && (s.end.IsZero() || time.Now().Add(pause).Before(s.end)) && Sleep(ctx, pause)
}

// Next returns the pause before the next attempt; false: there is none.
func (s *Schedule) Next(ctx context.Context) (pause time.Duration, ok bool) {
	if !s.begun {
		s.backoff.Reset()
		s.begun = true
	}
	next := s.backoff.NextBackOff()
	if next == backoff.Stop {
		return 0, false
	}
	return random.Around(ctx, next), true
}

// Reset ends a series of failures: the timeout and the delays begin again.
func (s *Schedule) Reset() { s.begun = false }

// Sleep waits for d. It returns false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// Package retry repeats requests that failed, with growing pauses, until they succeed
// or time is up. It lets a request outlive its caller's context for a limited time: a
// write whose answer is not awaited has an unknown outcome, and its clean-up costs more
// than the wait.
package retry

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/random"
)

// Policy decides which requests are repeated, and for how long.
type Policy struct {
	Retryable func(err error) bool // whether a request that failed with err may succeed later; nil: never
	Timeout   time.Duration        // of failures, counted from the first; zero: none
	Grace     time.Duration        // how long a request under way may outlive ctx; zero: not at all
	OnRetry   func(err error)      // receives each retryable error before the pause; nil: nothing
	Schedule  *Schedule            // in place of Timeout: makes several calls one series of attempts
}

// Within returns the policy with that Timeout.
func (p Policy) Within(timeout time.Duration) Policy {
	p.Timeout = timeout
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
	schedule := p.Schedule
	if schedule == nil {
		schedule = For(p.Timeout)
	}
	for {
		err := p.try(ctx, request)
		if err == nil || p.Retryable == nil || !p.Retryable(err) {
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
		extended, cancel := Outlive(ctx, p.Grace)
		defer cancel()
		ctx = extended
	}
	return request(ctx)
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
	first, longest time.Duration

	timeout time.Duration
	end     time.Time     // of all series; zero: none
	begun   time.Time     // the first failure of the series; zero: none yet
	delay   time.Duration // after the last failure
}

// Between returns a Schedule with pauses between these, which never ends.
func Between(first, longest time.Duration) *Schedule {
	return &Schedule{first: first, longest: longest}
}

// For returns a Schedule, with pauses from 50 ms to 2 s, that ends when failures have
// gone on for timeout, counted from the first. Zero never ends.
func For(timeout time.Duration) *Schedule {
	s := Between(50*time.Millisecond, 2*time.Second)
	s.timeout = timeout
	return s
}

// Until is For with an end at that time.
func Until(end time.Time) *Schedule {
	s := For(0)
	s.end = end
	return s
}

// Pause waits before the next attempt. It returns false at once if the timeout or the end
// would pass during the wait, or ctx has ended.
func (s *Schedule) Pause(ctx context.Context) bool {
	if s.begun.IsZero() {
		s.begun, s.delay = time.Now(), s.first
	} else {
		s.delay = min(2*s.delay, s.longest)
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

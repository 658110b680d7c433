// Package dbclock estimates the time on DynamoDB's clock.
//
// Leases end at a time on that clock, so hosts need not agree on theirs. A host
// that is ten minutes fast neither evicts early nor believes in its own lease for
// longer.
//
// Each answer carries the server's date in whole seconds (RFC 9110, section
// 6.6.1). The server read its clock between the sending of the request and the
// arrival of the answer, which bounds the offset between its clock and the local
// monotonic one. The true offset lies in the interval of every answer, so their
// intersection narrows to well below a second.
//
// # Promises
//
// An estimate is an interval, not a time. A client that ends another owner's lease
// uses the earliest time in it. A client that writes the end of its own lease uses
// the latest.
//
// The wall clock of the host is never used, only differences of its monotonic
// reading.
//
// # Does not promise
//
//   - That there is an estimate. Before the first answer, and with an engine that
//     sends no date, there is none. Leases are then judged by observation (package
//     lease).
//   - That it is narrow. Dates that contradict each other leave an interval that
//     contains all of them, until the next answer.
//   - That it is right if the dates are wrong. No lease is ended by an estimate that
//     was contradicted within the length of that lease (Settled).
package dbclock

import (
	"sync"
	"time"
)

const (
	// drift is the largest difference in rate between the two clocks. Ordinary
	// quartz stays within 100 ppm, and NTP slews by at most 500 ppm.
	drift = 500e-6

	// skew is the largest difference between the clocks of DynamoDB's own hosts.
	// Without it, the dates of two hosts could contradict each other.
	skew = 100 * time.Millisecond

	// resolution of the Date header.
	resolution = time.Second

	// fresh is how long an estimate is good enough to begin a lease with. It
	// widens by less than a second in that time.
	fresh = 15 * time.Minute
)

// Estimate is the interval that contains the offset of DynamoDB's clock from the
// local monotonic one. The zero Estimate knows nothing.
type Estimate struct {
	// DynamoDB's clock read between low and high at the local instant at.
	low, high time.Time
	at        time.Time
	// disputed is the local instant of the last answer whose date contradicted
	// earlier ones. Zero if there was none.
	disputed time.Time
	// torn reports that the last answer contradicted earlier ones. The answer that
	// decides between them contradicts one of them too.
	torn bool
}

// Narrow adds an answer that has this date. Its request was sent, and the answer
// received, at these local instants.
func (e Estimate) Narrow(sent, received, date time.Time) Estimate {
	// When the server read its clock, it showed at least date and less than date
	// plus the resolution. At received it showed at least date, and at most the
	// resolution and the round trip more.
	trip := received.Sub(sent)
	low, high := date.Add(-skew), date.Add(resolution+trip+slack(trip)+skew)
	answer := Estimate{low: low, high: high, at: received}
	if e.at.IsZero() {
		return answer
	}
	old := e.widen(received)
	if old.low.After(low) {
		low = old.low
	}
	if old.high.Before(high) {
		high = old.high
	}
	disputed, torn := old.disputed, false
	if high.Before(low) || old.torn {
		if disputed.Before(received) {
			disputed = received
		}
	}
	if high.Before(low) {
		torn = true
		// A date was wrong, or the local clock stopped while the host was suspended.
		// Nothing shows which, so the interval contains both. The next answer
		// narrows it.
		low, high = old.low, old.high
		if answer.low.Before(low) {
			low = answer.low
		}
		if answer.high.After(high) {
			high = answer.high
		}
	}
	return Estimate{low: low, high: high, at: old.at, disputed: disputed, torn: torn}
}

// widen moves the estimate to another local instant, and allows for drift in
// between. Answers of concurrent requests may arrive out of order, so the instant
// may be an earlier one.
func (e Estimate) widen(at time.Time) Estimate {
	elapsed := at.Sub(e.at)
	e.low, e.high, e.at = e.low.Add(elapsed-slack(elapsed)), e.high.Add(elapsed+slack(elapsed)), at
	return e
}

// slack returns how far the two clocks may drift apart in that time.
func slack(elapsed time.Duration) time.Duration {
	return time.Duration(float64(elapsed.Abs()) * drift)
}

// At returns the interval of DynamoDB's time at a local instant, or false if no
// answer had a date.
func (e Estimate) At(local time.Time) (earliest, latest time.Time, ok bool) {
	if e.at.IsZero() {
		return time.Time{}, time.Time{}, false
	}
	w := e.widen(local)
	return w.low, w.high, true
}

// Settled returns the earliest time of At, for a client that judges another
// owner's lease of that length. It returns false if there is no estimate, or if a
// date contradicted earlier ones within that length before local: DynamoDB's clock
// may have been set ahead after the owner computed the end of its lease. Within
// one length the owner has renewed by the new clock, or has lost the lease by its
// own.
func (e Estimate) Settled(local time.Time, length time.Duration) (earliest time.Time, ok bool) {
	earliest, _, ok = e.At(local)
	return earliest, ok && (e.disputed.IsZero() || local.Sub(e.disputed) >= length)
}

// Clock keeps the Estimate of one table. It is safe for concurrent use, makes
// no request and starts no goroutine.
type Clock struct {
	mu       sync.Mutex
	estimate Estimate // guarded by mu
	answered bool     // guarded by mu
}

// New returns a Clock without an estimate.
func New() *Clock { return &Clock{} }

// Observe adds an answer. See Estimate.Narrow.
func (c *Clock) Observe(sent, received, date time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.estimate = c.estimate.Narrow(sent, received, date)
}

// Answered records that a request was answered, with a date or without.
func (c *Clock) Answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered = true
}

// Stale reports whether a lease that begins at a local instant should wait for
// the date of one more answer. This is so before the first answer, fifteen minutes
// after the last one, and while the last date contradicts earlier ones. A lease
// ends late by the width of the estimate, so a client that was idle for a month
// would write leases of twenty minutes.
func (c *Clock) Stale(local time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.estimate.at.IsZero() {
		return !c.answered
	}
	return c.estimate.torn || local.Sub(c.estimate.at) >= fresh
}

// Instant is a moment on the local clock and on DynamoDB's clock.
type Instant struct {
	local    time.Time
	earliest time.Time // zero if DynamoDB's clock was not known
}

// Mark returns a local instant, for Since.
func (c *Clock) Mark(local time.Time) Instant {
	earliest, _, _ := c.At(local)
	return Instant{local: local, earliest: earliest}
}

// Since returns the longest time that can have passed since an instant. It uses
// DynamoDB's clock too, because the local one stops while the host is suspended.
func (c *Clock) Since(i Instant, now time.Time) time.Duration {
	passed := now.Sub(i.local)
	if _, latest, ok := c.At(now); ok && !i.earliest.IsZero() {
		passed = max(passed, latest.Sub(i.earliest))
	}
	return passed
}

// At returns the interval of DynamoDB's time at a local instant, or false if it is
// not known. See Estimate.At.
func (c *Clock) At(local time.Time) (earliest, latest time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.estimate.At(local)
}

// Settled returns the earliest time on DynamoDB's clock at a local instant, to
// judge a lease of that length. See Estimate.Settled.
func (c *Clock) Settled(local time.Time, length time.Duration) (earliest time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.estimate.Settled(local, length)
}

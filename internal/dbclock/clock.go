// Package dbclock estimates what time it is at DynamoDB.
//
// Leases end at a time on DynamoDB's clock, so that hosts need not agree on
// theirs: a host that is ten minutes fast neither evicts early nor believes
// in its own lease for longer. Each answer carries the server's date, in
// whole seconds (RFC 9110, section 6.6.1). The server read its clock at some
// moment between the sending of the request and the arrival of the answer:
// that bounds the offset between its clock and the local monotonic one. Each
// answer gives such an interval, and the true offset lies in all of them, so
// their intersection narrows to well below a second.
//
// It promises bounds, not a time: whoever ends somebody else's lease asks for
// the earliest time it can be, whoever writes an end for its own asks for the
// latest. It does not promise to have an estimate: before the first answer, and
// with an engine that sends no date, there is none, and leases are then judged
// by observation (package lease). Nor that it is narrow: dates that contradict
// each other leave an estimate that allows for all of them, until the next
// answer. Nor that it is right if the dates are not: so nobody's lease is ended
// by an estimate that was contradicted within that lease (Settled).
//
// The local clock's wall time is never used, only differences on its
// monotonic reading.
package dbclock

import (
	"sync"
	"time"
)

const (
	// drift is how much the two clocks may run apart, as a fraction. Ordinary
	// quartz stays within 100 ppm, and NTP slews by at most 500 ppm.
	drift = 500e-6

	// skew is how far DynamoDB's own hosts may be from the clock they stand
	// for. Without it, two that differ by more than the last bit of what is
	// known would contradict each other.
	skew = 100 * time.Millisecond

	// resolution of the Date header.
	resolution = time.Second

	// fresh is for how long an estimate is good enough to begin a lease by: it
	// grows by less than a second meanwhile.
	fresh = 15 * time.Minute
)

// Estimate is the interval in which the offset of DynamoDB's clock from the
// local monotonic one lies. It is a value; the zero Estimate knows nothing.
type Estimate struct {
	// DynamoDB's clock read between low and high at the local instant at,
	// had it run exactly like the local one since.
	low, high time.Time
	at        time.Time
	// disputed is the local instant of the last answer whose date contradicted
	// the earlier ones; zero if none did.
	disputed time.Time
	// torn says that the last answer did so, and nothing has decided between
	// them yet: the one that does is a contradiction too, of one of them.
	torn bool
}

// Narrow adds what one answer says: a request was sent and its answer
// received at these local instants, and the answer was dated date.
func (e Estimate) Narrow(sent, received, date time.Time) Estimate {
	// Read between sent and received, the clock showed date and less than
	// date plus the resolution. So at received it showed at least date, and
	// at most a second and the whole round trip more, as its own clock ran.
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
		// The two contradict each other: a date was wrong, or the local clock
		// stood still while the host was suspended. Nothing says which, so both
		// are possible. Whoever ends others' leases then takes the earlier,
		// whoever writes its own end the later, and the next answer narrows it.
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

// widen carries the estimate to another local instant. Answers of concurrent
// requests may be reported out of order: it then goes backwards, and allows
// for the drift of that stretch as well.
func (e Estimate) widen(at time.Time) Estimate {
	elapsed := at.Sub(e.at)
	e.low, e.high, e.at = e.low.Add(elapsed-slack(elapsed)), e.high.Add(elapsed+slack(elapsed)), at
	return e
}

// slack is by how much the two clocks may run apart in that time.
func slack(elapsed time.Duration) time.Duration {
	return time.Duration(float64(elapsed.Abs()) * drift)
}

// At says between which times DynamoDB's clock stands at a local instant, or
// false if no answer had a date.
func (e Estimate) At(local time.Time) (earliest, latest time.Time, ok bool) {
	if e.at.IsZero() {
		return time.Time{}, time.Time{}, false
	}
	w := e.widen(local)
	return w.low, w.high, true
}

// Settled is the earliest time of At, for whoever judges somebody else's lease
// of that length; false if it is not known, or if within that length before
// local a date contradicted the earlier ones. DynamoDB's clock may then have
// been set ahead after the owner reckoned the end of its lease. Within one
// length the owner has renewed it by the new clock, or has lost it by its own.
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

// Observe adds an answer; see Estimate.Narrow.
func (c *Clock) Observe(sent, received, date time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.estimate = c.estimate.Narrow(sent, received, date)
}

// Answered says that a request was answered, with a date or without.
func (c *Clock) Answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered = true
}

// Stale reports whether a lease that begins at a local instant should wait for
// the date of one more answer: no request was answered yet, none was for a
// quarter of an hour, or the last date contradicted the earlier ones. A lease
// would end late by as much as the estimate is wide, so a client that was idle
// for a month would write leases of twenty minutes.
func (c *Clock) Stale(local time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.estimate.at.IsZero() {
		return !c.answered
	}
	return c.estimate.torn || local.Sub(c.estimate.at) >= fresh
}

// Instant is a moment on the local clock and on DynamoDB's.
type Instant struct {
	local    time.Time
	earliest time.Time // zero if DynamoDB's clock was not known
}

// Mark returns a local instant, for Since.
func (c *Clock) Mark(local time.Time) Instant {
	earliest, _, _ := c.At(local)
	return Instant{local: local, earliest: earliest}
}

// Since returns the most time that can have passed since an instant: by
// DynamoDB's clock too, because the local one stops while the host is suspended.
func (c *Clock) Since(i Instant, now time.Time) time.Duration {
	passed := now.Sub(i.local)
	if _, latest, ok := c.At(now); ok && !i.earliest.IsZero() {
		passed = max(passed, latest.Sub(i.earliest))
	}
	return passed
}

// At says between which times DynamoDB's clock stands at a local instant, or
// false if that is not known.
func (c *Clock) At(local time.Time) (earliest, latest time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.estimate.At(local)
}

// Settled is the earliest time that it can be at DynamoDB at a local instant,
// for judging a lease of that length; see Estimate.Settled.
func (c *Clock) Settled(local time.Time, length time.Duration) (earliest time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.estimate.Settled(local, length)
}

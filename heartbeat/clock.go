package heartbeat

import (
	"slices"
	"sync"
	"time"
)

const (
	// drift is the largest difference in rate between the two clocks. Ordinary quartz
	// stays within 100 ppm, and NTP slews by at most 500 ppm.
	drift = 500e-6
	// skew is the largest difference between the clocks of DynamoDB's own hosts, whose
	// dates could otherwise contradict each other.
	skew       = 100 * time.Millisecond
	resolution = time.Second // of the Date header
	// fresh is how long an estimate is good enough to begin a lease with. It widens by less than a second in that time.
	fresh = 15 * time.Minute
)

// Clock estimates the time on DynamoDB's clock for one table. It is safe for concurrent use, makes no request and
// starts no goroutine. The zero Clock has no estimate.
//
// Each answer carries the server's date in whole seconds (RFC 9110, section 6.6.1). The server read its clock between
// the sending of the request and the arrival of the answer, which bounds the offset between its clock and the local
// monotonic one. The true offset lies in the interval of every answer, so their intersection narrows to well below a
// second. Dates that contradict each other leave an interval that contains all of them, until the next answer. No lease
// is ended by an estimate that was contradicted within the length of that lease (Settled).
//
// A client that ends another owner's lease uses the earliest time in the interval. A client that writes the end of its
// own lease uses the latest. Of the host's clock, only differences of its monotonic reading are used.
type Clock struct {
	mu        sync.Mutex // guards all fields
	low, high time.Time  // DynamoDB's clock read between them at the local instant at
	at        time.Time  // zero without an estimate
	disputed  time.Time  // local instant of the last contradiction; zero: none
	torn      bool       // the last date contradicted earlier ones
	undated   time.Time  // local instant of the last answer without a date; zero: none
}

// Observe adds an answer that has this date. Its request was sent, and the answer received, at these local instants.
func (c *Clock) Observe(sent, received, date time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// When the server read its clock, it showed at least date and less than date plus
	// the resolution. At received it showed at most the round trip more.
	trip := received.Sub(sent)
	low, high := date.Add(-skew), date.Add(resolution+trip+slack(trip)+skew)
	if c.at.IsZero() {
		c.low, c.high, c.at = low, high, received
		return
	}
	oldLow, oldHigh := c.bounds(received)
	wasTorn := c.torn
	c.low, c.high, c.at = later(low, oldLow), earlier(high, oldHigh), received
	c.torn = c.high.Before(c.low)
	if c.torn {
		// A date was wrong, or the local clock stopped while the host was suspended.
		// Nothing shows which, so the interval contains both until the next answer.
		c.low, c.high = earlier(low, oldLow), later(high, oldHigh)
	}
	if c.torn || wasTorn { // the answer that decides contradicts one of the two
		c.disputed = later(c.disputed, received)
	}
}

// bounds moves the interval to another local instant, and allows for drift in between.
// Concurrent answers arrive out of order, so the instant may be an earlier one. c.mu is held.
func (c *Clock) bounds(local time.Time) (low, high time.Time) {
	elapsed := local.Sub(c.at)
	return c.low.Add(elapsed - slack(elapsed)), c.high.Add(elapsed + slack(elapsed))
}

// slack returns how far the two clocks may drift apart in that time.
func slack(elapsed time.Duration) time.Duration {
	return time.Duration(float64(elapsed.Abs()) * drift)
}

func earlier(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }
func later(times ...time.Time) time.Time   { return slices.MaxFunc(times, time.Time.Compare) }

// Undated records that an answer without a date was received at a local instant.
func (c *Clock) Undated(received time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.undated = later(c.undated, received)
}

// Needed reports whether a request must be sent for its date before a lease begins at a local instant. It is needed
// before the first date, fifteen minutes after the last one, and while the last one contradicts earlier ones. A lease
// ends late by the width of the estimate, so a client that was idle for a month would write leases of twenty minutes.
// It is not needed for fifteen minutes after an answer that had no date: the next one would have none.
func (c *Clock) Needed(local time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && !c.torn && local.Sub(c.at) < fresh {
		return false
	}
	return !c.undated.After(c.at) || local.Sub(c.undated) >= fresh
}

// At returns the interval of DynamoDB's time at a local instant, or false if no answer had a date.
func (c *Clock) At(local time.Time) (earliest, latest time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return time.Time{}, time.Time{}, false
	}
	earliest, latest = c.bounds(local)
	return earliest, latest, true
}

// Settled returns the earliest time of At, to judge another owner's lease of that length. It returns false without an
// estimate, and if a date contradicted earlier ones within that length before local: DynamoDB's clock may have been set
// ahead after the owner computed the end. Within one length the owner renews by the new clock, or loses the lease by
// its own.
func (c *Clock) Settled(local time.Time, length time.Duration) (earliest time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return time.Time{}, false
	}
	earliest, _ = c.bounds(local)
	return earliest, c.disputed.IsZero() || local.Sub(c.disputed) >= length
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

// Middle returns the best guess of DynamoDB's time at a local instant, or zero if it is
// not known. It is for display and for the times of looks only.
func (c *Clock) Middle(local time.Time) time.Time {
	earliest, latest, _ := c.At(local)
	return earliest.Add(latest.Sub(earliest) / 2)
}

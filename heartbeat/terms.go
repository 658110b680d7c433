package heartbeat

import (
	"time"

	"github.com/queuelock/queuelock/queue"
)

// Terms describe an owner's own lease.
type Terms struct {
	TTL      time.Duration
	Interval time.Duration // from one renewal to the next; zero: only the caller renews
	// Margin is how much earlier the owner's deadline is than the end of the lease for other clients. It covers the time
	// between a check and an action, and the difference between the clocks of DynamoDB's own hosts.
	Margin     time.Duration
	Delay      time.Duration // how long the queue stays closed after the end of a lost lease
	FailClosed bool          // endless once the grant is confirmed
	AtLeast    time.Duration // how long the queue stays closed after the grant, whatever becomes of the holder
}

// Margin returns the margin of a lease of that length. The thousandth covers two clocks
// that drift apart by 500 ppm each.
func Margin(ttl time.Duration) time.Duration { return min(ttl/10, 2*time.Second+ttl/1000) }

// Spread is the part of its interval by which a renewal may come earlier, at random.
// Holders of one semaphore that were granted together renew the same item.
const Spread = 0.1

// Begin returns a new lease for a request sent at an instant, and DynamoDB's time at it: see Since.
func (t Terms) Begin(clock *Clock, sent time.Time) (queue.Lease, time.Time) {
	l := queue.Lease{TTL: t.TTL, Until: t.until(clock, sent), Delay: t.Delay, FailClosed: t.FailClosed}
	since := t.Since(clock, sent)
	if l.AtLeast = t.AtLeast; l.AtLeast > 0 && !since.IsZero() {
		l.NotBefore = since.Add(l.AtLeast)
	}
	return l, since
}

// Since returns DynamoDB's time at an instant: what clock.Middle guesses, or the latest that it can be for a queue
// that must not open too early. It is zero while that clock is not known.
func (t Terms) Since(clock *Clock, sent time.Time) time.Time {
	if t.AtLeast == 0 {
		return clock.Middle(sent)
	}
	_, latest, _ := clock.At(sent)
	return latest
}

// until returns the latest possible end, so that no other client ends the lease before
// the owner's deadline. It is zero while DynamoDB's clock is not known.
func (t Terms) until(clock *Clock, sent time.Time) time.Time {
	_, latest, ok := clock.At(sent)
	if !ok {
		return time.Time{}
	}
	return latest.Add(t.TTL)
}

// Deadline returns the owner's deadline on the local monotonic clock, for a lease whose request was sent at an instant.
func (t Terms) Deadline(sent time.Time) time.Time { return sent.Add(t.TTL - t.Margin) }

// OwnerEndsFirst reports whether a lease ends for other clients no sooner than for its owner. Its request was sent at
// sent, with the end until, and has been answered. If the host was suspended before, its clock had stopped, and until
// is too early: the date of the answer shows it.
func (t Terms) OwnerEndsFirst(clock *Clock, until, sent, now time.Time) bool {
	_, latest, ok := clock.At(now)
	return until.IsZero() || !ok || until.Sub(latest) >= t.Deadline(sent).Sub(now)
}

// Renewals are the ends that an owner writes for one lease. They never decrease, so the
// table can refuse a renewal that arrives after a later one: applied, it would let others
// end the lease before the owner's deadline. Renewals is not safe for concurrent use.
type Renewals struct {
	terms Terms
	clock *Clock
	until time.Time // the last end written; zero while DynamoDB's clock was not known
}

// NewRenewals returns those of a lease that began like that.
func NewRenewals(t Terms, clock *Clock, begun queue.Lease) *Renewals {
	return &Renewals{terms: t, clock: clock, until: begun.Until}
}

// Next returns the end to write with a request sent at an instant. It is zero for an
// endless lease, and while DynamoDB's clock is not known.
func (r *Renewals) Next(sent time.Time) time.Time {
	if r.terms.FailClosed {
		return time.Time{}
	}
	if next := r.terms.until(r.clock, sent); next.After(r.until) {
		r.until = next
	}
	return r.until
}

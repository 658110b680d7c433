package lease

import (
	"time"

	"github.com/queuelock/queuelock/internal/dbclock"
)

// Terms are the length of an owner's own lease, and how it is counted.
type Terms struct {
	TTL      time.Duration
	Interval time.Duration // from one renewal to the next
	// Margin is by how much the owner believes in its lease for less than
	// others leave it: it covers the time between asking and acting, and what
	// the clocks of DynamoDB's own hosts differ by.
	Margin time.Duration
	// Delay is for how long others wait after the end of a lease that was lost.
	Delay time.Duration
	// FailClosed says that the lease is to have no end. What it begins with
	// has one, until it is confirmed.
	FailClosed bool
}

// Margin is a tenth of a lease, or less for a long one: two seconds, and a
// thousandth for clocks that run apart while the lease lasts, 500 ppm each.
func Margin(ttl time.Duration) time.Duration { return min(ttl/10, 2*time.Second+ttl/1000) }

// Spread is by which part of its interval a renewal may come earlier. Of many
// holders that were granted at once, as of a semaphore, each renews the same item.
const Spread = 0.1

// Begin is a new lease that is asked for by a request sent at that instant,
// and the time on DynamoDB's clock at which it begins; zero if that clock is
// not known.
func (t Terms) Begin(clock *dbclock.Clock, sent time.Time) (Lease, time.Time) {
	return Lease{TTL: t.TTL, Until: t.until(clock, sent), Delay: t.Delay, FailClosed: t.FailClosed}, Middle(clock, sent)
}

// until errs on the late side: nobody may end the lease before the owner's own
// deadline.
func (t Terms) until(clock *dbclock.Clock, sent time.Time) time.Time {
	_, latest, ok := clock.At(sent)
	if !ok {
		return time.Time{}
	}
	return latest.Add(t.TTL)
}

// Deadline is until when, on the local monotonic clock, the owner may believe
// in a lease that it asked for at that instant.
func (t Terms) Deadline(sent time.Time) time.Time { return sent.Add(t.TTL - t.Margin) }

// Middle is the best guess of DynamoDB's time at a local instant; zero if it
// is not known. It is for people to read.
func Middle(clock *dbclock.Clock, local time.Time) time.Time {
	earliest, latest, ok := clock.At(local)
	if !ok {
		return time.Time{}
	}
	return earliest.Add(latest.Sub(earliest) / 2)
}

// Renewals are the ends that an owner writes for one lease. They never fall,
// so that a renewal which arrives late, after a later one was confirmed, can
// be told by its end and refused: applied, it would let others end the lease
// before its owner's deadline. It is not safe for concurrent use.
type Renewals struct {
	terms Terms
	clock *dbclock.Clock
	until time.Time // the last end written; zero while DynamoDB's clock was not known
}

// NewRenewals continues a lease that began so.
func NewRenewals(t Terms, clock *dbclock.Clock, begun Lease) *Renewals {
	return &Renewals{terms: t, clock: clock, until: begun.Until}
}

// Next is the end to write with a request that is sent at that instant; zero
// if DynamoDB's clock was never known, and of a lease that has no end.
func (r *Renewals) Next(sent time.Time) time.Time {
	if r.terms.FailClosed {
		return time.Time{}
	}
	if next := r.terms.until(r.clock, sent); next.After(r.until) {
		r.until = next
	}
	return r.until
}

// Stands reports whether a lease that was asked for at sent with that end, by
// a request that has been answered, ends for others no sooner than for its
// owner. It does not if the local clock stood still before, as in a suspended
// host: until was reckoned from the time at which it stopped, and the date of
// the answer gives that away.
func (t Terms) Stands(clock *dbclock.Clock, until, sent, now time.Time) bool {
	_, latest, ok := clock.At(now)
	return until.IsZero() || !ok || until.Sub(latest) >= t.Deadline(sent).Sub(now)
}

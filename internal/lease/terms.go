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
}

// Margin is a tenth of a lease, or less for a long one: two seconds, and a
// thousandth for clocks that run apart while the lease lasts, 500 ppm each.
func Margin(ttl time.Duration) time.Duration { return min(ttl/10, 2*time.Second+ttl/1000) }

// Begin is a new lease that is asked for by a request sent at that instant,
// and the time on DynamoDB's clock at which it begins; zero if that clock is
// not known.
func (t Terms) Begin(clock *dbclock.Clock, sent time.Time) (Lease, time.Time) {
	return Lease{TTL: t.TTL, Until: t.until(clock, sent)}, Middle(clock, sent)
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
	sent  time.Time // when that was
}

// NewRenewals continues a lease that began with that request.
func NewRenewals(t Terms, clock *dbclock.Clock, begun Lease, sent time.Time) *Renewals {
	return &Renewals{terms: t, clock: clock, until: begun.Until, sent: sent}
}

// Next is the end to write with a request that is sent at that instant; zero
// if DynamoDB's clock was never known. Where it is not known any more, because
// the dates of answers contradict each other, it is counted on from the last
// end.
func (r *Renewals) Next(sent time.Time) time.Time {
	next := r.terms.until(r.clock, sent)
	if next.IsZero() && !r.until.IsZero() {
		elapsed := sent.Sub(r.sent)
		next = r.until.Add(elapsed + elapsed/2000) // and what the clocks may run apart
	}
	if next.Before(r.until) {
		next = r.until
	}
	r.until, r.sent = next, sent
	return next
}

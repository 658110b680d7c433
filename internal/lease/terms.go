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

// Margin is a tenth of a lease, and at most two seconds.
func Margin(ttl time.Duration) time.Duration { return min(ttl/10, 2*time.Second) }

// Until is the end, on DynamoDB's clock, of a lease that is asked for by a
// request sent at that instant; zero if that clock is not known. It errs on
// the late side: nobody may end the lease before the owner's own deadline.
func (t Terms) Until(clock *dbclock.Clock, sent time.Time) time.Time {
	_, latest, ok := clock.At(sent)
	if !ok {
		return time.Time{}
	}
	return latest.Add(t.TTL)
}

// Begin is a new lease, and the time on DynamoDB's clock at which it begins;
// zero if that is not known.
func (t Terms) Begin(clock *dbclock.Clock, sent time.Time) (Lease, time.Time) {
	return Lease{TTL: t.TTL, Until: t.Until(clock, sent)}, Middle(clock, sent)
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

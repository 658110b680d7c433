package lease

import (
	"maps"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/dbclock"
)

// forget is how long a sighting is kept beyond the length of its lease, so that a caller
// that tries a busy lock now and then can learn that its holder has crashed. With more
// than crowd sightings they are not kept that long. If DynamoDB's clock judges the lease,
// the sighting is of little use: it is kept for forget alone, however long the lease is.
const (
	forget = 10 * time.Minute
	crowd  = 10_000
)

// Observer remembers the beat of each lease that was seen, and judges it. It is safe for
// concurrent use, sends no request and starts no goroutine.
type Observer struct {
	clock           *dbclock.Clock
	observationOnly bool // and not by clock

	mu     sync.Mutex
	seen   map[string]sighting // guarded by mu
	pruned time.Time           // guarded by mu
}

type sighting struct {
	beat        int64
	until       time.Time
	first, last time.Time // monotonic
	length      time.Duration
	shared      bool // this client has written it into the entry, or tried to
}

func NewObserver(clock *dbclock.Clock, observationOnly bool) *Observer {
	return &Observer{clock: clock, observationOnly: observationOnly, seen: map[string]sighting{}}
}

// See records a lease that was read at an instant, and returns the shortest time until it
// and its lock delay end. Zero or less means that they have ended. See returns Forever for
// a lease without a length. The ids of holders and rows are never reused.
func (o *Observer) See(id string, l Lease, readAt time.Time) time.Duration {
	if l.Length() == Forever {
		return Forever
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.prune(readAt)
	s, ok := o.seen[id]
	if !ok || s.beat != l.Beat || !s.until.Equal(l.Until) {
		// The end counts as well. A row that was removed early, and put again by a late
		// request, begins at beat zero.
		s = sighting{beat: l.Beat, until: l.Until, first: readAt}
	}
	s.last, s.length = readAt, l.Length()
	o.seen[id] = s
	left := s.length - readAt.Sub(s.first)
	if end := l.End(); !end.IsZero() && !o.observationOnly {
		if earliest, ok := o.clock.Settled(readAt, s.length); ok {
			left = min(left, end.Add(l.Delay).Sub(earliest))
		}
	}
	return left
}

// Share returns the time to write as Seen of a lease that See has recorded: the latest
// that it can be at DynamoDB at an instant after the lease was read. ok is false if the
// lease has an end, if DynamoDB's time is not known well enough, and after the first call
// for a beat. The time is true for that beat however late it is written.
func (o *Observer) Share(id string, l Lease, now time.Time) (at time.Time, ok bool) {
	_, settled := o.clock.Settled(now, l.Length())
	if l.Length() == Forever || !l.End().IsZero() || o.observationOnly || !settled || o.clock.Stale(now) {
		return time.Time{}, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s, ok := o.seen[id]
	if !ok || s.shared || s.beat != l.Beat {
		return time.Time{}, false
	}
	s.shared = true
	o.seen[id] = s
	_, at, ok = o.clock.At(now)
	return at, ok
}

// prune drops sightings of leases that ended long ago. o.mu is held.
func (o *Observer) prune(now time.Time) {
	keep, every := forget, forget
	if len(o.seen) > crowd {
		keep, every = 0, forget/10
	}
	if now.Sub(o.pruned) < every {
		return
	}
	o.pruned = now
	maps.DeleteFunc(o.seen, func(_ string, s sighting) bool {
		if _, settled := o.clock.Settled(now, s.length); settled && !s.until.IsZero() && !o.observationOnly {
			return now.Sub(s.last) > min(s.length+keep, forget)
		}
		return now.Sub(s.last) > s.length+keep
	})
}

package lease

import (
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/dbclock"
)

// forget is for how long, after it was last seen, a sighting is kept beyond
// its length. A caller that tries a busy lock now and then, without waiting,
// thereby learns in the end that its holder is dead.
const forget = 10 * time.Minute

// crowd is how many sightings are too many to be kept that long.
const crowd = 10_000

// Observer remembers which leases were seen with which beat, and judges them.
// It is safe for concurrent use, makes no request and starts no goroutine.
type Observer struct {
	clock           *dbclock.Clock
	observationOnly bool

	mu     sync.Mutex
	seen   map[string]sighting // guarded by mu
	pruned time.Time           // guarded by mu
}

type sighting struct {
	beat        int64
	until       time.Time
	first, last time.Time // monotonic
	length      time.Duration
}

// NewObserver returns an Observer that judges by clock and by observation, or
// by observation alone.
func NewObserver(clock *dbclock.Clock, observationOnly bool) *Observer {
	return &Observer{clock: clock, observationOnly: observationOnly, seen: map[string]sighting{}}
}

// See records that a read which came back at that instant showed the lease,
// and returns how long it lives on at the least: zero or less says that it has
// ended. id names the lease for good: ids of holders and rows are never
// reused. The lock delay counts as part of the lease. Of a lease without a
// length it returns Forever.
func (o *Observer) See(id string, l Lease, readAt time.Time) time.Duration {
	if l.Length() == Forever {
		return Forever
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.prune(readAt)
	s, ok := o.seen[id]
	if !ok || s.beat != l.Beat || !s.until.Equal(l.Until) {
		// The end counts as well: a row that was removed before its time, and
		// put there again by a late request, beats from zero.
		s = sighting{beat: l.Beat, until: l.Until, first: readAt}
	}
	s.last, s.length = readAt, l.Length()
	o.seen[id] = s
	left := s.length - readAt.Sub(s.first)
	if !l.Until.IsZero() && !o.observationOnly {
		if earliest, ok := o.clock.Settled(readAt, s.length); ok {
			left = min(left, l.Until.Add(l.Delay).Sub(earliest))
		}
	}
	return left
}

// prune drops sightings of leases that are long gone; o.mu is held.
func (o *Observer) prune(now time.Time) {
	keep, every := forget, forget
	if len(o.seen) > crowd {
		keep, every = 0, forget/10
	}
	if now.Sub(o.pruned) < every {
		return
	}
	o.pruned = now
	for id, s := range o.seen {
		if now.Sub(s.last) > s.length+keep {
			delete(o.seen, id)
		}
	}
}

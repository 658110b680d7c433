package heartbeat

import (
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/queue"
)

// crowd is how many sightings are kept of leases that are judged by observation. So a caller which tries a busy lock
// now and then, however seldom, learns at its second try that the holder has crashed. If there are more, the oldest
// are dropped, each once its lease was not seen for its length. A sighting of a lease that DynamoDB's clock judges is
// of little use, and is kept for the time forget.
const (
	forget = 10 * time.Minute
	crowd  = 10_000
)

// Observer remembers the beat of each lease that was seen, and judges it. It is safe for
// concurrent use, sends no request and starts no goroutine.
type Observer struct {
	clock           *Clock
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
}

// NewObserver returns an [Observer] that has seen nothing. With observationOnly it never ends a lease by the clock.
func NewObserver(clock *Clock, observationOnly bool) *Observer {
	return &Observer{clock: clock, observationOnly: observationOnly, seen: map[string]sighting{}}
}

// See records a lease that was read at an instant, and returns the shortest time until it
// and its lock delay end. Zero or less means that they have ended. See returns queue.Forever for
// a lease without a length. The ids of holders and rows are never reused.
func (o *Observer) See(id string, l queue.Lease, readAt time.Time) time.Duration {
	if l.Length() == queue.Forever {
		return queue.Forever
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.prune(readAt)
	s, ok := o.seen[id]
	if !ok || s.beat != l.Beat || !s.until.Equal(l.Until) {
		// The end counts as well. A row that was removed early, and put again by a late request, begins at beat zero.
		s = sighting{beat: l.Beat, until: l.Until, first: readAt}
	}
	s.last, s.length = readAt, l.Length()
	o.seen[id] = s
	left := s.length - readAt.Sub(s.first)
	if end := l.End(); !end.IsZero() && !o.observationOnly {
		if earliest, ok := o.clock.Settled(readAt, s.length); ok {
			left = min(left, end.Sub(earliest))
		}
	}
	return left
}

// prune drops sightings that are of no more use, and the oldest of a crowd. o.mu is held.
func (o *Observer) prune(now time.Time) {
	every := forget
	if len(o.seen) > crowd {
		every = forget / 10
	}
	if now.Sub(o.pruned) < every {
		return
	}
	o.pruned = now
	var old []string // by observation alone
	for id, s := range o.seen {
		_, settled := o.clock.Settled(now, s.length)
		switch unseen := now.Sub(s.last); {
		case settled && !s.until.IsZero() && !o.observationOnly:
			if unseen > forget || len(o.seen) > crowd && unseen > min(s.length, forget) {
				delete(o.seen, id)
			}
		case unseen > s.length:
			old = append(old, id)
		}
	}
	if most := crowd * 3 / 4; len(o.seen) > most {
		slices.SortFunc(old, func(a, b string) int { return o.seen[a].last.Compare(o.seen[b].last) })
		for _, id := range old[:min(len(old), len(o.seen)-most)] {
			delete(o.seen, id)
		}
	}
}

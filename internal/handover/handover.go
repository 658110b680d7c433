// Package handover says when a turn has ended: to the waiters of other clients, by their bells, and to those of this one.
package handover

import (
	"log/slog"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/wake"
)

// Ringer has the bells of a client's waits and locks, and what is known of those of its queues. It is safe for concurrent use.
type Ringer struct {
	bells      wake.Bells // nil: there are none
	log        *slog.Logger
	background func(func()) // runs what the client's Close waits for
	unhung     sync.Once    // why one could not be hung was logged

	mu      sync.Mutex
	ended   map[key]time.Time // guarded by mu; when a turn ended last in this process
	trusted map[key]trust     // guarded by mu; without those of 0
	stagger time.Duration     // guarded by mu; see waitpolicy.Rung
}

type key struct{ entity, reason string }

func keyOf(q table.Queue) key { return key{q.Entity, q.Reason} }

// New returns a Ringer of these bells; nil: it has none. What prevents bells is logged once.
func New(b wake.Bells, log *slog.Logger, background func(func())) *Ringer {
	return &Ringer{bells: b, log: log, background: background, ended: map[key]time.Time{}, trusted: map[key]trust{}}
}

// Ends says that a turn has ended.
func (r *Ringer) Ends(of table.Queue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	remember(r.ended, keyOf(of), time.Now())
}

// endedFor is how long the last turn that has ended in this process is remembered.
const endedFor = time.Minute

// Ended returns when a turn of the queue ended last in this process. Zero: none has in the last minute, or it is
// forgotten.
func (r *Ringer) Ended(of table.Queue) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.ended[keyOf(of)]
	if time.Since(at) > endedFor {
		return time.Time{}
	}
	return at
}

// maxQueues bounds the queues of which something is remembered after the waiters have left.
const maxQueues = 1000

// remember sets the value of a queue. If there are too many, a random one is forgotten: with a few queues more than
// that in rotation, most are still known.
func remember[V any](all map[key]V, of key, value V) {
	if _, known := all[of]; !known && len(all) >= maxQueues {
		for other := range all {
			delete(all, other)
			break
		}
	}
	all[of] = value
}

// Bell is where one wait, and then its lock, can be rung. Nil: nowhere.
type Bell struct {
	text string
	stop func()
	mu   sync.Mutex
	rung func() // guarded by mu; what it wakes now; nil: nothing
}

// Hang returns the bell of a new wait. Stop must be called in the end.
func (r *Ringer) Hang() *Bell {
	if r.bells == nil {
		return nil
	}
	b := &Bell{}
	text, stop, err := r.bells.Hang(func() {
		b.mu.Lock()
		rung := b.rung
		b.mu.Unlock()
		if rung != nil {
			rung()
		}
	})
	if err != nil {
		r.unhung.Do(func() { r.log.Warn("queuelock: waiters cannot be rung: they poll", "error", err) })
	}
	if b.stop = sync.OnceFunc(stop); text == "" || len(text) > queue.MaxBell {
		b.stop()
		return nil
	}
	b.text = text
	return b
}

// Text returns what the table says of the bell.
func (b *Bell) Text() string {
	if b == nil {
		return ""
	}
	return b.text
}

// Wakes says what is called, which must not block, when the bell is rung from now on.
func (b *Bell) Wakes(rung func()) {
	if b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.rung = rung
	}
}

// Stop ends the bell.
func (b *Bell) Stop() {
	if b != nil {
		b.stop()
	}
}

// Ring rings a bell of the table, of another client or of this one, in the background.
func (r *Ringer) Ring(bell string) {
	if r.bells != nil && bell != "" {
		r.background(func() { r.bells.Ring(bell) })
	}
}

// Bells reports whether this client rings bells.
func (r *Ringer) Bells() bool { return r.bells != nil }

// trust is what is known of the bells of a queue: 1 if the last turn to end that should have rung a waiter has, 0 if that is not
// known, and less the more bells were rung in vain.
type trust int

const minTrust trust = -5

// after returns the trust after a look: a turn has ended since the last one, or the bell was rung, or both.
func (t trust) after(ended, rung bool) trust {
	switch {
	case !ended:
		return max(min(t, 0)-1, minTrust)
	case rung && t < 0:
		return t + 1
	case rung:
		return 1
	}
	return min(t, 0)
}

// trust records the trust of a queue.
func (r *Ringer) trust(of key, t trust) {
	if t == 0 {
		delete(r.trusted, of)
		return
	}
	remember(r.trusted, of, t)
}

// staggered records whether a request, sent stagger after a true bell, was early. trip is the round trip of a request.
// An early one costs about a round trip, so the stagger settles where one in nine is early.
func (r *Ringer) staggered(early bool, trip time.Duration) {
	if early {
		r.stagger = min(r.stagger+trip/4, 2*trip)
	} else {
		r.stagger = max(r.stagger-trip/32, 0)
	}
}

// Package handover says when a turn has ended: to the waiters of other clients, by their bells, and to those of this
// one.
package handover

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
	"github.com/queuelock/queuelock/wake"
)

// Ringer has the bells of a client's waits and locks, and what is known of those of its queues. It is safe for
// concurrent use.
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

// trust is what is known of the bells of a queue: 1 if the last turn to end that should have rung a waiter has, 0 if
// that is not known, and less the more bells were rung in vain.
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

// Heard is what a wait has heard since the last verdict; see Judge. One goroutine at a time uses it.
type Heard struct {
	ringer *Ringer // nil: the wait has no bell
	of     key
	rung   waitpolicy.Rung
	heeded bool // the first look since then was because of the bell
	woken  bool // turns may have ended without a bell
}

// Hears returns what a new wait with that bell has heard.
func (r *Ringer) Hears(of table.Queue, b *Bell) Heard {
	h := Heard{of: keyOf(of), woken: true}
	if b != nil {
		h.ringer = r
	}
	return h
}

// Rung returns what is known of the bell. rings: the present holder has probably read the waiter's row, and rings it.
func (h *Heard) Rung(rings bool) waitpolicy.Rung {
	r := h.rung
	if h.ringer == nil {
		return r
	}
	h.ringer.mu.Lock()
	defer h.ringer.mu.Unlock()
	known := h.ringer.trusted[h.of]
	if known > 0 && !rings {
		known = 0
	}
	r.Trust, r.Stagger = int(known), h.ringer.stagger
	return r
}

// Woken says that turns may have ended without a bell.
func (h *Heard) Woken() { h.woken = true }

// Came counts a bell.
func (h *Heard) Came() { h.rung.Times, h.rung.Last = h.rung.Times+1, time.Now() }

// Heed takes a bell during a rest, and returns when that ends, at the latest at until.
func (h *Heard) Heed(p *waitpolicy.Pace, s waitpolicy.Schedule, until time.Time) time.Time {
	h.Came()
	at, heeded := p.Heed(s, h.Rung(false), until)
	h.heeded = h.heeded || heeded && h.rung.Early == 0
	return at
}

// Believed reports whether a bell says that a turn has ended.
func (h *Heard) Believed() bool {
	return h.rung.Times > 0 && h.rung.Early == 0 && h.Rung(false).Trust >= 0
}

// Judge compares what the bell of a waiter with ticket t has said since the last verdict with what a look shows: before
// are the holders of the one before. came takes a bell that came during the look, if one did. A turn that ended in this
// process says nothing about the bell, nor does one whose holder does not ring. A bell is of the end of the last turn
// before the waiter's own, and a present turn began after it.
func (h *Heard) Judge(p *waitpolicy.Pace, t ticket.Number, before, now []queue.Holder, rings bool, came func() bool) {
	r := &h.rung
	if h.ringer != nil && !h.woken {
		ended := slices.ContainsFunc(before, func(b queue.Holder) bool {
			return !slices.ContainsFunc(now, func(n queue.Holder) bool { return n.ID == b.ID })
		})
		open := !slices.ContainsFunc(now, func(n queue.Holder) bool { return n.Ticket.Less(t) })
		if ended && open && r.Times == 0 && came() {
			h.Came()
		}
		ended = ended && (open || r.Times == 0)
		h.ringer.mu.Lock()
		defer h.ringer.mu.Unlock()
		b := h.ringer
		known := b.trusted[h.of]
		if !ended && r.Times > 0 && r.Early < waitpolicy.MaxEarly && known >= 0 {
			r.Early++
			return
		}
		if ended && (known <= 0 || rings) || r.Times > 0 {
			b.trust(h.of, known.after(ended, r.Times > 0))
		}
		if ended && h.heeded {
			b.staggered(r.Early > 0, p.Trip())
		}
		if ended {
			p.EndedBy(r.Last)
		}
	}
	h.rung, h.heeded, h.woken = waitpolicy.Rung{Last: r.Last}, false, false
}

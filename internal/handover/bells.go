package handover

import (
	"log/slog"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/wake"
)

// ringer has the bells of the client's waits and locks, and what is known of those of its queues.
type ringer struct {
	wake.Bells
	log        *slog.Logger
	background func(func())      // runs what the client's Close waits for
	unhung     sync.Once         // why one could not be hung was logged
	trusted    map[lineKey]trust // guarded by Lines.mu; without those of 0
	stagger    time.Duration     // guarded by Lines.mu; see waitpolicy.Rung
}

// UseBells makes the Lines ring, and their waiters be rung. It is called before any other method. background runs what the client's
// Close waits for. What prevents bells is logged once.
func (l *Lines) UseBells(b wake.Bells, log *slog.Logger, background func(func())) {
	l.bells = &ringer{Bells: b, log: log, background: background, trusted: map[lineKey]trust{}}
}

// Bell is where one wait, and then its lock, can be rung. Nil: nowhere.
type Bell struct {
	text string
	stop func()
	mu   sync.Mutex
	rung func() // guarded by mu; what it wakes now; nil: nothing
}

// Hang returns the bell of a new wait. Stop must be called in the end.
func (l *Lines) Hang() *Bell {
	if l.bells == nil {
		return nil
	}
	b := &Bell{}
	text, stop, err := l.bells.Hang(func() {
		b.mu.Lock()
		rung := b.rung
		b.mu.Unlock()
		if rung != nil {
			rung()
		}
	})
	if err != nil {
		l.bells.unhung.Do(func() { l.bells.log.Warn("queuelock: waiters cannot be rung: they poll", "error", err) })
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
func (l *Lines) Ring(bell string) {
	if l.bells != nil && bell != "" {
		l.bells.background(func() { l.bells.Ring(bell) })
	}
}

// RingNext rings the waiter of the next row, if that is known, has a bell, and is not of this client. A release does so with its
// request: an early look costs a read, and a late one delays the next turn by a round trip.
func (l *Lines) RingNext(of table.Queue, next Row) {
	if next.Row != nil && l.Rings(of, next.Row.Ticket) {
		l.Ring(next.Row.Bell)
	}
}

// Rings reports whether the waiter with ticket t may be of another client, whose bell this one could ring.
func (l *Lines) Rings(of table.Queue, t ticket.Number) bool { return l.Bells() && l.Others(of, t) }

// Bells reports whether this client rings bells.
func (l *Lines) Bells() bool { return l.bells != nil }

// Others reports whether the waiter with ticket t may be of another client.
func (l *Lines) Others(of table.Queue, t ticket.Number) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.lines[lineKey{of.Entity, of.Reason}]
	return in == nil || in.waiter(t) == nil
}

// hang lets the bell of a waiter wake the first of its line, until it has left.
func (w *Waiter) hang(b *Bell) {
	if w.bell = b; b == nil {
		return
	}
	w.rung = make(chan struct{}, 1)
	b.Wakes(func() {
		w.lines.mu.Lock()
		defer w.lines.mu.Unlock()
		if !w.left {
			signal(w.line.first().rung)
		}
	})
}

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
func (b *ringer) trust(of lineKey, t trust) {
	if t == 0 {
		delete(b.trusted, of)
		return
	}
	remember(b.trusted, of, t)
}

// staggered records whether a request, sent stagger after a true bell, was early. trip is the round trip of a request.
// An early one costs about a round trip, so the stagger settles where one in nine is early.
func (b *ringer) staggered(early bool, trip time.Duration) {
	if early {
		b.stagger = min(b.stagger+trip/4, 2*trip)
	} else {
		b.stagger = max(b.stagger-trip/32, 0)
	}
}

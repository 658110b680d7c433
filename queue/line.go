package queue

import (
	"slices"
	"sync"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Lines holds the waiters of one process, by queue. Tickets are served in
// order, so of several waiters for one queue only the first can be next: it
// polls for all, and the others rest until it is gone. One whose row does not
// stand yet lets those pass whose rows do: whoever looks at the queue counts
// them, and not it. A turn that ends in the same process wakes the first at
// once. It makes no request, and is safe for concurrent use.
type Lines struct {
	mu    sync.Mutex
	lines map[lineKey][]*Spot // guarded by mu; each in the order of tickets
}

type lineKey struct{ entity, reason string }

// Spot is one waiter's place in its line.
type Spot struct {
	lines  *Lines
	key    lineKey
	ticket ticket.Number
	stands bool // guarded by lines.mu; its row does
	wake   chan struct{}
}

// NewLines returns Lines without waiters.
func NewLines() *Lines { return &Lines{lines: map[lineKey][]*Spot{}} }

// Join adds a waiter with ticket t. Leave must be called in the end.
func (l *Lines) Join(q table.Queue, t ticket.Number) *Spot {
	s := &Spot{lines: l, key: lineKey{q.Entity, q.Reason}, ticket: t, wake: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[s.key]
	i, _ := slices.BinarySearchFunc(line, t, func(o *Spot, t ticket.Number) int { return o.ticket.Compare(t) })
	l.lines[s.key] = slices.Insert(line, i, s)
	return s
}

// Leave takes the waiter out of its line and wakes the first of the rest.
func (s *Spot) Leave() {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	line := s.lines.lines[s.key]
	i := slices.Index(line, s)
	if i < 0 {
		return
	}
	wasFirst := s.lines.first(s.key) == s
	line = slices.Delete(line, i, i+1)
	if len(line) == 0 {
		delete(s.lines.lines, s.key)
		return
	}
	s.lines.lines[s.key] = line
	if wasFirst {
		s.lines.first(s.key).signal()
	}
}

// Stand says that the waiter's row stands. If that makes it the first, it is
// woken.
func (s *Spot) Stand() {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	before := s.lines.first(s.key)
	s.stands = true
	if first := s.lines.first(s.key); first == s && first != before {
		s.signal()
	}
}

// first is the first waiter of a line whose row stands, or else the first of
// all; nil if there is none. l.mu is held.
func (l *Lines) first(key lineKey) *Spot {
	line := l.lines[key]
	for _, s := range line {
		if s.stands {
			return s
		}
	}
	if len(line) == 0 {
		return nil
	}
	return line[0]
}

// First reports whether the waiter is the first of its line, and so is the one
// that polls.
func (s *Spot) First() bool {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	return s.lines.first(s.key) == s
}

// Ahead is how many waiters of the line have lower tickets.
func (s *Spot) Ahead() int {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	return max(0, slices.Index(s.lines.lines[s.key], s))
}

// Woken yields a value when the waiter has become the first of its line, or
// when a turn ended in this process.
func (s *Spot) Woken() <-chan struct{} { return s.wake }

// Wake tells the first waiter of the queue's line that a turn has ended.
func (l *Lines) Wake(q table.Queue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first := l.first(lineKey{q.Entity, q.Reason}); first != nil {
		first.signal()
	}
}

func (s *Spot) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // one signal is pending already
	}
}

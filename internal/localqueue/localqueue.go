// Package localqueue orders the waiters of one client for the same queue.
//
// Tickets are granted in order, so only the first of these waiters can be next: it polls,
// and the others sleep until it has left. A waiter is passed over while its row is not in
// the table, and while it is inactive: it has not called Touch for a stated time. A turn
// that ends in the same process wakes the first waiter at once.
//
// The package makes no request.
package localqueue

import (
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Queues holds the waiters of one client by queue. It is safe for concurrent use.
type Queues struct {
	timeout time.Duration

	mu     sync.Mutex
	queues map[lineKey]*line
}

type lineKey struct{ entity, reason string }

// line holds the waiters for one queue. Queues.mu guards it.
type line struct {
	waiters []*Waiter        // in the order of tickets
	last    ticket.Number    // the highest that joined
	others  int              // tickets below last and above all waiters that may be other clients'
	holders []serving.Holder // as a waiter of the line saw them last
	seenAt  time.Time
	leaving map[ticket.Number]bool // waiters that have left, whose rows a look may show; true: deleted
}

// Waiter is one waiter's place in its line.
type Waiter struct {
	queues *Queues
	key    lineKey
	in     *line
	ticket ticket.Number
	wake   chan struct{}
	active chan struct{}

	// Guarded by queues.mu.
	inserted bool      // its row is in the table
	touched  time.Time // of the last Touch
	others   int       // tickets between this waiter and the one before that may be other clients'
	seen     bool      // ahead is known, from a look of this waiter or of one before it
	ahead    int       // live waiters ahead
	left     bool
	deleted  bool // no request for its row follows
}

// New returns Queues without waiters. A waiter is inactive if its last Touch was longer ago
// than timeout.
func New(timeout time.Duration) *Queues {
	return &Queues{timeout: timeout, queues: map[lineKey]*line{}}
}

// Join adds a waiter with ticket t, and with at most so many tickets ahead that can still
// be granted. Leave must be called in the end.
func (l *Queues) Join(q table.Queue, t ticket.Number, ahead int) *Waiter {
	s := &Waiter{
		queues: l, key: lineKey{q.Entity, q.Reason}, ticket: t,
		wake: make(chan struct{}, 1), active: make(chan struct{}, 1), touched: time.Now(), others: ahead,
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.queues[s.key]
	if in == nil {
		in = &line{leaving: map[ticket.Number]bool{}}
		l.queues[s.key] = in
	}
	s.in = in
	i, _ := slices.BinarySearchFunc(in.waiters, t, func(o *Waiter, t ticket.Number) int { return o.ticket.Compare(t) })
	switch {
	case i < len(in.waiters): // its tickets ahead are counted by the next
		s.others = 0
		in.waiters[i].others = max(0, in.waiters[i].others-1)
	case i > 0:
		between := in.others
		if in.last.Less(t) {
			between += int(min(t.After(in.last), 1<<30)) - 1
		}
		s.others, in.others = min(ahead, between), 0
	}
	if in.last.Less(t) {
		in.last = t
	}
	in.waiters = slices.Insert(in.waiters, i, s)
	return s
}

// Leave removes the waiter and wakes the first of the others.
func (s *Waiter) Leave() {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	if s.left {
		return
	}
	in := s.in
	i := slices.Index(in.waiters, s)
	s.ahead, s.left = in.ahead(i), true
	wasFirst := s.queues.first(s.key) == s
	switch {
	case i+1 == len(in.waiters):
		in.others += s.others
	case in.waiters[i+1].seen:
	case s.seen:
		next := in.waiters[i+1]
		next.seen, next.ahead = true, s.ahead+next.others
	default:
		in.waiters[i+1].others += s.others
	}
	in.waiters = slices.Delete(in.waiters, i, i+1)
	if s.inserted {
		in.leaving[s.ticket] = s.deleted
	}
	s.tidy()
	if first := s.queues.first(s.key); wasFirst && first != nil {
		first.signal()
	}
}

// RowDeleted records that the waiter's row was deleted or is left to its lease.
func (s *Waiter) RowDeleted() {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	s.deleted = true
	if s.left && s.inserted {
		s.in.leaving[s.ticket] = true
	}
	s.tidy()
}

// tidy removes a line without waiters and rows. queues.mu is held.
func (s *Waiter) tidy() {
	for _, deleted := range s.in.leaving {
		if !deleted {
			return
		}
	}
	if len(s.in.waiters) == 0 && s.queues.queues[s.key] == s.in {
		delete(s.queues.queues, s.key)
	}
}

// RowInserted records that the waiter's row is in the table. A waiter that becomes the
// first is woken.
func (s *Waiter) RowInserted() {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	before := s.queues.first(s.key)
	s.inserted, s.touched = true, time.Now() // its waiter may have waited for this
	if first := s.queues.first(s.key); first == s && first != before {
		s.signal()
	}
}

// Touch records that the waiter begins a look, another request, or a sleep.
func (s *Waiter) Touch() {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	if !s.isActive() {
		select {
		case s.active <- struct{}{}:
		default:
		}
	}
	s.touched = time.Now()
}

// Active reports whether the waiter is not inactive.
func (s *Waiter) Active() bool {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	return s.isActive()
}

// Reactivated yields a value after a Touch of a waiter that was inactive.
func (s *Waiter) Reactivated() <-chan struct{} { return s.active }

func (s *Waiter) isActive() bool { return time.Since(s.touched) <= s.queues.timeout }

// first returns the first waiter that is not passed over. If all are passed over, activity
// counts before rows. It is nil if there is no waiter. l.mu is held.
func (l *Queues) first(key lineKey) *Waiter {
	in := l.queues[key]
	if in == nil {
		return nil
	}
	var first *Waiter
	rank := 0
	for _, s := range in.waiters {
		r := 1
		if s.inserted {
			r++
		}
		if s.isActive() {
			r += 2
		}
		if r > rank {
			first, rank = s, r
		}
	}
	return first
}

// First reports whether the waiter is the first of its line, which polls.
func (s *Waiter) First() bool {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	return s.queues.first(s.key) == s
}

// Record records what a look of the waiter showed: the holders, and how many live rows are
// ahead of it. Rows that this client deletes do not count.
func (s *Waiter) Record(snapshot rows.Snapshot, ahead int) {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	for t, deleted := range s.in.leaving {
		shown := slices.ContainsFunc(snapshot.Rows, func(row rows.Row) bool { return row.Ticket == t })
		if shown && t.Less(s.ticket) && snapshot.Record.Floor().Less(t) {
			ahead--
		}
		if !shown && deleted {
			delete(s.in.leaving, t)
		}
	}
	s.seen, s.ahead = true, max(0, ahead)
	if s.in.seenAt.Before(snapshot.ReadAt) {
		s.in.holders, s.in.seenAt = snapshot.Record.Holders, snapshot.ReadAt
	}
}

// LastSeen returns the holders at the last look of the line, and its time. Zero: none.
func (s *Waiter) LastSeen() (holders []serving.Holder, at time.Time) {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	return s.in.holders, s.in.seenAt
}

// Ahead returns how many waiters are ahead, or were before Leave. Waiters of other clients
// are counted by the looks of this line. Behind them, each ticket of another client counts
// as a waiter.
func (s *Waiter) Ahead() int {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	if s.left {
		return s.ahead
	}
	return s.in.ahead(slices.Index(s.in.waiters, s))
}

// ahead returns Ahead of the waiter with that index.
func (in *line) ahead(i int) int {
	n := 0
	for ; !in.waiters[i].seen; i-- {
		n += in.waiters[i].others
		if i == 0 {
			return n
		}
		n++ // the waiter before
	}
	return n + in.waiters[i].ahead
}

// Woken yields a value when the waiter has become the first of its line, or when a turn has
// ended in this process.
func (s *Waiter) Woken() <-chan struct{} { return s.wake }

// Wake wakes the first waiter for the queue after a turn has ended.
func (l *Queues) Wake(q table.Queue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first := l.first(lineKey{q.Entity, q.Reason}); first != nil {
		first.signal()
	}
}

func (s *Waiter) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // one signal is pending already
	}
}

package queue

import (
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/serving"
	"github.com/queuelock/queuelock/ticket"
)

// Lines holds the waiters of one process, by queue. Tickets are served in
// order, so of several waiters for one queue only the first can be next: it
// polls for all, and the others rest until it is gone. A waiter is passed over
// while its row is not in the table, and while it is unattended: it has not
// called Attend for a stated time. A turn that ends in the same process wakes the
// first at once. Lines makes no request, and is safe for concurrent use.
type Lines struct {
	attention time.Duration

	mu    sync.Mutex
	lines map[lineKey]*line
}

type lineKey struct{ entity, reason string }

// line is the waiters for one queue; Lines.mu guards it.
type line struct {
	spots   []*Spot          // in the order of tickets
	last    ticket.Number    // the highest that joined
	others  int              // tickets below last, and above those of all spots, that may be other clients'
	holders []serving.Holder // as any of them saw last
	seenAt  time.Time
	leaving map[ticket.Number]bool // of waiters that have left, whose rows a look may show; true: the delete is over
}

// Spot is one waiter's place in its line.
type Spot struct {
	lines  *Lines
	key    lineKey
	in     *line
	ticket ticket.Number
	wake   chan struct{}
	back   chan struct{}

	// Guarded by lines.mu.
	stands   bool      // its row does
	attended time.Time // the last Attend
	others   int       // tickets between the spot before and this one that may be other clients'
	seen     bool      // ahead is known: from a look, or from that of a spot before
	ahead    int       // live waiters ahead
	left     bool
	deleted  bool // nothing is sent about its row any more
}

// NewLines returns Lines without waiters. A waiter is unattended when it has not
// called Attend for longer than attention.
func NewLines(attention time.Duration) *Lines {
	return &Lines{attention: attention, lines: map[lineKey]*line{}}
}

// Join adds a waiter with ticket t. At most so many tickets ahead of it can still
// be served. Leave must be called in the end.
func (l *Lines) Join(q table.Queue, t ticket.Number, ahead int) *Spot {
	s := &Spot{
		lines: l, key: lineKey{q.Entity, q.Reason}, ticket: t,
		wake: make(chan struct{}, 1), back: make(chan struct{}, 1), attended: time.Now(), others: ahead,
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.lines[s.key]
	if in == nil {
		in = &line{leaving: map[ticket.Number]bool{}}
		l.lines[s.key] = in
	}
	s.in = in
	i, _ := slices.BinarySearchFunc(in.spots, t, func(o *Spot, t ticket.Number) int { return o.ticket.Compare(t) })
	switch {
	case i < len(in.spots): // its tickets ahead are counted by the next
		s.others = 0
		in.spots[i].others = max(0, in.spots[i].others-1)
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
	in.spots = slices.Insert(in.spots, i, s)
	return s
}

// Leave takes the waiter out of its line and wakes the first of the rest.
func (s *Spot) Leave() {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	if s.left {
		return
	}
	in := s.in
	i := slices.Index(in.spots, s)
	s.ahead, s.left = in.ahead(i), true
	wasFirst := s.lines.first(s.key) == s
	switch {
	case i+1 == len(in.spots):
		in.others += s.others
	case in.spots[i+1].seen:
	case s.seen:
		next := in.spots[i+1]
		next.seen, next.ahead = true, s.ahead+next.others
	default:
		in.spots[i+1].others += s.others
	}
	in.spots = slices.Delete(in.spots, i, i+1)
	if s.stands {
		in.leaving[s.ticket] = s.deleted
	}
	s.tidy()
	if first := s.lines.first(s.key); wasFirst && first != nil {
		first.signal()
	}
}

// Deleted says that the waiter's row was deleted, or is left to its lease.
func (s *Spot) Deleted() {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	s.deleted = true
	if s.left && s.stands {
		s.in.leaving[s.ticket] = true
	}
	s.tidy()
}

// tidy forgets a line that is of no use any more. lines.mu is held.
func (s *Spot) tidy() {
	for _, deleted := range s.in.leaving {
		if !deleted {
			return
		}
	}
	if len(s.in.spots) == 0 && s.lines.lines[s.key] == s.in {
		delete(s.lines.lines, s.key)
	}
}

// Stand says that the waiter's row is in the table. If that makes it the first,
// it is woken.
func (s *Spot) Stand() {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	before := s.lines.first(s.key)
	s.stands, s.attended = true, time.Now() // its waiter may have waited for this
	if first := s.lines.first(s.key); first == s && first != before {
		s.signal()
	}
}

// Attend says that the waiter is at work: it begins a look, another request, or a
// sleep before the next look.
func (s *Spot) Attend() {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	if !s.isAttended() {
		select {
		case s.back <- struct{}{}:
		default:
		}
	}
	s.attended = time.Now()
}

// Attended reports whether the waiter has called Attend in the stated time.
func (s *Spot) Attended() bool {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	return s.isAttended()
}

// Back yields a value after an Attend of a waiter that was unattended.
func (s *Spot) Back() <-chan struct{} { return s.back }

func (s *Spot) isAttended() bool { return time.Since(s.attended) <= s.lines.attention }

// first is the first waiter of a line that is not passed over. If all would be,
// rows count before attention. Nil if there is none. l.mu is held.
func (l *Lines) first(key lineKey) *Spot {
	in := l.lines[key]
	if in == nil {
		return nil
	}
	var first *Spot
	rank := 0
	for _, s := range in.spots {
		r := 1
		if s.stands {
			r++
		}
		if s.isAttended() {
			r += 2
		}
		if r > rank {
			first, rank = s, r
		}
	}
	return first
}

// First reports whether the waiter is the first of its line, and so is the one
// that polls.
func (s *Spot) First() bool {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	return s.lines.first(s.key) == s
}

// Saw tells the line what the waiter's look showed: who is being served, and how
// many live rows are ahead of it. Those that this client deletes do not count.
func (s *Spot) Saw(sight Sight, ahead int) {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	for t, deleted := range s.in.leaving {
		shown := slices.ContainsFunc(sight.Rows, func(row Row) bool { return row.Ticket == t })
		if shown && t.Less(s.ticket) && sight.Record.Floor().Less(t) {
			ahead--
		}
		if !shown && deleted {
			delete(s.in.leaving, t)
		}
	}
	s.seen, s.ahead = true, max(0, ahead)
	if s.in.seenAt.Before(sight.ReadAt) {
		s.in.holders, s.in.seenAt = sight.Record.Holders, sight.ReadAt
	}
}

// Seen returns who was being served when a waiter of the line looked last, and
// when that was; zero if none has.
func (s *Spot) Seen() (holders []serving.Holder, at time.Time) {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	return s.in.holders, s.in.seenAt
}

// Ahead returns how many waiters are ahead, after Leave how many were. Those of
// other clients are counted by the looks of this line; behind the tickets that it
// has looked at, each ticket of another client counts as a waiter.
func (s *Spot) Ahead() int {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	if s.left {
		return s.ahead
	}
	return s.in.ahead(slices.Index(s.in.spots, s))
}

// ahead is Ahead of the spot with that index.
func (in *line) ahead(i int) int {
	n := 0
	for ; !in.spots[i].seen; i-- {
		n += in.spots[i].others
		if i == 0 {
			return n
		}
		n++ // the spot before
	}
	return n + in.spots[i].ahead
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

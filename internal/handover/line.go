package handover

import (
	"slices"
	"time"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

type lineKey struct{ entity, reason string }

// line holds the waiters of one client for one queue. Its methods change nothing else. Lines.mu guards it.
type line struct {
	key       lineKey
	waiters   []*Waiter     // in the order of tickets
	last      ticket.Number // the highest that joined
	others    int           // tickets below last and above all waiters that may be other clients'
	record    queue.Record  // the latest that waiters of the line have seen
	seenAt    time.Time
	granted   string // id of the last grant to a waiter of the line, at grantedAt
	grantedAt time.Time
	leaving   map[ticket.Number]*Waiter // that have left, and whose rows a look may show
}

// join adds a waiter with at most so many tickets ahead that can still be granted.
func (l *line) join(w *Waiter, ahead int) {
	t := w.ticket
	w.others = ahead
	i, _ := slices.BinarySearchFunc(l.waiters, t, func(o *Waiter, t ticket.Number) int { return o.ticket.Compare(t) })
	switch {
	case i < len(l.waiters): // its tickets ahead are counted by the next
		w.others = 0
		l.waiters[i].others = max(0, l.waiters[i].others-1)
	case i > 0:
		between := l.others
		if l.last.Less(t) {
			between += int(min(t.After(l.last), 1<<30)) - 1
		}
		w.others, l.others = min(ahead, between), 0
	}
	if l.last.Less(t) {
		l.last = t
	}
	l.waiters = slices.Insert(l.waiters, i, w)
}

// leave removes a waiter. The next one takes over what is known of those ahead.
func (l *line) leave(w *Waiter) {
	i := slices.Index(l.waiters, w)
	w.ahead, w.left = l.ahead(i), true
	l.waiters = slices.Delete(l.waiters, i, i+1)
	if i == len(l.waiters) {
		l.others += w.others
	} else if next := l.waiters[i]; w.seen && !next.seen {
		next.seen, next.ahead = true, w.ahead.plus(next.others)
	} else if !next.seen {
		next.others += w.others
	}
	if w.inserted {
		l.leaving[w.ticket] = w
	}
}

// over reports whether the line has no waiter, and none of its rows may be in the table.
func (l *line) over() bool {
	for _, left := range l.leaving {
		if !left.deleted {
			return false
		}
	}
	return len(l.waiters) == 0
}

// first returns the first waiter that is not passed over. If all are passed over, activity counts before rows. It
// is nil if there is no waiter.
func (l *line) first() (first *Waiter) {
	highest := 0
	for _, w := range l.waiters {
		rank := 1
		if w.inserted {
			rank++
		}
		if w.isActive() {
			rank += 2
		}
		if rank > highest {
			first, highest = w, rank
		}
	}
	return first
}

// waiter returns the waiter with a ticket; nil if there is none.
func (l *line) waiter(t ticket.Number) *Waiter {
	for _, w := range l.waiters {
		if w.ticket == t {
			return w
		}
	}
	return nil
}

// saw records what a look of a waiter showed, and the live rows ahead of it. Rows that this client deletes do not
// count.
func (l *line) saw(w *Waiter, s *queue.Snapshot, ahead Ahead) {
	for t, left := range l.leaving {
		shown := slices.ContainsFunc(s.Rows, func(row queue.Waiter) bool { return row.Ticket == t })
		if shown && t.Less(w.ticket) && s.Record.Floor().Less(t) {
			ahead = ahead.plus(-1)
		}
		if !shown && left.deleted {
			delete(l.leaving, t)
		}
	}
	w.seen, w.ahead = true, Ahead{max(0, ahead.Rows), max(0, ahead.Waiters)}
	if s.Record.Follows(l.record) {
		l.record, l.seenAt = s.Record, s.ReadAt
	}
}

// ahead returns what is ahead of the waiter with an index.
func (l *line) ahead(i int) Ahead {
	n := 0 // behind what a look has shown
	for ; !l.waiters[i].seen; i-- {
		n += l.waiters[i].others
		if i == 0 {
			return Tickets(n)
		}
		n++ // the waiter before
	}
	return l.waiters[i].ahead.plus(n)
}

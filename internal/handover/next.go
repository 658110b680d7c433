package handover

import (
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/dbclock"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Row is the row with the ticket after that of a holder, as its last look before the grant showed it.
type Row struct {
	Row    *queue.Waiter // nil: it is not known
	ReadAt time.Time
}

// Next is the waiter that a release passes the lock to.
type Next struct {
	Grant  *queue.Next       // what the release writes; nil: no waiter is known
	taken  *Waiter           // whose offer was taken; nil: it is named by its row
	answer chan queue.Passed // to that waiter; nil once it has got one
}

// Next returns the waiter that the holder with that id and ticket passes the lock to: the next one, if it is of this client and
// offers that, or else the one that its row names. turn is the time of recent turns.
func (l *Lines) Next(of table.Queue, id string, t ticket.Number, row Row, turn queue.HoldTime) Next {
	if n, ok := l.take(of, t); ok {
		return n
	}
	if named, ok := row.name(id, turn, of.Clock(), time.Now()); ok {
		return Next{Grant: &named}
	}
	return Next{}
}

// take takes the offer of the waiter with the ticket after t.
func (l *Lines) take(of table.Queue, t ticket.Number) (n Next, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.lines[lineKey{of.Entity, of.Reason}]
	if in == nil {
		return n, false
	}
	i := slices.IndexFunc(in.waiters, func(w *Waiter) bool { return w.ticket.Previous() == t })
	if i < 0 || !in.waiters[i].offering || !in.waiters[i].inserted {
		return n, false
	}
	w := in.waiters[i]
	entry, ok := w.Terms.Offer()
	if ok {
		n = Next{Grant: &queue.Next{Entry: entry, Ticket: w.ticket}, taken: w, answer: make(chan queue.Passed, 1)}
		w.offering, w.passed = false, n.answer
	}
	return n, ok
}

// name returns the grant to the row's waiter. ok is false if it is not known, or if turns are usually so long that its waiter
// may sleep through the grant.
func (r Row) name(id string, turn queue.HoldTime, clock *dbclock.Clock, now time.Time) (n queue.Next, ok bool) {
	if r.Row == nil || now.Sub(r.ReadAt) > waitpolicy.NamedWithin || turn.Mean > r.Row.Lease.TTL/8 {
		return n, false
	}
	_, latest, _ := clock.At(now) // zero if it is not known
	return r.Row.GrantByName(id, latest, clock.Middle(now))
}

// Answer gives the waiter whose offer was taken the answer to the first request of the release, and wakes it.
func (n *Next) Answer(a queue.Passed) {
	if n.answer != nil {
		n.answer <- a
		n.answer = nil
		signal(n.taken.wake)
	}
}

// Released reports a release that has ended the turn, and left that record: to the waiter that it has passed the lock to, or
// else to all that may be next.
func (l *Lines) Released(of table.Queue, n Next, after queue.HoldAfter, rec queue.Record) {
	switch {
	case after == queue.AfterNothing:
	case after != queue.AfterPassed:
		l.Wake(of, after == queue.AfterHint)
	case n.taken != nil: // no other waiter can be next
		l.turnEnded(of, func(*line) {})
	default:
		l.turnEnded(of, func(in *line) {
			if w := in.waiter(n.Grant.Ticket); w != nil && w.passed == nil {
				w.offering, w.passed = false, make(chan queue.Passed, 1)
				w.passed <- queue.Passed{Reply: queue.ReplyApplied, Record: rec}
				signal(w.wake)
			}
			signal(in.first().wake)
		})
	}
}

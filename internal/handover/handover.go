// Package handover brings a turn to the next waiter. It makes no request. The waiters are those of package waiter: package play
// brings a turn to its own callers, and shares the bells and the ends of turns with them.
//
// The write that ends a turn grants the lock to the waiter with the next ticket (PASS), if that is known. Else the
// waiters claim it.
//
//	| the release knows                                   | the waiter learns of it by             |
//	|-----------------------------------------------------|----------------------------------------|
//	| a waiter of this client that offers to be passed it | the answer to the release              |
//	| the next row, which the holder has read            | the same in this client, else by a look|
//	| neither                                             | a signal in this client, a look        |
//
// A bell wakes the waiter of the next row. A release that does not know that row may read it.
//
// Tickets are granted in order, so only the first waiter of one client can be next: it polls, and the others sleep
// until it has left. A waiter is passed over while its row is not in the table, and while it is inactive: it has
// not called Touch for a stated time.
package handover

import (
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/dbclock"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Lines holds the waiters of one client by queue. It is safe for concurrent use.
type Lines struct {
	Holds func(id string) bool // reports whether the client holds a lock with that id; optional
	// Also is called after a turn of one of these has ended, for callers that are not in a line; optional.
	Also    func(of table.Queue)
	timeout time.Duration
	mu      sync.Mutex
	lines   map[lineKey]*line         // guarded by mu
	ended   map[lineKey]time.Time     // guarded by mu; when a turn ended last in this process
	left    map[lineKey]ticket.Number // guarded by mu; of the waiter of this process that left last
	bells   *ringer                   // nil: none
}

// New returns Lines without waiters. A waiter is inactive if its last Touch was longer ago than timeout.
func New(timeout time.Duration) *Lines {
	return &Lines{timeout: timeout, lines: map[lineKey]*line{}, ended: map[lineKey]time.Time{}, left: map[lineKey]ticket.Number{}}
}

// Join adds a waiter with ticket t, and with at most so many tickets ahead that can still be granted. The bell wakes it, if it has
// one. Leave and RowDeleted must be called in the end.
func (l *Lines) Join(of table.Queue, t ticket.Number, ahead int, bell *Bell) *Waiter {
	w := &Waiter{
		lines: l, ticket: t, wake: make(chan struct{}, 1), active: make(chan struct{}, 1), touched: time.Now(), heard: l.Hears(of, bell),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := lineKey{of.Entity, of.Reason}
	in := l.lines[key]
	if in == nil {
		in = &line{key: key, leaving: map[ticket.Number]*Waiter{}}
		l.lines[key] = in
	}
	w.line = in
	in.join(w, ahead)
	w.hang(bell)
	return w
}

// Wake wakes the first waiter for the queue after a turn has ended.
func (l *Lines) Wake(of table.Queue) {
	l.WakeHere(of)
	l.also(of)
}

// WakeHere is Wake of those in a line alone.
func (l *Lines) WakeHere(of table.Queue) {
	l.turnEnded(of, func(in *line) { signal(in.first().wake) })
}

func (l *Lines) also(of table.Queue) {
	if l.Also != nil {
		l.Also(of)
	}
}

// turnEnded records that a turn has ended in this process. wake is called with the line of its waiters, if there are any.
func (l *Lines) turnEnded(of table.Queue, wake func(*line)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := lineKey{of.Entity, of.Reason}
	remember(l.ended, key, time.Now())
	if in := l.lines[key]; in != nil && len(in.waiters) > 0 {
		wake(in)
	}
}

// endedFor is how long the last turn that has ended in this process is remembered.
const endedFor = time.Minute

// Ended returns when a turn of the queue ended last in this process. Zero: none has in the last minute, or it is
// forgotten.
func (l *Lines) Ended(of table.Queue) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.ended[lineKey{of.Entity, of.Reason}]
	if time.Since(at) > endedFor {
		return time.Time{}
	}
	return at
}

// maxQueues bounds the queues of which something is remembered after the waiters have left.
const maxQueues = 1000

// remember sets the value of a queue. If there are too many, a random one is forgotten: with a few queues more than
// that in rotation, most are still known.
func remember[V any](all map[lineKey]V, key lineKey, value V) {
	if _, known := all[key]; !known && len(all) >= maxQueues {
		for other := range all {
			delete(all, other)
			break
		}
	}
	all[key] = value
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // one signal is pending already
	}
}

// Row is the row with the ticket after that of a holder, as it was read before the grant or during the turn.
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
// offers that, or else the one that its row names.
func (l *Lines) Next(of table.Queue, id string, t ticket.Number, row Row) Next {
	if n, ok := l.take(of, t); ok {
		return n
	}
	if named, ok := row.name(id, of.Clock(), time.Now()); ok && !l.hasLeft(of, named.Ticket) {
		return Next{Grant: &named}
	}
	return Next{}
}

// hasLeft reports whether the waiter with ticket t is the one of this process that left last.
func (l *Lines) hasLeft(of table.Queue, t ticket.Number) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, ok := l.left[lineKey{of.Entity, of.Reason}]
	return ok && last == t
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

// name returns the grant to the row's waiter. ok is false if it is not known, or was read so long ago that its waiter may have
// left.
func (r Row) name(id string, clock *dbclock.Clock, now time.Time) (n queue.Next, ok bool) {
	if r.Row == nil || now.Sub(r.ReadAt) > waitpolicy.NamedWithin {
		return n, false
	}
	return r.Row.GrantByName(id, clock.Middle(now))
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
		l.Wake(of)
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
		l.also(of)
	}
}

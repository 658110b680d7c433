// Package handover brings a turn to the next waiter. It makes no request.
//
// The write that ends a turn grants the lock to the waiter with the next ticket (PASS), if that is known. Else the
// waiters claim it.
//
//	| the release knows                                   | the waiter learns of it by             |
//	|-----------------------------------------------------|----------------------------------------|
//	| a waiter of this client that offers to be passed it | the answer to the release              |
//	| the next row, by the last look of the holder        | the same in this client, else by a look|
//	| neither                                             | a signal in this client, a hint, a look|
//
// Tickets are granted in order, so only the first waiter of one client can be next: it polls, and the others sleep
// until it has left. A waiter is passed over while its row is not in the table, and while it is inactive: it has
// not called Touch for a stated time.
package handover

import (
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Lines holds the waiters of one client by queue. It is safe for concurrent use.
type Lines struct {
	Holds   func(id string) bool // reports whether the client holds a lock with that id; optional
	timeout time.Duration
	mu      sync.Mutex
	lines   map[lineKey]*line     // guarded by mu
	ended   map[lineKey]time.Time // guarded by mu; when a turn ended last in this process
	hints   *hints                // nil: none
}

// New returns Lines without waiters. A waiter is inactive if its last Touch was longer ago than timeout.
func New(timeout time.Duration) *Lines {
	return &Lines{timeout: timeout, lines: map[lineKey]*line{}, ended: map[lineKey]time.Time{}}
}

// Join adds a waiter with ticket t, and with at most so many tickets ahead that can still be granted. Leave and
// RowDeleted must be called in the end.
func (l *Lines) Join(of table.Queue, t ticket.Number, ahead int) *Waiter {
	l.listen()
	l.mu.Lock()
	defer l.mu.Unlock()
	key := lineKey{of.Entity, of.Reason}
	in := l.lines[key]
	if in == nil {
		in = &line{key: key, leaving: map[ticket.Number]*Waiter{}}
		l.lines[key] = in
		l.await(of, in)
	}
	w := &Waiter{
		lines: l, line: in, ticket: t, wake: make(chan struct{}, 1), active: make(chan struct{}, 1), touched: time.Now(),
		woken: true,
	}
	if l.hints != nil {
		w.hint = make(chan struct{}, 1)
	}
	in.join(w, ahead)
	return w
}

// Wake wakes the first waiter for the queue after a turn has ended. With others, waiters of other clients may be
// next, and get a hint.
func (l *Lines) Wake(of table.Queue, others bool) {
	l.turnEnded(of, func(in *line) { signal(in.first().wake) })
	if others {
		l.Hint(of)
	}
}

// turnEnded records that a turn has ended in this process. wake is called with the line of its waiters, if there are any.
func (l *Lines) turnEnded(of table.Queue, wake func(*line)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key, now := lineKey{of.Entity, of.Reason}, time.Now()
	remember(l.ended, key, now)
	if in := l.lines[key]; in != nil && len(in.waiters) > 0 {
		in.hinted = now
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

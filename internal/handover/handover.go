// Package handover orders the waiters of one client for the same queue. It makes no request.
//
// Tickets are granted in order, so only the first of these waiters can be next: it polls, and the others sleep
// until it has left. A waiter is passed over while its row is not in the table, and while it is inactive: it has
// not called Touch for a stated time. A turn that ends in the same process wakes the first waiter at once. So does
// a hint of another process. A release of this process may even grant the lock to a waiter that offers that.
package handover

import (
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/wake"
)

// Queues holds the waiters of one client by queue. It is safe for concurrent use.
type Queues struct {
	Holds   func(id string) bool // reports whether the client holds a lock with that id; optional
	timeout time.Duration
	mu      sync.Mutex
	lines   map[lineKey]*line     // guarded by mu
	ended   map[lineKey]time.Time // guarded by mu; when a turn ended last in this process
	hints   *hints                // nil: none
}

type lineKey struct{ entity, reason string }

// line holds the waiters for one queue. Queues.mu guards it.
type line struct {
	key       lineKey
	waiters   []*Waiter     // in the order of tickets
	last      ticket.Number // the highest that joined
	others    int           // tickets below last and above all waiters that may be other clients'
	record    queue.Record  // the latest that waiters of the line have seen
	seenAt    time.Time
	named     ticket.Number // that a release of this client has granted the lock to by its row
	granted   string        // id of the last grant to a waiter of the line, at grantedAt
	grantedAt time.Time
	leaving   map[ticket.Number]*Waiter // that have left, and whose rows a look may show
	digest    wake.Digest               // with hints
	hinted    time.Time                 // the last hint, or turn that ended in this process
}

// Waiter is one waiter's place in its line.
type Waiter struct {
	queues *Queues
	line   *line
	ticket ticket.Number
	wake   chan struct{}
	hint   chan struct{} // nil: without hints
	active chan struct{}

	// Guarded by queues.mu.
	inserted bool      // its row is in the table
	touched  time.Time // of the last Touch
	others   int       // tickets between this waiter and the one before that may be other clients'
	seen     bool      // ahead is known, from a look of this waiter or of one before it
	ahead    int       // live waiters ahead
	left     bool
	deleted  bool // no request for its row follows
	offer    func() queue.Entry
	taken    chan Answer // of the offer that a release has taken
}

// Answer is the answer to a release that has taken an offer. After an error the waiter may or may not be served.
type Answer struct {
	Record queue.Record
	Err    error
}

// New returns Queues without waiters. A waiter is inactive if its last Touch was longer ago than timeout.
func New(timeout time.Duration) *Queues {
	return &Queues{timeout: timeout, lines: map[lineKey]*line{}, ended: map[lineKey]time.Time{}}
}

// Join adds a waiter with ticket t, and with at most so many tickets ahead that can still be granted. Leave and
// RowDeleted must be called in the end.
func (q *Queues) Join(of table.Queue, t ticket.Number, ahead int) *Waiter {
	q.listen()
	q.mu.Lock()
	defer q.mu.Unlock()
	key := lineKey{of.Entity, of.Reason}
	l := q.lines[key]
	if l == nil {
		l = &line{key: key, leaving: map[ticket.Number]*Waiter{}}
		q.lines[key] = l
		q.await(of, l)
	}
	w := &Waiter{
		queues: q, line: l, ticket: t, wake: make(chan struct{}, 1), active: make(chan struct{}, 1),
		touched: time.Now(), others: ahead,
	}
	if q.hints != nil {
		w.hint = make(chan struct{}, 1)
	}
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
	return w
}

// Leave removes the waiter and wakes the first of the others.
func (w *Waiter) Leave() {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	if w.left {
		return
	}
	l := w.line
	i := slices.Index(l.waiters, w)
	wasFirst := l.first() == w
	w.ahead, w.left = l.ahead(i), true
	l.waiters = slices.Delete(l.waiters, i, i+1)
	if i == len(l.waiters) {
		l.others += w.others
	} else if next := l.waiters[i]; w.seen && !next.seen {
		next.seen, next.ahead = true, w.ahead+next.others
	} else if !next.seen {
		next.others += w.others
	}
	if w.inserted {
		l.leaving[w.ticket] = w
	}
	w.tidy()
	if first := l.first(); wasFirst && first != nil {
		signal(first.wake)
	}
}

// RowInserted records that the waiter's row is in the table. A waiter that becomes the first is woken.
func (w *Waiter) RowInserted() {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	before := w.line.first()
	w.inserted, w.touched = true, time.Now() // its waiter may have waited for this
	if w.line.first() == w && before != w {
		signal(w.wake)
	}
}

// RowDeleted records that the waiter's row was deleted or is left to its lease.
func (w *Waiter) RowDeleted() {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	w.deleted = true
	if w.left && w.inserted {
		w.line.leaving[w.ticket] = w
	}
	w.tidy()
}

// tidy removes a line without waiters and rows.
func (w *Waiter) tidy() {
	l := w.line
	for _, left := range l.leaving {
		if !left.deleted {
			return
		}
	}
	if len(l.waiters) == 0 && w.queues.lines[l.key] == l {
		delete(w.queues.lines, l.key)
		w.queues.forget(l)
	}
}

// Touch records that the waiter begins a look, another request, or a sleep.
func (w *Waiter) Touch() {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	if !w.isActive() {
		signal(w.active)
	}
	w.touched = time.Now()
}

// Active reports whether the waiter is not inactive.
func (w *Waiter) Active() bool {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	return w.isActive()
}

func (w *Waiter) isActive() bool { return time.Since(w.touched) <= w.queues.timeout }

// Reactivated yields a value after a Touch of a waiter that was inactive.
func (w *Waiter) Reactivated() <-chan struct{} { return w.active }

// Woken yields a value when the waiter has become the first of its line, or when a turn has ended in this process.
func (w *Waiter) Woken() <-chan struct{} { return w.wake }

// Offer lets a release of this client grant the lock to the waiter with the entry that the function returns, until
// Withdraw. The function is called at most once, in another goroutine.
func (w *Waiter) Offer(entry func() queue.Entry) {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	if w.taken == nil {
		w.offer = entry
	}
}

// Taken reports whether a release has taken the offer.
func (w *Waiter) Taken() bool {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	return w.taken != nil
}

// Withdraw ends the offer. It returns nil unless a release has taken it. Otherwise the channel yields its answer.
func (w *Waiter) Withdraw() <-chan Answer {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	taken := w.taken
	w.offer, w.taken = nil, nil
	return taken
}

// Take takes the offer of the waiter with the ticket after t. answer must be called. It is nil if no such waiter
// of this client has a row and makes an offer.
func (q *Queues) Take(of table.Queue, t ticket.Number) (next queue.Next, answer func(Answer)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[lineKey{of.Entity, of.Reason}]
	if l == nil {
		return next, nil
	}
	i := slices.IndexFunc(l.waiters, func(w *Waiter) bool { return w.ticket.Previous() == t })
	if i < 0 || l.waiters[i].offer == nil || !l.waiters[i].inserted {
		return next, nil
	}
	w, taken := l.waiters[i], make(chan Answer, 1)
	next = queue.Next{Entry: w.offer(), Ticket: w.ticket}
	w.offer, w.taken = nil, taken
	return next, func(a Answer) {
		taken <- a
		signal(w.wake)
	}
}

// Wake wakes the first waiter for the queue after a turn has ended. With others, waiters of other clients may be
// next, and get a hint.
func (q *Queues) Wake(of table.Queue, others bool) { q.turnEnded(of, true, others) }

// Passed records that a turn has ended, and that its release has granted the lock to the waiter whose offer it took.
// No other waiter of this client is woken.
func (q *Queues) Passed(of table.Queue) { q.turnEnded(of, false, false) }

// Named is Wake after a release that has granted the lock to ticket t by its row, of whichever client.
func (q *Queues) Named(of table.Queue, t ticket.Number) {
	q.mu.Lock()
	if l := q.lines[lineKey{of.Entity, of.Reason}]; l != nil {
		l.named = t
	}
	q.mu.Unlock()
	q.turnEnded(of, true, false)
}

// Named reports whether a release of this client has granted the lock to the waiter by its row.
func (w *Waiter) Named() bool {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	return w.line.named == w.ticket
}

func (q *Queues) turnEnded(of table.Queue, wake, others bool) {
	q.mu.Lock()
	key, now := lineKey{of.Entity, of.Reason}, time.Now()
	remember(q.ended, key, now)
	if l := q.lines[key]; l != nil && len(l.waiters) > 0 {
		l.hinted = now
		if wake {
			signal(l.first().wake)
		}
	}
	q.mu.Unlock()
	if others {
		q.Hint(of)
	}
}

// endedFor is how long the last turn that has ended in this process is remembered.
const endedFor = time.Minute

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

// Ended returns when a turn of the queue ended last in this process. Zero: none has in the last minute, or it is
// forgotten.
func (q *Queues) Ended(of table.Queue) time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := q.ended[lineKey{of.Entity, of.Reason}]
	if time.Since(at) > endedFor {
		return time.Time{}
	}
	return at
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // one signal is pending already
	}
}

// First reports whether the waiter is the first of its line, which polls.
func (w *Waiter) First() bool {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	return w.line.first() == w
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

// Record records what a look of the waiter showed: the holders, and how many live rows are ahead of it. Rows that
// this client deletes do not count.
func (w *Waiter) Record(snapshot queue.Snapshot, ahead int) {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	l := w.line
	for t, left := range l.leaving {
		shown := slices.ContainsFunc(snapshot.Rows, func(row queue.Waiter) bool { return row.Ticket == t })
		if shown && t.Less(w.ticket) && snapshot.Record.Floor().Less(t) {
			ahead--
		}
		if !shown && left.deleted {
			delete(l.leaving, t)
		}
	}
	w.seen, w.ahead = true, max(0, ahead)
	if snapshot.Record.Follows(l.record) {
		l.record, l.seenAt = snapshot.Record, snapshot.ReadAt
	}
}

// Granted records that the waiter has been granted the lock with that id, and what shows it.
func (w *Waiter) Granted(id string, snapshot queue.Snapshot) {
	w.Record(snapshot, 0)
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	w.line.granted, w.line.grantedAt = id, time.Now()
}

// Own reports whether this client holds the lock with that id. A lock that was granted within the last second may not
// be known to Holds yet.
func (w *Waiter) Own(id string) bool {
	w.queues.mu.Lock()
	granted := w.line.granted == id && time.Since(w.line.grantedAt) < time.Second
	w.queues.mu.Unlock()
	return granted || w.queues.Holds != nil && w.queues.Holds(id)
}

// LastSeen returns the latest record that the line has seen, and when. Zero: none.
func (w *Waiter) LastSeen() (rec queue.Record, at time.Time) {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	return w.line.record, w.line.seenAt
}

// Ahead returns how many waiters are ahead, or were before Leave. Waiters of other clients are counted by the looks
// of this line. Behind them, each ticket of another client counts as a waiter.
func (w *Waiter) Ahead() int {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	if w.left {
		return w.ahead
	}
	return w.line.ahead(slices.Index(w.line.waiters, w))
}

// ahead returns Ahead of the waiter with that index.
func (l *line) ahead(i int) int {
	n := 0
	for ; !l.waiters[i].seen; i-- {
		n += l.waiters[i].others
		if i == 0 {
			return n
		}
		n++ // the waiter before
	}
	return n + l.waiters[i].ahead
}

package handover

import (
	"context"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Waiter is one waiter's place in its line.
type Waiter struct {
	Terms  Terms // set before the first rest, and then constant
	lines  *Lines
	line   *line
	ticket ticket.Number
	wake   chan struct{} // it has become the first, a turn has ended in this process, or the lock was passed to it
	rung   chan struct{} // another process has rung the bell; nil: it has none
	active chan struct{}
	bell   *Bell // constant; nil: it has none

	// Guarded by lines.mu.
	inserted bool      // its row is in the table
	put      time.Time // when it was first known to be there
	touched  time.Time // of the last Touch
	others   int       // tickets between this waiter and the one before that may be other clients'
	seen     bool      // ahead is known, from a look of this waiter or of one before it
	ahead    Ahead     // live ones
	left     bool
	deleted  bool              // no request for its row follows
	counts   bool              // it counts the rows ahead, see CountsRows
	late     bool              // a row ahead has come since its last look
	offering bool              // a release may take Terms.Offer
	passed   chan queue.Passed // of a release that has tried to pass the lock; nil: none has

	heard Heard // guarded by nothing: its goroutine alone uses it
}

// CountsRows says that the waiter looks again if a row of its client comes ahead of it after it has looked. See [Waiter.Late].
func (w *Waiter) CountsRows() {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	w.counts = true
}

// Late reports whether a row of the client has come ahead of a waiter that counts them, since its last look began.
func (w *Waiter) Late() bool {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	return w.late
}

// Looks says that a look of the waiter begins.
func (w *Waiter) Looks() {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	w.late = false
}

// Leave removes the waiter and wakes the first of the others.
func (w *Waiter) Leave() {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	if w.left {
		return
	}
	l := w.line
	wasFirst := l.first() == w
	l.leave(w)
	remember(w.lines.left, l.key, w.ticket)
	w.tidy()
	if first := l.first(); wasFirst && first != nil {
		signal(first.wake)
	}
}

// RowInserted records that the waiter's row is in the table. A waiter that becomes the first is woken.
func (w *Waiter) RowInserted() {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	before := w.line.first()
	w.inserted, w.put, w.touched = true, time.Now(), time.Now() // its waiter may have waited for this
	if w.line.first() == w && before != w {
		signal(w.wake)
	}
	for _, o := range w.line.waiters {
		if o.counts && w.ticket.Less(o.ticket) {
			o.late = true
			signal(o.wake)
		}
	}
}

// Put returns when the waiter's row was first known to be in the table; zero: it is not.
func (w *Waiter) Put() time.Time {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	return w.put
}

// RowDeleted records that the waiter's row was deleted or is left to its lease.
func (w *Waiter) RowDeleted() {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	w.deleted = true
	if w.left && w.inserted { // after it had left, perhaps
		w.line.leaving[w.ticket] = w
	}
	w.tidy()
}

// tidy removes a line that is over.
func (w *Waiter) tidy() {
	if l := w.line; l.over() && w.lines.lines[l.key] == l {
		delete(w.lines.lines, l.key)
	}
}

// Touch records that the waiter begins a look, another request, or a sleep.
func (w *Waiter) Touch() {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	if !w.isActive() {
		signal(w.active)
	}
	w.touched = time.Now()
}

// Active reports whether the waiter is not inactive.
func (w *Waiter) Active() bool {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	return w.isActive()
}

func (w *Waiter) isActive() bool { return time.Since(w.touched) <= w.lines.timeout }

// Reactivated yields a value after a Touch of a waiter that was inactive.
func (w *Waiter) Reactivated() <-chan struct{} { return w.active }

// First reports whether the waiter is the first of its line, which polls.
func (w *Waiter) First() bool {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	return w.line.first() == w
}

// Ahead is what is ahead of a waiter.
type Ahead struct {
	Rows    int
	Waiters int // of those rows: each ticket of a block is one
}

// Tickets returns as many rows, of one waiter each.
func Tickets(n int) Ahead { return Ahead{n, n} }

// plus returns what is ahead with n more rows, of one waiter each.
func (a Ahead) plus(n int) Ahead { return Ahead{a.Rows + n, a.Waiters + n} }

// Ahead returns what is ahead, or was before Leave. Rows of other clients are counted by the looks
// of this line. Behind them, each ticket of another client counts as a row.
func (w *Waiter) Ahead() Ahead {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	if w.left {
		return w.ahead
	}
	return w.line.ahead(slices.Index(w.line.waiters, w))
}

// Saw records what a look of the waiter showed: the record, and the live rows ahead of it.
func (w *Waiter) Saw(snapshot *queue.Snapshot, ahead Ahead) {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	w.line.saw(w, snapshot, ahead)
}

// Granted records that the waiter has been granted the lock with that id, and what shows it.
func (w *Waiter) Granted(id string, snapshot *queue.Snapshot) {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	w.line.saw(w, snapshot, Ahead{})
	w.line.granted, w.line.grantedAt = id, time.Now()
}

// Own reports whether this client holds the lock with that id. A lock that was granted within the last second may not
// be known to Holds yet.
func (w *Waiter) Own(id string) bool {
	w.lines.mu.Lock()
	granted := w.line.granted == id && time.Since(w.line.grantedAt) < time.Second
	w.lines.mu.Unlock()
	return granted || w.lines.Holds != nil && w.lines.Holds(id)
}

// LastSeen returns the latest record that the line has seen, and when. Zero: none.
func (w *Waiter) LastSeen() (rec queue.Record, at time.Time) {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	return w.line.record, w.line.seenAt
}

// Terms are how a waiter rests.
type Terms struct {
	// Offer returns the entry by which a release of this client may pass the lock to the waiter, which rests meanwhile; false:
	// it may not. It is called in another goroutine. Nil: none may.
	Offer    func() (entry queue.Entry, ok bool)
	Failed   <-chan struct{} // ends a rest when it is closed
	Pace     *waitpolicy.Pace
	Schedule *waitpolicy.Schedule
}

// answerGrace is how long the answer of a release is awaited after the waiter's context has ended.
const answerGrace = time.Second

// Rest waits for d, or until it gets one of the slots. A signal ends it too, or the bell, if the pace says so. woken reports that a
// turn has probably ended, or that the waiter has become the first of its client. passed is what has become of a release that has
// tried to pass the lock; nil: none has.
func (w *Waiter) Rest(ctx context.Context, d time.Duration, slots chan<- struct{}) (woken, slot bool, passed queue.Event) {
	w.lines.mu.Lock()
	w.offering = w.Terms.Offer != nil && w.passed == nil // else the lock was passed by the row
	w.lines.mu.Unlock()
	for until, over := time.Now().Add(d), false; !over; {
		w.Touch() // the schedule may exceed Slowest
		timer := time.NewTimer(min(time.Until(until), w.Terms.Schedule.Slowest))
		select {
		case <-timer.C:
		case <-w.wake:
			w.heard.Woken()
			woken, over = true, true
		case <-w.rung:
			until = w.heed(until)
		case slots <- struct{}{}:
			slot, over = true, true
		case <-w.Terms.Failed:
			over = true
		case <-ctx.Done():
			over = true
		}
		timer.Stop()
		over = over || !time.Now().Before(until)
	}
	w.Touch()
	return woken || w.believes(), slot, w.withdraw(ctx)
}

// withdraw ends the offer. If a release has taken it, its answer is awaited, and returned.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (w *Waiter) withdraw(ctx context.Context) queue.Event {
	w.lines.mu.Lock()
	passed := w.passed
	w.offering, w.passed = false, nil
	w.lines.mu.Unlock()
	if passed == nil {
		return nil
	}
	w.heard.Woken()
	ctx, cancel := retry.Outlive(ctx, answerGrace)
	defer cancel()
	select {
	case answer := <-passed:
		return answer
	case <-ctx.Done():
		return queue.Passed{Reply: queue.ReplyUnknown}
	}
}

//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (w *Waiter) believes() bool { return w.heard.Believed() }

// heed takes a bell, and returns when the rest ends, at the latest at until.
//
//go:noinline // the same
func (w *Waiter) heed(until time.Time) time.Time {
	return w.heard.Heed(w.Terms.Pace, *w.Terms.Schedule, until)
}

// Rung returns what the waiter knows of its bell. Only its goroutine calls it, as all that it has heard.
func (w *Waiter) Rung(rings bool) waitpolicy.Rung { return w.heard.Rung(rings) }

// Judge is that of what the waiter has heard.
func (w *Waiter) Judge(before, now []queue.Holder, rings bool) {
	w.heard.Judge(w.Terms.Pace, w.ticket, before, now, rings, func() bool {
		select {
		case <-w.rung:
			return true
		default:
			return false
		}
	})
}

package handover

import (
	"slices"
	"time"

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
	hint   chan struct{} // another process may have ended a turn; nil: without hints
	active chan struct{}

	// Guarded by lines.mu.
	inserted bool      // its row is in the table
	touched  time.Time // of the last Touch
	others   int       // tickets between this waiter and the one before that may be other clients'
	seen     bool      // ahead is known, from a look of this waiter or of one before it
	ahead    int       // live waiters ahead
	left     bool
	deleted  bool              // no request for its row follows
	offering bool              // a release may take Terms.Offer
	passed   chan queue.Passed // of a release that has tried to pass the lock; nil: none has

	// Of its goroutine.
	heard  waitpolicy.Hints // since the last verdict; see Judge
	heeded bool             // the first look since then was because of a hint
	woken  bool             // since then: turns may have ended without a hint
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
	w.inserted, w.touched = true, time.Now() // its waiter may have waited for this
	if w.line.first() == w && before != w {
		signal(w.wake)
	}
}

// RowDeleted records that the waiter's row was deleted or is left to its lease.
func (w *Waiter) RowDeleted() {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	w.deleted = true
	w.tidy()
}

// tidy removes a line that is over.
func (w *Waiter) tidy() {
	if l := w.line; l.over() && w.lines.lines[l.key] == l {
		delete(w.lines.lines, l.key)
		w.lines.forget(l)
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

// Ahead returns how many waiters are ahead, or were before Leave. Waiters of other clients are counted by the looks
// of this line. Behind them, each ticket of another client counts as a waiter.
func (w *Waiter) Ahead() int {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	if w.left {
		return w.ahead
	}
	return w.line.ahead(slices.Index(w.line.waiters, w))
}

// Saw records what a look of the waiter showed: the record, and how many live rows are ahead of it.
func (w *Waiter) Saw(snapshot *queue.Snapshot, ahead int) {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	w.line.saw(w, snapshot, ahead)
}

// Granted records that the waiter has been granted the lock with that id, and what shows it.
func (w *Waiter) Granted(id string, snapshot *queue.Snapshot) {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	w.line.saw(w, snapshot, 0)
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

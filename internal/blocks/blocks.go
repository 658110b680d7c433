// Package blocks lets callers of one client that wait for the same lock do so together: they take adjacent tickets by one request,
// wait with one row, and hold the lock one after the other with one entry and one lease (package queue, block.go). It sends
// nothing itself.
//
// A caller that comes while no other of its client takes a ticket takes one at once, alone. Those that come while that request is
// under way take theirs together by the next. While the client holds the lock, callers gather for a moment: the release may take
// their tickets and grant them the lock in one write.
//
//	gathered ──► a block takes tickets ──► it waits in the queue ──► turn after turn in memory ──► released
//	    ▲                                                                  │ lost
//	    └──────────────────────────────────────────────────────────────────┘ its other callers take new tickets
package blocks

import (
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/table"
)

const (
	// gatherFor is how long callers gather at most while their client holds the lock. A caller of another client that comes in
	// that time may get the earlier ticket.
	gatherFor = 50 * time.Millisecond
	// lingerFor is how long they gather after the last turn of a block: its caller may come again.
	lingerFor = time.Millisecond
)

// Blocks are those of one client. They are safe for concurrent use.
type Blocks struct {
	max int
	run func(func()) // a goroutine that the client's Close waits for

	mu     sync.Mutex
	lines  map[lineKey]*line // guarded by mu
	closed bool              // guarded by mu
}

// New returns Blocks of at most so many tickets.
func New(most int, run func(func())) *Blocks {
	return &Blocks{max: most, run: run, lines: map[lineKey]*line{}}
}

// Close ends the waits of all callers. Those that are about to hold the lock get it.
func (b *Blocks) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, l := range b.lines {
		for _, k := range l.blocks {
			signal(k.callers)
		}
		signal(l.gathered)
	}
}

func signal(callers []*Caller) {
	for _, c := range callers {
		c.signal()
	}
}

type lineKey struct{ entity, reason string }

// line is what the callers of one client do about one lock. Blocks.mu guards it.
type line struct {
	key      lineKey
	gathered []*Caller // in the order in which they came
	taking   *block    // that has no tickets yet
	answered time.Time // when one had tickets last
	holding  *block
	blocks   []*block    // that wait or hold
	pause    *time.Timer // after which the gathered take tickets; nil: it does not run
}

// line returns the line of a queue. b.mu is held.
//
//go:noinline // a caller that enters has little stack
func (b *Blocks) line(q *table.Queue) *line {
	key := lineKey{q.Entity, q.Reason}
	l := b.lines[key]
	if l == nil {
		l = &line{key: key}
		b.lines[key] = l
	}
	return l
}

// The methods of a line are called with b.mu held.

// gather adds callers, before those that have gathered if they had tickets.
func (l *line) gather(b *Blocks, first bool, callers ...*Caller) {
	for _, c := range callers {
		c.block = nil
	}
	if first {
		l.gathered = append(callers, l.gathered...)
	} else {
		l.gathered = append(l.gathered, callers...)
	}
	l.goOn(b)
}

// goOn lets those that have gathered take tickets, if they need not wait for more.
func (l *line) goOn(b *Blocks) {
	switch gathers := l.holding != nil || l.pause != nil; {
	case l.taking != nil:
	case len(l.gathered) == 0:
		l.tidy(b)
	case gathers && len(l.gathered) < b.max:
		if l.pause == nil {
			l.wait(b, gatherFor)
		}
	default:
		l.take(b).start()
	}
}

// wait lets callers gather for that long.
func (l *line) wait(b *Blocks, d time.Duration) {
	l.stop()
	var pause *time.Timer
	pause = time.AfterFunc(d, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if l.pause != pause {
			return
		}
		l.pause = nil
		if l.taking == nil && len(l.gathered) > 0 {
			l.take(b).start()
		} else {
			l.goOn(b)
		}
	})
	l.pause = pause
}

func (l *line) stop() {
	if l.pause != nil {
		l.pause.Stop()
		l.pause = nil
	}
}

// take makes a block of those that have gathered longest.
func (l *line) take(b *Blocks) *block {
	l.stop()
	n := min(len(l.gathered), b.max)
	k := &block{blocks: b, line: l, callers: slices.Clone(l.gathered[:n])}
	l.gathered = slices.Delete(l.gathered, 0, n)
	for i, c := range k.callers {
		c.block, c.index = k, i
	}
	l.taking, l.blocks = k, append(l.blocks, k)
	return k
}

// taken notes that a block has tickets.
func (l *line) taken(k *block) {
	if l.taking == k {
		l.taking, l.answered = nil, time.Now()
		l.goOn(k.blocks)
	}
}

// ended notes that a block does not wait or hold any more.
func (l *line) ended(k *block) {
	l.blocks = slices.DeleteFunc(l.blocks, func(o *block) bool { return o == k })
	if l.taking == k {
		l.taking = nil
	}
	if l.holding == k {
		l.holding = nil
		l.stop()
	}
}

// silence returns for how long a caller has gathered while no block had tickets.
func (l *line) silence(c *Caller) time.Duration {
	return min(time.Since(c.since), time.Since(l.answered))
}

// tidy forgets a line of which nothing is left.
func (l *line) tidy(b *Blocks) {
	if len(l.blocks) == 0 && l.pause == nil && len(l.gathered) == 0 && b.lines[l.key] == l {
		delete(b.lines, l.key)
	}
}

package handover

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/wake"
)

// hints are those of other processes.
type hints struct {
	wake.Hints
	log     *slog.Logger
	listen  sync.Once
	stop    func()                // guarded by Queues.mu; nil before listen and after Close
	closed  bool                  // guarded by Queues.mu
	lines   map[wake.Digest]*line // guarded by Queues.mu
	trusted map[lineKey]int       // guarded by Queues.mu; without those of 0
	stagger time.Duration         // guarded by Queues.mu; see Stagger
}

const (
	// hintGap is the least time between two hints of a queue. It also drops the echo of an own hint.
	hintGap  = time.Millisecond
	minTrust = -5
)

// UseHints makes the Queues send and receive hints. It is called before any other method. What prevents hints is
// logged once.
func (q *Queues) UseHints(h wake.Hints, log *slog.Logger) {
	q.hints = &hints{Hints: h, log: log, lines: map[wake.Digest]*line{}, trusted: map[lineKey]int{}}
}

// digest returns the digest of a queue. A table's name and its ARN count as the same. Region and account are left out:
// a client that is wrapped does not show them, and hosts that differ in that would get no hints.
func digest(of table.Queue) (d wake.Digest) {
	name := of.Layout().Table
	sum := sha256.Sum256(fmt.Appendf(nil, "queuelock hint 1 %q %q %q", name[strings.LastIndexByte(name, '/')+1:], of.Entity, of.Reason))
	copy(d[:], sum[:])
	return d
}

// listen begins to receive hints.
func (q *Queues) listen() {
	h := q.hints
	if h == nil {
		return
	}
	h.listen.Do(func() {
		stop, err := h.Listen(q.hinted)
		if err != nil {
			h.log.Warn("queuelock: hints cannot be received: waiters poll", "error", err)
		}
		q.mu.Lock()
		closed := h.closed
		h.stop = stop
		q.mu.Unlock()
		if closed {
			q.Close()
		}
	})
}

// Close stops receiving hints.
func (q *Queues) Close() {
	if q.hints == nil {
		return
	}
	q.mu.Lock()
	stop := q.hints.stop
	q.hints.stop, q.hints.closed = nil, true
	q.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// await lets the line receive hints; forget ends that.
func (q *Queues) await(of table.Queue, l *line) {
	if q.hints != nil {
		l.digest = digest(of)
		q.hints.lines[l.digest] = l
	}
}

func (q *Queues) forget(l *line) {
	if q.hints != nil {
		delete(q.hints.lines, l.digest)
	}
}

// Hint sends a hint to other clients. A release sends it with its request: an early look costs a read, and a late one
// delays the next turn by a round trip.
func (q *Queues) Hint(of table.Queue) {
	if q.hints == nil {
		return
	}
	q.mu.Lock()
	if l := q.lines[lineKey{of.Entity, of.Reason}]; l != nil {
		l.hinted = time.Now()
	}
	q.mu.Unlock()
	q.hints.Send(digest(of))
}

// hinted wakes the first waiter of the queue with that digest.
func (q *Queues) hinted(d wake.Digest) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.hints.lines[d]
	if l == nil || len(l.waiters) == 0 || time.Since(l.hinted) < hintGap {
		return
	}
	l.hinted = time.Now()
	signal(l.first().hint)
}

// Hinted yields a value when another process may have ended a turn. It is nil without hints.
func (w *Waiter) Hinted() <-chan struct{} { return w.hint }

// Stagger returns how long after a hint a request is likely to see the release that sent it.
func (w *Waiter) Stagger() time.Duration {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	return w.queues.hints.stagger
}

// Staggered records whether a request, sent Stagger after a true hint, was early. trip is the round trip of a request.
// An early one costs about a round trip, so the stagger settles where one in nine is early.
func (w *Waiter) Staggered(early bool, trip time.Duration) {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	h := w.queues.hints
	if early {
		h.stagger = min(h.stagger+trip/4, 2*trip)
	} else {
		h.stagger = max(h.stagger-trip/32, 0)
	}
}

// Trust returns what is known of the hints of the queue: 1 if the last turn to end was hinted at, 0 if it is not
// known whether turns are, and less the more hints were false.
func (w *Waiter) Trust() int {
	if w.hint == nil {
		return 0
	}
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	return w.queues.hints.trusted[w.line.key]
}

// Judge records whether a turn has ended since the last time, and whether there were hints. One of the two is true.
func (w *Waiter) Judge(ended, hinted bool) {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	all, key := w.queues.hints.trusted, w.line.key
	trust := all[key]
	switch {
	case !ended:
		trust = max(min(trust, 0)-1, minTrust)
	case hinted:
		trust = min(trust+1, 1)
	default:
		trust = min(trust, 0)
	}
	if trust == 0 {
		delete(all, key)
		return
	}
	remember(all, key, trust)
}

package handover

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
	"github.com/queuelock/queuelock/wake"
)

// hints are those of other processes.
type hints struct {
	wake.Hints
	bells   wake.Bells // the same; nil: without bells
	log     *slog.Logger
	listen  sync.Once
	stop    func()                          // guarded by Lines.mu; nil before listen and after Close
	closed  bool                            // guarded by Lines.mu
	lines   map[wake.Digest]*line           // guarded by Lines.mu
	holders map[wake.Digest][]chan struct{} // guarded by Lines.mu; see AwaitRevoked
	trusted map[lineKey]trust               // guarded by Lines.mu; without those of 0
	stagger time.Duration                   // guarded by Lines.mu; see waitpolicy.Hints
}

// hintGap is the least time between two hints of a queue. It also drops the echo of an own hint.
const hintGap = time.Millisecond

// UseHints makes the Lines send and receive hints. It is called before any other method. What prevents hints is
// logged once.
func (l *Lines) UseHints(h wake.Hints, log *slog.Logger) {
	l.hints = &hints{Hints: h, log: log, lines: map[wake.Digest]*line{}, trusted: map[lineKey]trust{},
		holders: map[wake.Digest][]chan struct{}{}}
	l.hints.bells, _ = h.(wake.Bells)
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
func (l *Lines) listen() {
	h := l.hints
	if h == nil {
		return
	}
	h.listen.Do(func() {
		stop, err := h.Listen(l.hinted)
		if err != nil {
			h.log.Warn("queuelock: hints cannot be received: waiters poll", "error", err)
		}
		l.mu.Lock()
		closed := h.closed
		h.stop = stop
		l.mu.Unlock()
		if closed {
			l.Close()
		}
	})
}

// Close stops receiving hints.
func (l *Lines) Close() {
	if l.hints == nil {
		return
	}
	l.mu.Lock()
	stop := l.hints.stop
	l.hints.stop, l.hints.closed = nil, true
	l.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// await lets the line receive hints; forget ends that.
func (l *Lines) await(of table.Queue, in *line) {
	if l.hints != nil {
		in.digest = digest(of)
		l.hints.lines[in.digest] = in
	}
}

func (l *Lines) forget(in *line) {
	if l.hints != nil {
		delete(l.hints.lines, in.digest)
	}
}

// Hint sends a hint to other clients, and rings the waiter of the next row. A release sends it with its request: an early
// look costs a read, and a late one delays the next turn by a round trip.
func (l *Lines) Hint(of table.Queue, next Row) {
	if l.hints == nil {
		return
	}
	l.mu.Lock()
	if in := l.lines[lineKey{of.Entity, of.Reason}]; in != nil {
		in.hinted = time.Now()
	}
	l.mu.Unlock()
	l.hints.Send(digest(of))
	l.Ring(of, next)
}

// Ring rings the waiter of the next row, if that is known, has a bell, and is not of this client.
func (l *Lines) Ring(of table.Queue, next Row) {
	if next.Row != nil && next.Row.Bell != "" && l.Rings(of, next.Row.Ticket) {
		l.hints.bells.Ring(next.Row.Bell)
	}
}

// Rings reports whether the waiter with ticket t may be of another client, whose bell this one could ring.
func (l *Lines) Rings(of table.Queue, t ticket.Number) bool {
	return l.Bells() && l.Others(of, t)
}

// Bells reports whether this client rings bells.
func (l *Lines) Bells() bool { return l.hints != nil && l.hints.bells != nil }

// Others reports whether the waiter with ticket t may be of another client.
func (l *Lines) Others(of table.Queue, t ticket.Number) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.lines[lineKey{of.Entity, of.Reason}]
	return in == nil || in.waiter(t) == nil
}

// hinted wakes the first waiter of the queue with that digest.
func (l *Lines) hinted(d wake.Digest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revoked(d)
	if in := l.hints.lines[d]; in != nil {
		in.hear(false)
	}
}

// hang gives a waiter its bell, which is rung until its Leave.
func (l *Lines) hang(w *Waiter) {
	if !l.Bells() {
		return
	}
	bell, stop := l.hints.bells.Hang(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if w.line != nil && !w.left {
			w.line.hear(true)
		}
	})
	if w.unhang = sync.OnceFunc(stop); len(bell) <= queue.MaxBell {
		w.bell = bell
	}
}

// hear wakes the first waiter of the line because of a hint, or a bell.
func (l *line) hear(bell bool) {
	if len(l.waiters) == 0 || time.Since(l.hinted) < hintGap {
		return
	}
	l.hinted = time.Now()
	l.first().ring(bell)
}

// ring wakes a waiter because of a hint, or a bell.
func (w *Waiter) ring(bell bool) {
	select {
	case w.hint <- bell:
	default: // one is pending already
	}
}

// trust is what is known of the hints of a queue: byBell if the last turn to end for which that could be expected was rung,
// 1 if the last turn to end was hinted at, 0 if it is not known whether turns are, and less the more hints were false.
type trust int

const (
	minTrust trust = -5
	byBell   trust = 2
)

// after returns the trust after a look: a turn has ended since the last one, or there were hints, or both. most is 1, or byBell
// if there were bells alone.
func (t trust) after(ended, hinted bool, most trust) trust {
	switch {
	case !ended:
		return max(min(t, 0)-1, minTrust)
	case hinted && t < 0:
		return t + 1
	case hinted:
		return most
	}
	return min(t, 0)
}

// trust records the trust of a queue.
func (h *hints) trust(of lineKey, t trust) {
	if t == 0 {
		delete(h.trusted, of)
		return
	}
	remember(h.trusted, of, t)
}

// staggered records whether a request, sent stagger after a true hint, was early. trip is the round trip of a request.
// An early one costs about a round trip, so the stagger settles where one in nine is early.
func (h *hints) staggered(early bool, trip time.Duration) {
	if early {
		h.stagger = min(h.stagger+trip/4, 2*trip)
	} else {
		h.stagger = max(h.stagger-trip/32, 0)
	}
}

// Bell returns what the waiter's row says of where to ring it; empty if it cannot be rung.
func (w *Waiter) Bell() string { return w.bell }

// Hints returns what the waiter knows of hints. rings: the present holder has probably read the waiter's row, and rings its
// bell. Only its goroutine calls it, as all that it has heard.
func (w *Waiter) Hints(rings bool) waitpolicy.Hints {
	h := w.heard.hints
	if w.hint == nil {
		return h
	}
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	known := w.lines.hints.trusted[w.line.key]
	if known == byBell && !rings {
		known = 0
	}
	h.Trust, h.Stagger = int(known), w.lines.hints.stagger
	return h
}

// Judge compares the hints since the last verdict with what a look shows: before are the holders of the one before. A turn that
// ended in this process says nothing about them, nor does one whose holder does not ring, about bells. A present turn began
// after the last true hint.
func (w *Waiter) Judge(before, now []queue.Holder, rings bool) {
	h, p := &w.heard.hints, w.Terms.Pace
	if w.hint != nil && !w.heard.woken {
		ended := slices.ContainsFunc(before, func(h queue.Holder) bool {
			return !slices.ContainsFunc(now, func(n queue.Holder) bool { return n.ID == h.ID })
		})
		// A bell is of the end of the last turn before the waiter's own.
		open := !slices.ContainsFunc(now, func(n queue.Holder) bool { return n.Ticket.Less(w.ticket) })
		if ended && h.Came == 0 { // else a hint that came during the request is of a later end, and ends the next rest
			select {
			case bell := <-w.hint:
				if bell && !open {
					w.ring(bell)
				} else {
					w.came(bell)
				}
			default:
			}
		}
		ended = ended && (open || !h.Rung)
		w.lines.mu.Lock()
		defer w.lines.mu.Unlock()
		of, key := w.lines.hints, w.line.key
		known := of.trusted[key]
		if !ended && h.Came > 0 && h.Early < waitpolicy.MaxEarly && known >= 0 {
			h.Early++
			return
		}
		if expected := known != byBell || rings; ended && expected || h.Came > 0 {
			of.trust(key, known.after(ended, h.Came > 0, w.heard.most()))
		}
		if ended && w.heard.heeded {
			of.staggered(h.Early > 0, p.Trip())
		}
		if ended {
			p.EndedBy(h.Last)
		}
	}
	w.heard = heard{hints: waitpolicy.Hints{Last: h.Last}}
}

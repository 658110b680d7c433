package handover

import (
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Heard is what a wait has heard since the last verdict; see Judge. One goroutine at a time uses it.
type Heard struct {
	ringer *Ringer // nil: the wait has no bell
	of     key
	rung   waitpolicy.Rung
	heeded bool // the first look since then was because of the bell
	woken  bool // turns may have ended without a bell
}

// Hears returns what a new wait with that bell has heard.
func (r *Ringer) Hears(of table.Queue, b *Bell) Heard {
	h := Heard{of: keyOf(of), woken: true}
	if b != nil {
		h.ringer = r
	}
	return h
}

// Rung returns what is known of the bell. rings: the present holder has probably read the waiter's row, and rings it.
func (h *Heard) Rung(rings bool) waitpolicy.Rung {
	r := h.rung
	if h.ringer == nil {
		return r
	}
	h.ringer.mu.Lock()
	defer h.ringer.mu.Unlock()
	known := h.ringer.trusted[h.of]
	if known > 0 && !rings {
		known = 0
	}
	r.Trust, r.Stagger = int(known), h.ringer.stagger
	return r
}

// Woken says that turns may have ended without a bell.
func (h *Heard) Woken() { h.woken = true }

// Came counts a bell.
func (h *Heard) Came() { h.rung.Times, h.rung.Last = h.rung.Times+1, time.Now() }

// Heed takes a bell during a rest, and returns when that ends, at the latest at until.
func (h *Heard) Heed(p *waitpolicy.Pace, s waitpolicy.Schedule, until time.Time) time.Time {
	h.Came()
	at, heeded := p.Heed(s, h.Rung(false), until)
	h.heeded = h.heeded || heeded && h.rung.Early == 0
	return at
}

// Believed reports whether a bell says that a turn has ended.
func (h *Heard) Believed() bool {
	return h.rung.Times > 0 && h.rung.Early == 0 && h.Rung(false).Trust >= 0
}

// Judge compares what the bell of a waiter with ticket t has said since the last verdict with what a look shows: before are the holders
// of the one before. came takes a bell that came during the look, if one did. A turn that ended in this process says nothing about the
// bell, nor does one whose holder does not ring. A bell is of the end of the last turn before the waiter's own, and a present turn
// began after it.
func (h *Heard) Judge(p *waitpolicy.Pace, t ticket.Number, before, now []queue.Holder, rings bool, came func() bool) {
	r := &h.rung
	if h.ringer != nil && !h.woken {
		ended := slices.ContainsFunc(before, func(b queue.Holder) bool {
			return !slices.ContainsFunc(now, func(n queue.Holder) bool { return n.ID == b.ID })
		})
		open := !slices.ContainsFunc(now, func(n queue.Holder) bool { return n.Ticket.Less(t) })
		if ended && open && r.Times == 0 && came() {
			h.Came()
		}
		ended = ended && (open || r.Times == 0)
		h.ringer.mu.Lock()
		defer h.ringer.mu.Unlock()
		b := h.ringer
		known := b.trusted[h.of]
		if !ended && r.Times > 0 && r.Early < waitpolicy.MaxEarly && known >= 0 {
			r.Early++
			return
		}
		if ended && (known <= 0 || rings) || r.Times > 0 {
			b.trust(h.of, known.after(ended, r.Times > 0))
		}
		if ended && h.heeded {
			b.staggered(r.Early > 0, p.Trip())
		}
		if ended {
			p.EndedBy(r.Last)
		}
	}
	h.rung, h.heeded, h.woken = waitpolicy.Rung{Last: r.Last}, false, false
}

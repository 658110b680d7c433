package demo

import (
	"time"

	"github.com/queuelock/queuelock/ticket"
)

// Attempt is one round of one worker, put together from its records.
type Attempt struct {
	Worker, Round int

	Asked Instant // before Acquire was called
	// Took is before the request was sent that took the number which was
	// granted; Asked, if that is not known.
	Took   Instant
	Places []Place // rows that stood for it, in order
	Ticket ticket.Number

	Granted Instant // after Acquire had returned; zero: it was not granted
	Ended   Instant // before Release was called, or when the process was gone; zero: not known
	Lost    bool    // the lock was lost before the turn was over

	// Gone is when the process died, if it died in this round.
	Gone Instant
	// KilledAt is when it was killed, if it was.
	KilledAt Instant
}

// Place is the life of a row.
type Place struct {
	Ticket ticket.Number
	Stood  Instant // from then on at the latest
	Until  Instant // and as long at the least, if the process lived
}

// queuedBefore reports whether a row of the attempt stood at that instant.
func (a *Attempt) queuedBefore(at Instant) bool {
	for _, p := range a.Places {
		if p.Stood < at && p.Ticket == a.Ticket {
			return true
		}
	}
	return false
}

// history puts the records of one process together.
type history struct {
	worker    int
	waiterTTL time.Duration
	attempts  []*Attempt
	taken     map[ticket.Number]taking
	usage     Usage
	failure   string
	done      bool
}

// taking is a number that was taken.
type taking struct {
	attempt *Attempt
	sent    Instant
}

func newHistory(worker int, waiterTTL time.Duration) *history {
	return &history{worker: worker, waiterTTL: waiterTTL, taken: map[ticket.Number]taking{}}
}

// current is the round that is under way, if any.
func (h *history) current() *Attempt {
	if len(h.attempts) == 0 {
		return nil
	}
	return h.attempts[len(h.attempts)-1]
}

// add takes a record in and returns the attempt that it belongs to, if any.
func (h *history) add(r Record) *Attempt {
	h.usage = r.Usage
	a := h.current()
	switch r.Kind {
	case Asked:
		a = &Attempt{Worker: h.worker, Round: r.Round, Asked: r.At, Took: r.At}
		h.attempts = append(h.attempts, a)
	case Took:
		h.taken[r.Ticket] = taking{a, r.At}
	case Queued, Renewed:
		// By its ticket: the answer may be later than the grant.
		if a = h.taken[r.Ticket].attempt; a != nil {
			a.place(r, h.waiterTTL)
		}
	case Done:
		h.done = true
	case Failed:
		h.failure = r.Error
	}
	if a == nil {
		return nil
	}
	switch r.Kind {
	case Granted:
		a.Granted, a.Ticket = r.At, r.Ticket
		if t, ok := h.taken[r.Ticket]; ok {
			a.Took = t.sent
		}
	case Ended:
		a.Ended, a.Lost = r.At, r.Lost
	}
	return a
}

// place takes the answer to a row's put or renewal in.
func (a *Attempt) place(r Record, ttl time.Duration) {
	if r.Kind == Queued {
		a.Places = append(a.Places, Place{Ticket: r.Ticket, Stood: r.At, Until: r.Sent.Add(ttl)})
		return
	}
	for i := len(a.Places) - 1; i >= 0; i-- {
		if p := &a.Places[i]; p.Ticket == r.Ticket {
			p.Until = max(p.Until, r.At.Add(ttl))
			return
		}
	}
}

// died ends what was under way when the process died.
func (h *history) died(at, killed Instant) {
	a := h.current()
	if a == nil || a.Ended != 0 {
		return
	}
	a.Gone, a.KilledAt = at, killed
	if a.Granted != 0 {
		a.Ended = at
	}
}

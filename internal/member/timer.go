package member

import "time"

// Timer names what waits for a time.
type Timer struct {
	Kind TimerKind
	Of   int32 // the block, or the row
}

// TimerKind is the kind of a timer.
type TimerKind uint8

// The timers.
const (
	Gathers  TimerKind = iota // callers gather until then
	Rests                     // the first waiter looks
	Pauses                    // after a request that has failed
	Renews                    // a row
	RowEnds                   // its lease, for its waiter
	Retries                   // its ENQUEUE
	Beats                     // a holder
	Ends                      // its lease, for its holder
	Reads                     // the next row
	Repeats                   // its release, or ADVANCE
	Attempts                  // its transaction, or SETTLE
)

// Timed is a timer that runs.
type Timed struct {
	Timer
	At      time.Time
	Accepts bool // a heartbeat that accepts a grant by name
}

// Timers returns the timers that run.
func (m *Member) Timers() (all []Timed) {
	add := func(k TimerKind, of int32, at time.Time, accepts bool) {
		if !at.IsZero() {
			all = append(all, Timed{Timer{k, of}, at, accepts})
		}
	}
	add(Gathers, 0, m.until, false)
	for _, b := range m.blocks {
		add(Rests, b.n, b.rests, false)
		add(Pauses, b.n, b.pauses, false)
		if h := b.held; h != nil && !b.gone {
			if !h.calls {
				add(Beats, b.n, h.beats, h.named)
			}
			if h.runs() {
				add(Ends, b.n, h.ends, false)
			}
			add(Reads, b.n, h.reads, false)
			add(Repeats, b.n, h.repeats, false)
			if h.using != nil {
				add(Attempts, b.n, h.attempts, false)
			}
		}
	}
	for _, r := range m.rows {
		if r.place.Left() || r.place.Keeps() {
			continue
		}
		add(Renews, r.n, r.renews, false)
		if !r.renewing && !r.confirms { // else with the answer
			add(RowEnds, r.n, r.ends, false)
		}
		add(Retries, r.n, r.retries, false)
	}
	return all
}

// due lets the time of a timer come. One that does not run any more changes nothing.
func (s *step) due(t Timer) {
	b, r := s.block(t.Of), s.row(t.Of)
	switch {
	case t.Kind == Gathers:
		line{s}.gathersNoLonger()
	case t.Kind == Rests && b != nil && !b.rests.IsZero():
		s.waiting(b).wakes(false)
	case t.Kind == Pauses && b != nil && !b.pauses.IsZero():
		s.waiting(b).pausesNoLonger()
	case t.Kind >= Beats && b != nil && b.held != nil:
		s.holding(b).due(t.Kind)
	case t.Kind >= Renews && t.Kind <= Retries && r != nil:
		keeping{s, r}.due(t.Kind)
	}
}

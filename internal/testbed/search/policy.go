package search

import (
	"math/bits"

	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/queue"
)

// What the policies of clients promise.

// live reports whether a row is of a waiter that lives, so far as clocks say.
func (s *search) live(w *world, row int32) bool {
	r := &s.items.rows[row]
	n := &w.nodes[ownerOf(r.ID)]
	return !n.dead && n.clock < clockOf(r.Lease.Until)
}

// around returns the tickets of the rows of living waiters from ticket a up to b, and above the floor.
func (s *search) around(w *world, a, b uint8, group string) (set uint16) {
	floor := small(s.items.recs[w.rec].Floor())
	for _, row := range w.rows {
		if row == none {
			break
		}
		t := s.ticketOf(row)
		if t >= a && t <= b && t > floor && s.live(w, row) && (group == "" || s.items.rows[row].Group == group) {
			set |= 1 << t
		}
	}
	return set
}

// callerWith returns the caller of a client that waits with a ticket.
func (s *search) callerWith(w *world, i int, t uint8) (*caller, *Client) {
	for j := range w.nodes[i].callers {
		if c := &w.nodes[i].callers[j]; c.state == waits && c.ticket == t {
			return c, s.specOf(i, j)
		}
	}
	return nil, nil
}

// arrives notes the rows that were ahead of a row as it was put, and could not come later.
func (s *search) arrives(w *world, i int, t uint8) {
	if c, spec := s.callerWith(w, i, t); c != nil && spec.Most > 0 && t > 0 {
		c.ahead = s.around(w, 0, t-1, "")
	}
}

// goes notes that a row is gone. If it is put again, it comes later.
func (s *search) goes(w *world, t uint8) {
	for i := range s.Clients {
		for j := range w.nodes[i].callers {
			w.nodes[i].callers[j].ahead &^= 1 << t
		}
	}
}

// looksAround notes the later rows of its group that a look has shown.
func (s *search) looksAround(w *world, m *msg) {
	if c, spec := s.callerWith(w, int(m.node), m.look.below); c != nil && spec.Group != "" {
		c.later = s.around(w, m.look.below+1, maxTicket, spec.Group)
	}
}

// crowded checks that a waiter which rests has counted the rows that were there before its own, and still are.
func (s *search) crowded(w *world, i int) {
	for _, b := range s.state(w.nodes[i].m).blocks {
		c, spec := s.callerWith(w, i, small(b.Ticket))
		if c == nil || spec.Most == 0 || !rests(b) || !b.Relies || b.Ends.IsZero() {
			continue
		}
		if k := bits.OnesCount16(c.ahead & s.around(w, 0, maxTicket, "")); k >= spec.Most {
			s.fail("full: %s waits behind %d, and at most %d may be ahead", nameOf(i), k, spec.Most)
		}
	}
}

// silent checks that a waiter which rests has asked the holders of its group that it knows. After a fault it may do so later.
func (s *search) silent(w *world, i int) {
	if s.Faults != (Faults{}) {
		return
	}
	for _, b := range s.state(w.nodes[i].m).blocks {
		_, spec := s.callerWith(w, i, small(b.Ticket))
		if spec == nil || !spec.Cancels || !rests(b) {
			continue
		}
		for _, h := range b.Known.Record.Holders {
			s.never(h.Group == spec.Group && h.Revoked == nil,
				"asked: %s rests, and has not asked ticket %s", nameOf(i), h.Ticket)
		}
	}
}

// turnedAway checks why a policy has ended a wait: by the clocks, and by what the client knows.
func (s *search) turnedAway(w *world, i, j int, r *member.Refuse) {
	c, spec := &w.nodes[i].callers[j], s.specOf(i, j)
	ahead := bits.OnesCount16(s.around(w, 0, max(c.ticket, 1)-1, ""))
	later := s.around(w, c.ticket+1, maxTicket, spec.Group) != 0 || small(s.items.recs[w.rec].Floor()) > c.ticket
	exact := !w.has(Ends) && !w.has(Slow) && !w.has(Crash)
	switch {
	case r.Why == machine.WhyFull && (spec.Most == 0 || exact && s.Faults == (Faults{}) && len(s.Clients) < 3 && ahead < spec.Most):
		s.fail("full: %s is refused with %d ahead", s.who(i, j), ahead)
	case r.Why == machine.WhySuperseded && (spec.Group == "" || exact && s.Faults == (Faults{}) && !later && c.later == 0):
		s.fail("superseded: %s leaves, and no later waiter of its group has come", s.who(i, j))
	}
}

// latest checks a grant to a client that a later one supersedes.
func (s *search) latest(w *world, h *queue.Holder, m *msg) {
	i := ownerOf(h.ID)
	c, spec := s.callerWith(w, i, small(h.Ticket))
	name := s.items.writes[m.write[0]].Name
	switch {
	case c == nil || spec.Group == "" || w.nodes[i].dead:
	case name == "PASS":
		s.fail("superseded: a release passes the lock to %s, which has not looked", nameOf(i))
	case name == "CLAIM" && m.role == request && c.later != 0:
		s.fail("superseded: %s claims, and its last look has shown a later waiter of its group", nameOf(i))
	}
}

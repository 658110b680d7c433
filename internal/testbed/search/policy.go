package search

import (
	"math/bits"
	"slices"

	"github.com/queuelock/queuelock/queue"
)

// The policies of clients, and what they promise.

// policy returns that of a client.
func (c *Client) policy() (p queue.Policy) {
	p.Group, p.CancelHolder = c.Group, c.Cancels
	if c.Most > 0 {
		p.Limited, p.Waiters = true, c.Most
	}
	return p
}

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

// arrives notes the rows that were ahead of a row as it was put, and could not come later.
func (s *search) arrives(w *world, i int, t uint8) {
	if s.Clients[i].Most > 0 && t > 0 {
		w.nodes[i].ahead = s.around(w, 0, t-1, "")
	}
}

// goes notes that a row is gone. If it is put again, it comes later.
func (s *search) goes(w *world, t uint8) {
	for i := range s.Clients {
		w.nodes[i].ahead &^= 1 << t
	}
}

// looksAround notes the later rows of its group that a look has shown.
func (s *search) looksAround(w *world, m *msg) {
	if n := &w.nodes[m.node]; m.role == byWait && s.Clients[m.node].Group != "" && n.wait != none {
		t := small(s.waits.all[n.wait].Ticket)
		n.later = s.around(w, t+1, maxTicket, s.Clients[m.node].Group)
	}
}

// crowded checks that a waiter which rests has counted the rows that were there before its own, and still are.
func (s *search) crowded(w *world, i int) {
	n, most := &w.nodes[i], s.Clients[i].Most
	p := n.current()
	if most == 0 || n.dead || n.caller != waits || p == nil || !p.inTable() || n.doing(s) != queue.Resting {
		return
	}
	if k := bits.OnesCount16(n.ahead & s.around(w, 0, maxTicket, "")); k >= most {
		s.fail("full: %s waits behind %d, and at most %d may be ahead", nameOf(i), k, most)
	}
}

// asksRight checks the holder that a waiter asks to give way by the record which it has seen: one of its group that was not asked.
func (s *search) asksRight(i int, r *stepped) {
	for _, h := range s.items.recs[s.known(r.m)].Holders {
		switch group := s.Clients[i].Group; {
		case small(h.Ticket) != r.asks:
		case h.Group != group:
			s.fail("asked: %s asks ticket %s of the group %q, and is of the group %q", nameOf(i), h.Ticket, h.Group, group)
		case h.Revoked != nil:
			s.fail("asked: %s asks ticket %s, which was asked before", nameOf(i), h.Ticket)
		}
	}
}

// silent checks that a waiter which rests has asked the holders of its group that it knows. After a fault it may do so later.
func (s *search) silent(w *world, i int) {
	n, c := &w.nodes[i], &s.Clients[i]
	if !c.Cancels || n.caller != waits || s.Faults != (Faults{}) || n.doing(s) != queue.Resting {
		return
	}
	for _, h := range s.waits.all[n.wait].Snapshot.Record.Holders {
		if h.Group == c.Group && h.Revoked == nil {
			s.fail("asked: %s rests, and has not asked ticket %s", nameOf(i), h.Ticket)
		}
	}
}

// mistaken returns a record as a waiter with a mistake reads it.
func (s *search) mistaken(rec queue.Record) queue.Record {
	rec.Holders = slices.Clone(rec.Holders)
	for i := range rec.Holders {
		switch s.mistake {
		case AsksAll:
			rec.Holders[i].Group = "g"
		case AsksAgain:
			rec.Holders[i].Revoked = nil
		}
	}
	return rec
}

// turnedAway checks why a policy has ended a wait: by the snapshot, and by the clocks.
func (s *search) turnedAway(w *world, i int, r *stepped) {
	snap, c := &s.waits.all[r.m].Snapshot, &s.Clients[i]
	floor, ahead := small(snap.Record.Floor()), 0
	later := floor > r.ticket // a later ticket was granted
	for k := range snap.Rows {
		row := &snap.Rows[k]
		t, n := small(row.Ticket), &w.nodes[ownerOf(row.ID)]
		switch {
		case n.dead || n.clock >= clockOf(row.Lease.Until):
		case t < r.ticket && t > floor:
			ahead++
		case t > r.ticket && row.Group == c.Group:
			later = true
		}
	}
	switch {
	case r.why == queue.WhyFull && (c.Most == 0 || ahead < c.Most):
		s.fail("full: %s is refused with %d ahead", nameOf(i), ahead)
	case r.why == queue.WhySuperseded && (c.Group == "" || !later):
		s.fail("superseded: %s leaves, and no later waiter of its group has come", nameOf(i))
	}
}

// latest checks a grant to a client that a later one supersedes.
func (s *search) latest(w *world, h *queue.Holder, m *msg) {
	i := ownerOf(h.ID)
	n, name := &w.nodes[i], s.items.writes[m.write[0]].Name
	switch {
	case s.Clients[i].Group == "" || n.dead:
	case name == "PASS":
		s.fail("superseded: a release passes the lock to %s, which has not looked", nameOf(i))
	case name == "CLAIM" && m.role == byWait && n.later != 0:
		s.fail("superseded: %s claims, and its last look has shown a later waiter of its group", nameOf(i))
	}
}

package search

import (
	"math/bits"

	"github.com/queuelock/queuelock/queue"
)

// The policies of clients, and what they promise.

// policy returns that of a client.
func (c *Client) policy() (p queue.Policy) {
	p.Group = c.Group
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

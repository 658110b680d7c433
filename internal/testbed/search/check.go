package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/queue"
)

func (s *search) fail(format string, args ...any) {
	if s.bad == "" {
		s.bad = fmt.Sprintf(format, args...)
	}
}

// tokens checks the ticket of which a caller hears.
func (s *search) tokens(w *world, i int, t uint8) {
	if !s.crowd && t <= w.heard && !w.has(deletes) && !s.resumes {
		s.fail("fencing: %s hears of ticket %d after %d", nameOf(i), t, w.heard)
	}
	w.heard = max(w.heard, t)
}

// recordChanged checks what a write has made of the record.
func (s *search) recordChanged(w *world, m *msg, was int32) {
	before, rec := &s.items.recs[was], &s.items.recs[w.rec]
	name := s.items.writes[m.write[0]].Name
	switch {
	case rec.Problem != nil:
		s.fail("malformed: after %s: %v", name, rec.Problem)
		return
	case rec.TicketNumber.Compare(before.TicketNumber) > 0:
		from := rec.TicketNumber
		if !s.Wide {
			from, _ = before.TicketNumber.Next()
		}
		for t := small(from); t <= min(small(rec.TicketNumber), maxTicket+1); t++ {
			s.issued(w, t, small(before.Floor()))
		}
	}
	floor := small(before.Floor())
	for k := range rec.Holders {
		h := &rec.Holders[k]
		s.askedRight(m, before, h, name)
		if h.Closed {
			continue
		}
		if old, ok := before.Mine(h.ID); ok && old.Ticket == h.Ticket {
			continue
		}
		s.grants(w, h, small(h.Ticket), floor, m)
	}
	s.mode(rec)
	if name != "PASS" && len(rec.Holders) <= len(before.Holders) {
		for u := floor + 1; u <= small(rec.Floor()); u++ {
			for i := range s.Clients {
				if s.wanted(w, i) == u && w.nodes[i].doing(s) != queue.Claiming {
					s.fail("overtaking: %s raises the floor past ticket %d, for which %s waits", name, u, nameOf(i))
				}
			}
		}
	}
	for t := range w.before {
		if uint8(t) <= small(rec.Floor()) {
			w.before[t] = 0
		}
	}
	s.removed(w, m, before, rec, name)
	s.used(w, m, name, before, rec)
	s.results(name, before, rec)
	s.marked(w, before, rec)
}

// issued notes the rows that were there when a ticket was issued.
func (s *search) issued(w *world, t, floor uint8) {
	set := uint16(0)
	for _, r := range w.rows {
		if r != none && s.ticketOf(r) > floor && s.ticketOf(r) < t {
			set |= 1 << s.ticketOf(r)
		}
	}
	if t > maxTicket {
		s.fail("tickets: number %d is issued", t)
		return
	}
	w.before[t] = set
}

// grants checks a grant by the table.
func (s *search) grants(w *world, h *queue.Holder, t, floor uint8, m *msg) {
	if t <= w.grant && s.items.writes[m.write[0]].Name != "RESUME" {
		s.fail("fencing: the table grants ticket %d after %d", t, w.grant)
	}
	for i := range s.Clients {
		if n := &w.nodes[i]; n.clock < n.opens {
			s.fail("closed: ticket %d is granted at %d, and the turn of %s keeps the queue closed until %d", t, n.clock, nameOf(i), n.opens)
		}
	}
	if t < w.turn {
		s.fail("fencing: the table grants ticket %d after the turn of %d has begun", t, w.turn)
	}
	w.grant = max(w.grant, t)
	for u := floor + 1; u < t; u++ {
		if w.before[t]&(1<<u) == 0 {
			continue
		}
		k, ok := s.rowOf(w, u)
		if !ok {
			continue
		}
		if i := ownerOf(s.items.rows[w.rows[k]].ID); s.relies(w, i, u) {
			s.fail("fifo: ticket %d is granted before %d, whose row was there before", t, u)
		}
	}
	s.latest(w, h, m)
}

// askedRight checks that no other turn is asked to give way than the one that was shown, and that nothing else changes.
func (s *search) askedRight(m *msg, before *queue.Record, h *queue.Holder, name string) {
	old, _ := before.Mine(h.ID)
	switch {
	case name == "REVOKE" && (h.Revoked != nil) != (old.Revoked != nil) && small(h.Ticket) != m.ticket:
		s.fail("asked: the turn of ticket %s was asked to give way, and ticket %d was meant", h.Ticket, m.ticket)
	case name == "REVOKE" && (h.Lease != old.Lease || h.Ticket != old.Ticket || h.Made != old.Made):
		s.fail("asked: %s has changed more of %s", name, h.ID)
	case name == "RESUME" && old.ID == "":
		if i := slices.IndexFunc(before.Holders, func(o queue.Holder) bool { return o.Ticket == h.Ticket }); i >= 0 {
			old = before.Holders[i]
		}
	}
	if name != "REVOKE" && h.Ticket == old.Ticket && old.Revoked != nil && h.Revoked == nil {
		s.fail("asked: %s removes the mark of %s", name, h.ID)
	}
}

// mode checks that the holders may hold together.
func (s *search) mode(rec *queue.Record) {
	most, writers := 1, 0
	for _, h := range rec.Holders {
		if !h.Shared {
			writers++
		}
	}
	switch {
	case rec.Permits > 0:
		most = rec.Permits
	case writers == 0:
		most = s.readers
	}
	if len(rec.Holders) > most {
		s.fail("exclusion: the record has %d holders", len(rec.Holders))
	}
}

// marked notes which marks replace that of a turn that has ended.
func (s *search) marked(w *world, before, rec *queue.Record) {
	for i := range s.Clients {
		h := &w.nodes[i].hold
		if h.m == none || h.end == running || s.crowd {
			continue
		}
		id, t, released, evicted := s.ids[h.number], tickets[h.first], rec.Marks.Released, rec.Marks.Evicted
		h.released = h.released || released != before.Marks.Released && (released.ID != id || released.Ticket != t)
		h.evicted = h.evicted || evicted != before.Marks.Evicted && (evicted.ID != id || evicted.Ticket != t)
	}
}

// rare checks that an outcome is unknown only where two marks have replaced that of the turn.
func (s *search) rare(w *world, i int) {
	h := &w.nodes[i].hold
	if !s.crowd && !w.has(deletes) && !(h.evicted && (h.released || s.items.recs[w.rec].Marks.Released.ID == "")) {
		s.fail("rare: %s does not learn how the turn of ticket %d ended", nameOf(i), h.ticket)
	}
}

// removed checks the entries that a write has removed.
func (s *search) removed(w *world, m *msg, before, rec *queue.Record, name string) {
	for k := range before.Holders {
		h := &before.Holders[k]
		if now, ok := rec.Mine(h.ID); ok && now.Ticket == h.Ticket {
			continue
		}
		n := &w.nodes[ownerOf(h.ID)]
		s.lasts(w, m, h, name)
		if m.role == byOperator {
			n.opens = 0
		}
		if n.hold.m == none || s.ids[n.hold.number] != h.ID || tickets[n.hold.first] != h.Ticket {
			continue
		}
		wr := &s.items.writes[m.write[0]]
		lost := name == "RELEASE" && wr.Repeat == clause.Freely // of a lock that is lost
		if (lost || name == "EVICT" || name == "CLEAN UP") && m.role != byOperator && n.clock < clockOf(h.Lease.Until)+int8(h.Lease.Delay/unit) && h.Lease.Delay > 0 {
			s.fail("delay: %s removes %s within its lock delay", name, h.ID)
		}
		own := int(m.node) == ownerOf(h.ID) // another client of its name has ended
		switch {
		case m.role == byOperator, name == "RESUME": // the process before should have ended
			n.hold.end, n.hold.excused = byOther, true
			continue
		case (name == "RELEASE" || name == "PASS" || name == "RETAKE") && own && n.hold.end == running:
			n.hold.end = byRelease
			continue
		case n.hold.end == running:
			n.hold.end = byOther
		}
		if s.believes(n) && !n.hold.excused {
			s.fail("judged: %s removes %s, which holds the lock", name, h.ID)
		}
	}
}

// lasts checks that a grant by name lasts as long as the row: a live waiter keeps its turn, however late it looks.
func (s *search) lasts(w *world, m *msg, h *queue.Holder, name string) {
	i, t := ownerOf(h.ID), small(h.Ticket)
	k, ok := s.rowOf(w, t)
	if !ok || h.Accepted() || m.role == byOperator || s.wanted(w, i) != t {
		return
	}
	if w.nodes[i].clock < clockOf(s.items.rows[w.rows[k]].Lease.Until) {
		s.fail("turn: %s ends the turn of ticket %d, and %s still waits with the row that was named", name, t, nameOf(i))
	}
}

// rowChanged checks a write of a row.
func (s *search) rowChanged(w *world, m *msg, name string, was int32) {
	row := &s.items.rows[was]
	switch {
	case was == none:
		return
	case name == "RESUME of a row", name == "CLEAN UP of a row": // of A, which is resumed, or of the sender
		if i := ownerOf(row.ID); i != 0 && i != int(m.node) && s.relies(w, i, small(row.Ticket)) {
			s.fail("judged: %s is of the live row of %s", name, nameOf(i))
		}
		return
	case name != "SWEEP":
		return
	}
	i, t := ownerOf(row.ID), small(row.Ticket)
	for k := range w.before {
		w.before[k] &^= 1 << t
	}
	if s.relies(w, i, t) {
		s.fail("judged: the live row of ticket %d is swept", t)
	}
}

// relies reports whether a node waits for a ticket, and relies on its row.
func (s *search) relies(w *world, i int, t uint8) bool {
	n := &w.nodes[i]
	return s.wanted(w, i) == t && n.current().inTable() && n.clock < n.current().until
}

// check looks at every state.
func (s *search) check(w *world) {
	var all []string
	writers, most := 0, 1
	for i := range s.Clients {
		n := &w.nodes[i]
		if h := &n.hold; !s.believes(n) || h.excused || (h.updating || h.open) && s.mistake != StillOpen || h.begun && s.mistake == ReleaseInTx {
			continue
		}
		if !n.hold.shared {
			writers++
		}
		most = max(most, s.Clients[i].Mode.Permits)
		if s.crowd || len(all) > 0 || s.log != nil {
			all = append(all, fmt.Sprintf("%s with ticket %d", nameOf(i), n.hold.ticket))
		} else {
			all = append(all, nameOf(i))
		}
	}
	for i := range s.Clients {
		s.crowded(w, i)
		s.silent(w, i)
	}
	if len(all) > 1 && writers > 0 && len(all) > most {
		s.fail("exclusion: several rely on the lock: %s", strings.Join(all, ", "))
	}
}

// final checks a state in which only faults can happen.
func (s *search) final(w *world) {
	for i := range s.Clients {
		n := &w.nodes[i]
		switch {
		case n.dead:
		case s.Clients[i].Resumes && n.caller == idle: // perhaps there was nothing to resume
		case n.caller != idle || n.turns > 0:
			s.fail("wedged: nothing can happen any more, and %s is %s", nameOf(i), n.doing(s))
		case slices.ContainsFunc(n.places[:], func(p place) bool { return p.state != noPlace }):
			s.fail("wedged: %s is not done with its rows", nameOf(i))
		case s.Clients[i].Block > 0 && !s.Clients[i].Resumes && int(n.ended) < s.Clients[i].Turns:
			s.fail("callers: %d of the %d callers of %s have an end", n.ended, s.Clients[i].Turns, nameOf(i))
		}
	}
	full := slices.ContainsFunc(s.Clients, func(c Client) bool { return c.Most > 0 }) // a waiter leaves that may have been named
	if (full || w.has(giveUp)) && s.Names || w.stays || w.has(late) || w.has(dup) || w.has(crash) || w.has(evict) || w.has(deletes) {
		return
	}
	if w.has(ends) && slices.ContainsFunc(s.Clients, func(c Client) bool { return c.Delays }) { // which it is left to
		return
	}
	if slices.ContainsFunc(s.Clients, func(c Client) bool { return c.AtLeast }) { // a sweep, or the next to come, opens it
		return
	}
	if rec := &s.items.recs[w.rec]; len(rec.Holders) > 0 || w.rows[0] != none {
		s.fail("clean: all is over, and %d holders are left, and rows: %v", len(rec.Holders), w.rows[0] != none)
	} else if quick := slices.ContainsFunc(s.Clients, func(c Client) bool { return c.NoWait || c.Once || c.Most > 0 }); rec.Present && w.used == 0 && !s.crowd && !quick {
		s.fail("clean: all is over, and the queue is not idle")
	}
}

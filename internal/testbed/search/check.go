package search

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

func (s *search) fail(format string, args ...any) {
	if s.bad == "" {
		s.bad = fmt.Sprintf(format, args...)
	}
}

// never fails if something is so.
func (s *search) never(is bool, format string, args ...any) {
	if is {
		s.fail(format, args...)
	}
}

// tokens checks the ticket of which a caller hears.
func (s *search) tokens(w *world, i, j int, t uint8) {
	s.never(!s.crowd && t <= w.heard && (!w.has(Delete) || s.Forgets) && !s.resumes,
		"fencing: %s hears of ticket %d after %d", s.who(i, j), t, w.heard)
	w.heard = max(w.heard, t)
}

// believes reports whether a caller relies on its lock.
func (s *search) believes(w *world, i, j int) bool {
	n := &w.nodes[i]
	c := &n.callers[j]
	if n.dead || c.lost || c.state != holds || c.updates || c.open {
		return false
	}
	for _, b := range s.state(n.m).blocks {
		if b.Turn >= 0 && b.Relies && int(b.Callers.At(b.Turn)) == j {
			return b.Ends.IsZero() || n.clock < clockOf(b.Ends)
		}
	}
	return false
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
	var granted *queue.Holder
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
		if name == "RESUME" {
			s.resumed(w, h, before, m)
			continue
		}
		granted = h
	}
	s.constant(w, before, rec, name)
	s.numbered(rec, name)
	if s.mode(rec); granted != nil {
		s.eachTurn(w, func(i, j int, c *caller) {
			s.never(!(c.shared && granted.Shared) && s.specOf(i, j).Mode.Permits == 0 && !c.excused && s.believes(w, i, j),
				"belief: ticket %s is granted while %s relies on the lock", granted.Ticket, s.who(i, j))
		})
	}
	if name != "PASS" && len(rec.Holders) <= len(before.Holders) {
		s.overtakes(w, name, floor, rec)
	}
	for t := range w.before {
		if uint8(t) <= small(rec.Floor()) {
			w.before[t] = 0
		}
	}
	s.removed(w, m, before, rec, name)
	s.used(w, m, name, before, rec)
	if old := before.Result; old.Exists() && old.Ticket != rec.Result.Ticket { // none grows old here
		s.fail("result: %s leaves the result of ticket %s in place of that of ticket %s", name, rec.Result.Ticket, old.Ticket)
	}
	s.marked(w, before, rec)
}

// resumed checks that what is resumed has not ended, and that no other process has resumed it.
func (s *search) resumed(w *world, h *queue.Holder, before *queue.Record, m *msg) {
	k := slices.IndexFunc(before.Holders, func(o queue.Holder) bool {
		return !o.Closed && o.Ticket.Compare(h.Ticket) <= 0 && h.Ticket.Compare(o.Last()) <= 0
	})
	if k < 0 {
		s.fail("ended: ticket %s is resumed, and its turn has ended", h.Ticket)
	} else if of := ownerOf(before.Holders[k].ID); !s.continues(int(m.node), of) {
		s.fail("resume: %s resumes ticket %s, and %s has resumed it", nameOf(int(m.node)), h.Ticket, nameOf(of))
	}
}

// hasPlace reports whether a caller may have a place with a ticket: that may be granted, and no other client has its row.
func (s *search) hasPlace(w *world, i int, t uint8) bool {
	k, there := s.rowOf(w, t)
	return t > 0 && !w.has(Delete) && small(s.items.recs[w.rec].Floor()) < t && (!there || s.continues(i, ownerOf(s.items.rows[w.rows[k]].ID)))
}

// alone reports whether no other process waits, or has left a request, that has a handle of what a client resumes.
func (s *search) alone(w *world, i int) bool {
	for k := range s.Clients {
		n := &w.nodes[k]
		switch before := s.continues(i, k); {
		case k == i:
		case before && !n.dead && !s.state(n.m).idle, !before && s.Clients[k].Resumes && (n.came > 0 || n.known != (handle{})):
			return false
		}
	}
	return true
}

// continues reports whether a client is another one, or continues what that has left.
func (s *search) continues(i, of int) bool {
	for ; i != of && s.Clients[i].Resumes; i = s.Clients[i].From {
	}
	return i == of
}

// overtakes checks that the floor does not rise past a ticket for which a client waits.
func (s *search) overtakes(w *world, name string, floor uint8, rec *queue.Record) {
	for u := floor + 1; u <= small(rec.Floor()); u++ {
		for i := range s.Clients {
			if b := s.wanted(w, i, u); b != nil && b.Doing != machine.Claiming {
				s.fail("overtaking: %s raises the floor past ticket %d, for which %s waits", name, u, nameOf(i))
			}
		}
	}
}

// wanted returns the block of a client that waits for a ticket, with a row or on the way to one.
func (s *search) wanted(w *world, i int, t uint8) *member.Block {
	n := &w.nodes[i]
	if n.dead {
		return nil
	}
	all := s.state(n.m).blocks
	for k := range all {
		if b := &all[k]; b.Waits && b.Ticket == tickets[t] && b.Row {
			return b
		}
	}
	return nil
}

// relies reports whether a node waits for a ticket, and relies on its row.
func (s *search) relies(w *world, i int, t uint8) bool {
	b := s.wanted(w, i, t)
	return b != nil && b.Relies && !b.Ends.IsZero() && w.nodes[i].clock < clockOf(b.Ends)
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
	s.never(t <= w.grant && s.items.writes[m.write[0]].Name != "RESUME",
		"fencing: the table grants ticket %d after %d", t, w.grant)
	for i := range s.Clients {
		if n := &w.nodes[i]; n.clock < n.opens {
			s.fail("closed: ticket %d is granted at %d, and the turn of %s keeps the queue closed until %d", t, n.clock, nameOf(i), n.opens)
		}
	}
	s.never(t < w.turn && !s.crowd, "fencing: the table grants ticket %d after the turn of %d has begun", t, w.turn)
	w.grant = max(w.grant, t)
	for u := floor + 1; u < t; u++ {
		s.keepsRow(w, u, t)
		if w.before[t]&(1<<u) == 0 {
			continue
		}
		for i := range s.Clients {
			s.keeps(w, i, u, false, fmt.Sprintf("the grant of ticket %d", t))
		}
		k, ok := s.rowOf(w, u)
		if !ok {
			continue
		}
		if i := ownerOf(s.items.rows[w.rows[k]].ID); s.relies(w, i, u) && s.alone(w, i) { // else another process has resumed it
			s.fail("fifo: ticket %d is granted before %d, whose row was there before", t, u)
		}
	}
	s.latest(w, h, m)
}

// keepsRow checks that a waiter which a grant passes has its row, so far as it knows, or is about to put it.
func (s *search) keepsRow(w *world, u, t uint8) {
	for i := range s.Clients {
		b := s.wanted(w, i, u)
		puts := func(m msg) bool {
			wr := &s.items.writes[m.write[0]]
			return int(m.node) == i && m.role == request && wr.row == u && wr.Kind == clause.Put
		}
		retries := func(t member.Timed) bool { return t.Kind == member.Retries }
		s.never(b != nil && b.Doing == machine.Resting && b.Ends.IsZero() && !slices.ContainsFunc(w.net[:], puts) &&
			!slices.ContainsFunc(s.state(w.nodes[i].m).timers, retries), "rowkept: ticket %d is granted, and %s waits with %d without a row", t, nameOf(i), u)
	}
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
	s.never(name != "REVOKE" && h.Ticket == old.Ticket && old.Revoked != nil && h.Revoked == nil,
		"asked: %s removes the mark of %s", name, h.ID)
}

// constant checks what no write changes, and what only rises.
func (s *search) constant(w *world, before, rec *queue.Record, name string) {
	s.never(before.Exists && (rec.Permits != before.Permits || rec.Scope != before.Scope),
		"kind: %s makes the queue of %d permits and %v one of %d permits and %v", name, before.Permits, before.Scope, rec.Permits, rec.Scope)
	s.never(rec.Scope != ticket.ScopeQueue && small(rec.TicketNumber) > w.number,
		"tickets: %s issues ticket %s, and the counter is at %d", name, rec.TicketNumber, w.number)
	for _, h := range rec.Holders {
		old, _ := before.Mine(h.ID)
		s.never(h.Lease.Beat < old.Lease.Beat, "back: %s sets the beat of %s back", name, h.ID)
	}
}

// numbered checks that each holder of a semaphore has a number, and no other one has it.
func (s *search) numbered(rec *queue.Record, name string) {
	if rec.Permits == 0 {
		return
	}
	taken := map[int]string{}
	for _, h := range rec.Holders {
		switch {
		case h.Slot == nil:
			s.fail("slots: after %s %s has no number", name, h.ID)
		case taken[*h.Slot] != "":
			s.fail("slots: after %s both %s and %s have number %d", name, taken[*h.Slot], h.ID, *h.Slot)
		default:
			taken[*h.Slot] = h.ID
		}
	}
}

// ownNumber checks that a caller which relies on its permit has the number of its entry.
func (s *search) ownNumber(w *world, i, j int) {
	c := &w.nodes[i].callers[j]
	for k := range s.items.recs[w.rec].Holders {
		h := &s.items.recs[w.rec].Holders[k]
		s.never(s.owns(c, h) && (h.Slot == nil || int8(*h.Slot)+1 != c.slot),
			"slots: %s relies on number %d, and the entry of ticket %s has another", s.who(i, j), c.slot-1, h.Ticket)
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
	s.never(len(rec.Holders) > most, "exclusion: the record has %d holders", len(rec.Holders))
}

// eachTurn calls a function for each caller whose turn is not over.
func (s *search) eachTurn(w *world, do func(i, j int, c *caller)) {
	for i := range s.Clients {
		for j := range w.nodes[i].callers {
			if c := &w.nodes[i].callers[j]; c.served() {
				do(i, j, c)
			}
		}
	}
}

// marked notes which marks replace that of a turn that has ended.
func (s *search) marked(w *world, before, rec *queue.Record) {
	s.eachTurn(w, func(_, _ int, c *caller) {
		if c.end == running || s.crowd {
			return
		}
		id, t, is, was := s.ids[c.id], tickets[c.first], rec.Marks, before.Marks
		others := func(of string, at uint8) bool { return !strings.HasPrefix(of, id+"-") || tickets[at] != t }
		c.released = c.released || is.Released != was.Released && others(is.Released.ID, small(is.Released.Ticket))
		c.evicted = c.evicted || is.Evicted != was.Evicted && others(is.Evicted.ID, small(is.Evicted.Ticket))
	})
}

// rare checks that an outcome is unknown only where two marks have replaced that of the turn.
func (s *search) rare(w *world, i, j int) {
	c := &w.nodes[i].callers[j]
	s.never(!s.crowd && !w.has(Delete) && !(c.evicted && (c.released || s.items.recs[w.rec].Marks.Released.ID == "")),
		"rare: %s does not learn how the turn of ticket %d ended", s.who(i, j), c.ticket)
}

// owns reports whether an entry is that of a caller's turn.
func (s *search) owns(c *caller, h *queue.Holder) bool {
	return strings.HasPrefix(h.ID, s.ids[c.id]+"-") && h.Ticket.Compare(tickets[c.ticket]) <= 0 && tickets[c.ticket].Compare(h.Last()) <= 0
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
		s.givesAway(w, m, h, name)
		if m.role == operators {
			n.opens = 0
		}
		for j := range n.callers {
			if c := &n.callers[j]; c.served() && s.owns(c, h) {
				s.removes(w, m, h, name, j)
			}
		}
		s.never(name == "EVICT" && m.role != operators && !h.Closed && !s.Names && w.used&(1<<GiveUp|1<<Slow|1<<Beat|1<<RowBeat|1<<Guess|1<<Ask) == w.used,
			"orphan: %s has no owner, and no fault has left it", h.ID)
	}
}

// removes checks the removal of the entry by which a caller holds the lock.
func (s *search) removes(w *world, m *msg, h *queue.Holder, name string, j int) {
	i := ownerOf(h.ID)
	n := &w.nodes[i]
	c := &n.callers[j]
	lost := name == "RELEASE" && s.items.writes[m.write[0]].Repeat == clause.Freely // of a lock that is lost
	if (lost || name == "EVICT" || name == "CLEAN UP") && m.role != operators && n.clock < clockOf(h.Lease.Until)+int8(h.Lease.Delay/unit) && h.Lease.Delay > 0 {
		s.fail("delay: %s removes %s within its lock delay", name, h.ID)
	}
	switch own := int(m.node) == i; { // another client of its name has ended
	case m.role == operators, name == "RESUME": // the process before should have ended
		c.end, c.excused = byOther, true
		return
	case (name == "RELEASE" || name == "PASS" || name == "RETAKE") && own && c.end == running:
		c.end = byRelease
		return
	case c.end == running:
		c.end = byOther
	}
	s.never(s.believes(w, i, j) && !c.excused, "judged: %s removes %s, which holds the lock", name, h.ID)
}

// givesAway checks that a caller which keeps its place does not lose a lock that it was granted meanwhile.
func (s *search) givesAway(w *world, m *msg, h *queue.Holder, name string) {
	i, t := ownerOf(h.ID), small(h.Ticket)
	n := &w.nodes[i]
	if m.role == operators || n.dead || w.has(Late) || w.has(Dup) || name == "RESUME" {
		return
	}
	s.never(n.known.ticket == t && n.clock < n.keeps, "kept: %s removes ticket %d, whose place %s keeps", name, t, nameOf(i))
	for j := range n.callers {
		c := &n.callers[j]
		s.never(s.specOf(i, j).Keeps && c.state == waits && c.ticket == t && n.clock < clockOf(h.Lease.End()),
			"kept: %s removes ticket %d, for which %s waits", name, t, s.who(i, j))
	}
}

// lasts checks that a grant by name lasts as long as the row: a live waiter keeps its turn, however late it looks.
func (s *search) lasts(w *world, m *msg, h *queue.Holder, name string) {
	i, t := ownerOf(h.ID), small(h.Ticket)
	k, ok := s.rowOf(w, t)
	if !ok || h.Accepted() || m.role == operators || name == "RESUME" || s.wanted(w, i, t) == nil {
		return
	}
	s.never(w.nodes[i].clock < clockOf(s.items.rows[w.rows[k]].Lease.Until),
		"turn: %s ends the turn of ticket %d, and %s still waits with the row that was named", name, t, nameOf(i))
}

// rowChanged checks a write of a row.
func (s *search) rowChanged(w *world, m *msg, name string, was int32) {
	row := &s.items.rows[was]
	switch {
	case was == none:
		return
	case name == "RESUME of a row", name == "LEAVE", name == "CLEAN UP of a row": // of A, which is resumed, or of the sender
		i := ownerOf(row.ID)
		if !s.continues(int(m.node), i) && s.relies(w, i, small(row.Ticket)) {
			s.fail("judged: %s is of the live row of %s", name, nameOf(i))
		}
		s.keeps(w, i, small(row.Ticket), name != "CLEAN UP of a row" && i != int(m.node) && s.continues(int(m.node), i), name)
		return
	case name == "HEARTBEAT of a row":
		k, _ := s.rowOf(w, small(row.Ticket))
		s.never(s.items.rows[w.rows[k]].Until.Before(row.Until), "back: %s sets the end of the lease of %s back", name, row.ID)
		return
	case name != "SWEEP":
		return
	}
	i, t := ownerOf(row.ID), small(row.Ticket)
	s.keeps(w, i, t, false, name)
	for k := range w.before {
		w.before[k] &^= 1 << t
	}
	s.never(s.relies(w, i, t), "judged: the live row of ticket %d is swept", t)
}

// keeps checks that the row of a place that is kept stays, unless another process resumes it.
func (s *search) keeps(w *world, i int, t uint8, resumed bool, name string) {
	n := &w.nodes[i]
	if n.dead || n.known.ticket != t || n.clock >= n.keeps {
		return
	}
	s.never(!resumed, "kept: %s ends the place of %s, which is kept", name, nameOf(i))
	n.keeps = 0
}

// ofTurn are the writes that change an entry, of a turn that has not ended.
var ofTurn = []string{"HEARTBEAT", "CONFIRM", "SETDATA", "DOWNGRADE", "ADVANCE"}

// used notes what a write of a holder has made of its entry, and checks that.
func (s *search) used(w *world, m *msg, name string, before, rec *queue.Record) {
	for k := range rec.Holders {
		own := &rec.Holders[k]
		was, ok := before.Mine(own.ID)
		if !ok || ownerOf(own.ID) != int(m.node) || own.Ticket != was.Ticket {
			continue
		}
		if t := tickets[m.ticket]; slices.Contains(ofTurn, name) && m.ticket > 0 && (t.Less(own.Ticket) || own.Last().Less(t)) && !reflect.DeepEqual(own, &was) {
			s.fail("ended: %s of ticket %s is applied to %s, which has the ticket %s", name, t, own.ID, own.Ticket)
		}
		s.never(own.DataSet < was.DataSet, "late: %s replaces later data", name)
		if own.Reached.Less(was.Reached) {
			s.fail("late: %s goes back to turn %s from %s", name, own.Reached, was.Reached)
		}
		for j := range w.nodes[m.node].callers {
			if c := &w.nodes[m.node].callers[j]; c.served() && small(own.Ticket) <= c.ticket && c.ticket <= small(own.Last()) {
				c.down, c.data = c.down || own.Shared, max(c.data, int8(min(own.DataSet, 9)))
			}
		}
	}
}

// updated checks an update that the table has applied with a release.
func (s *search) updated(w *world, m *msg, before *queue.Record) {
	c := &w.nodes[m.node].callers[m.caller]
	k := slices.IndexFunc(before.Holders, func(h queue.Holder) bool {
		return ownerOf(h.ID) == int(m.node) && h.Ticket.Compare(tickets[m.ticket]) <= 0 && tickets[m.ticket].Compare(h.Last()) <= 0
	})
	switch {
	case c.madeUpdate > 0:
		s.fail("written: the update of ticket %d is made by call %d, and again by %d", m.ticket, c.madeUpdate, m.call)
	case k < 0:
		s.fail("written: an update of ticket %d is made, which is not in the record", m.ticket)
	case m.ticket < max(w.grant, w.turn) && !before.Holders[k].Shared:
		s.fail("fence: an update of ticket %d is made after a later grant", m.ticket)
	case c.noUpdate&(1<<m.call) != 0 && !w.has(Dup):
		s.fail("reported: %s has heard that its update will not be made, and it is", s.who(int(m.node), int(m.caller)))
	}
	c.madeUpdate = m.call
}

// check looks at every state.
func (s *search) check(w *world) {
	var all []string
	writers, most := 0, 1
	s.eachTurn(w, func(i, j int, c *caller) {
		if !s.believes(w, i, j) || c.excused {
			return
		}
		if !c.shared {
			writers++
		}
		if n := s.specOf(i, j).Mode.Permits; n > 0 {
			most = max(most, n)
			s.ownNumber(w, i, j)
		}
		all = append(all, s.who(i, j))
	})
	for i := range s.Clients {
		if !w.nodes[i].dead {
			s.crowded(w, i)
			s.silent(w, i)
		}
	}
	if len(all) > 1 && writers > 0 && len(all) > most {
		s.fail("exclusion: several rely on the lock: %s", strings.Join(all, ", "))
	}
}

// final checks a state in which only faults can happen.
func (s *search) final(w *world) {
	for i := range s.Clients {
		n := &w.nodes[i]
		if n.dead || s.Clients[i].Resumes && n.came == 0 { // perhaps there was nothing to resume
			continue
		}
		for j := range s.callersOf(i) {
			if c := &n.callers[j]; c.state != over {
				s.fail("wedged: nothing can happen any more, and %s has no end%s", s.who(i, j), s.doing(n.m))
			}
		}
		s.never(!s.state(n.m).idle, "wedged: %s is not done", nameOf(i))
	}
	switch some := func(is func(Client) bool) bool { return slices.ContainsFunc(s.Clients, is) }; {
	case w.stays, w.has(Late) && !s.Again, w.has(Dup), w.has(Crash), w.has(Evict), w.has(Delete),
		// A waiter leaves that may have been named.
		(w.has(GiveUp) || some(func(c Client) bool { return c.Most > 0 })) && s.Names,
		// It is left to the lease, to a sweep or the next that comes, or to another program.
		w.has(Ends) && some(func(c Client) bool { return c.Delays }),
		(w.has(GiveUp) || s.Silent) && some(func(c Client) bool { return c.Keeps }),
		some(func(c Client) bool { return c.AtLeast || c.With != nil && c.With.AtLeast }),
		s.Record != nil:
		return
	}
	if rec := &s.items.recs[w.rec]; len(rec.Holders) > 0 || w.rows[0] != none {
		s.fail("clean: all is over, and %d holders are left, and rows: %v", len(rec.Holders), w.rows[0] != none)
	} else if quick := slices.ContainsFunc(s.Clients, func(c Client) bool { return c.NoWait || c.Once || c.Most > 0 }); rec.Present && w.used == 0 && !s.crowd && !quick {
		s.fail("clean: all is over, and the queue is not idle")
	}
}

// doing says what the blocks of a member do.
func (s *search) doing(m int32) (text string) {
	for _, b := range s.state(m).blocks {
		if b.Waits {
			text += fmt.Sprintf(", ticket %s is %s", b.Ticket, b.Doing)
		}
	}
	return text
}

// matters reports whether a node has left something that nothing but the end of its lease ends.
func (s *search) matters(w *world, i int) bool {
	n := &w.nodes[i]
	for _, h := range s.items.recs[w.rec].Holders {
		if ownerOf(h.ID) != i || n.dead && (h.NotBefore.IsZero() || n.clock >= clockOf(h.NotBefore)) {
			continue
		}
		own := !n.dead && slices.ContainsFunc(s.state(n.m).blocks, func(b member.Block) bool { return b.ID == h.ID })
		if !own && !h.Lease.Endless() && n.clock < clockOf(h.Lease.End()) {
			return true
		}
	}
	for _, r := range w.rows {
		if n.dead || r == none || ownerOf(s.items.rows[r].ID) != i {
			continue
		}
		if s.wanted(w, i, s.ticketOf(r)) == nil && !slices.Contains(s.state(n.m).rows, s.items.rows[r].Ticket) && n.clock < clockOf(s.items.rows[r].Lease.Until) {
			return true
		}
	}
	return false
}

// resultLeft checks that there is a result, as a client hears.
func (s *search) resultLeft(w *world, i int) {
	s.never(!s.items.recs[w.rec].Result.Exists() && !w.has(Delete),
		"reported: %s hears of a result, and there is none", nameOf(i))
}

// meant checks the holder that a waiter asks to give way, and returns its ticket: one of its group, in the record that it has
// seen, that was not asked.
func (s *search) meant(k *stepKey, e *member.Send) uint8 {
	rec := &s.items.recs[k.rec]
	h, ok := rec.Mine(e.Say)
	if !ok {
		for _, b := range s.state(k.m).blocks {
			if !ok && b.Waits {
				h, ok = b.Known.Record.Mine(e.Say)
			}
		}
	}
	group := s.groupOf(int(k.node))
	switch {
	case !ok:
		s.fail("asked: %s asks %s, which it has not seen", nameOf(int(k.node)), e.Say)
	case h.Group != group:
		s.fail("asked: %s asks ticket %s of the group %q, and is of the group %q", nameOf(int(k.node)), h.Ticket, h.Group, group)
	case h.Revoked != nil:
		s.fail("asked: %s asks ticket %s, which was asked before", nameOf(int(k.node)), h.Ticket)
	}
	return small(h.Ticket)
}

// groupOf returns the group of the callers of a client that ask holders to give way.
func (s *search) groupOf(i int) string {
	if c := s.Clients[i].With; c != nil && c.Cancels {
		return c.Group
	}
	return s.Clients[i].Group
}

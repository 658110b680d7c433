package search

import (
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/queue"
)

// granted begins a held lock.
func (s *search) granted(w *world, i int, r *stepped) {
	n := &w.nodes[i]
	rec := s.waits.all[r.m].Snapshot.Record
	n.hold = hold{
		state: held, claimed: r.claimed, named: r.named, accepted: !r.named, endless: r.endless,
		ticket: r.ticket, sent: r.sent, until: r.until, number: r.id, seen: s.items.of(s.itemOf(rec)),
	}
	s.say("    %s holds the lock with ticket %d", nameOf(i), r.ticket)
	s.tokens(w, i, r.ticket)
	_, in := s.items.recs[w.rec].Mine(s.ids[r.id])
	n.hold.excused = !in && (w.has(evict) || w.has(deletes))
	n.caller, n.wait = holds, none
	if r.named {
		return // its row stays until the grant is accepted
	}
	s.withdraw(w, i)
}

// believes reports whether a node relies on its lock.
func (s *search) believes(n *node) bool {
	h := &n.hold
	return !n.dead && h.state == held && !h.lost && (h.endless || n.clock < h.sent+s.ttl)
}

// heartbeat sends a heartbeat, which also accepts a grant by name.
func (s *search) heartbeat(w *world, i int) {
	n := &w.nodes[i]
	h := &n.hold
	r := queue.Renewal{}
	if !h.endless {
		h.until = max(h.until, n.clock+s.ttl)
		r.Until = at(h.until, 0)
	}
	if h.named {
		r.TTL = time.Duration(s.ttl) * unit
	}
	h.beating = true
	m := msg{role: byBeat, node: int8(i), clock: n.clock}
	m.write[0] = s.items.send(r.Heartbeat(s.ids[h.number], tickets[h.ticket]), false, s.ids[h.number], s.plant)
	s.say("    %s sends HEARTBEAT until %d", nameOf(i), h.until)
	s.post(w, m)
}

func (s *search) answeredBeat(w *world, m *msg) {
	n := &w.nodes[m.node]
	h := &n.hold
	if h.state == noHold || s.items.writes[m.write[0]].say != s.ids[h.number] {
		return
	}
	h.beating = false
	switch queue.Reply(m.reply) {
	case queue.ReplyApplied:
		h.sent, h.accepted = max(h.sent, m.clock), true
		if h.named {
			s.withdraw(w, int(m.node))
		}
	case queue.ReplyLost, queue.ReplyRefused:
		if h.state == held && !h.lost {
			s.say("    %s has lost the lock", nameOf(int(m.node)))
			h.lost = true
			if h.end == running && !h.excused {
				s.fail("told: %s hears that ticket %d is lost, and its entry is in the record", nameOf(int(m.node)), h.ticket)
			}
		}
	}
}

// release sends RELEASE. pass is the node to which the lock is passed, and one, or below zero for the row that was read.
func (s *search) release(w *world, i, pass int) {
	n := &w.nodes[i]
	h := &n.hold
	n.caller = ended
	if h.lost || !h.endless && n.clock >= h.sent+s.ttl {
		s.sendRelease(w, i, queue.FormHandOff, queue.Next{}, true)
		return
	}
	switch {
	case pass > 0:
		to := &w.nodes[pass-1]
		r := s.stepWait(to.wait, event{kind: evPassing}, s.view(w, pass-1))
		to.wait, to.taken, to.offered, h.passTo = r.m, true, false, int8(pass)
		s.sendRelease(w, i, queue.FormPass, queue.Next{Entry: *r.entry, Ticket: tickets[h.ticket+1]}, false)
		return
	case pass < 0:
		row := s.items.rows[h.next]
		owner := ownerOf(row.ID)
		if next, ok := row.GrantByName(s.ids[h.number], at(w.nodes[owner].clock, 0), s.middle()); ok {
			s.sendRelease(w, i, queue.FormPass, next, false)
			return
		}
	}
	s.sendRelease(w, i, s.firstForm(h), queue.Next{}, false)
}

func (s *search) middle() time.Time {
	if s.dated {
		return at(0, 1)
	}
	return time.Time{}
}

func (s *search) firstForm(h *hold) queue.Form {
	if seen := s.items.recs[h.seen]; !h.claimed && seen.Fast(s.ids[h.number], tickets[h.ticket]) {
		return queue.FormFast
	}
	return queue.FormHandOff
}

func (s *search) sendRelease(w *world, i int, f queue.Form, next queue.Next, lost bool) {
	h := &w.nodes[i].hold
	id := s.ids[h.number]
	e := queue.Ending{ID: id, Ticket: tickets[h.ticket], Call: 1, Next: next, Lost: lost}
	h.state, h.form = releasing, uint8(f)
	if lost {
		h.state = clearing
	}
	m := msg{role: byRelease_, node: int8(i)}
	m.write[0] = s.items.send(e.Release(f, time.Time{}), false, id, s.plant)
	if s.log != nil {
		s.say("    %s sends %s", nameOf(i), s.name(&m))
	}
	s.post(w, m)
}

func (s *search) answeredRelease(w *world, m *msg) {
	i := int(m.node)
	n := &w.nodes[i]
	h := &n.hold
	reply, rec := queue.Reply(m.reply), s.items.recs[m.rec]
	id, t := s.ids[h.number], tickets[h.ticket]
	if h.passTo != 0 { // its waiter gets the same answer
		to := int(h.passTo - 1)
		h.passTo, w.nodes[to].taken = 0, false
		s.step(w, to, event{kind: evRested, also: true, reply: reply, rec: m.rec})
		n = &w.nodes[i]
		h = &n.hold
	}
	if h.state == clearing {
		_, left := rec.Mine(id)
		if reply > queue.ReplyApplied && reply < queue.ReplyFailed && left {
			s.clear(w, i)
			return
		}
		s.over(w, i)
		return
	}
	form := queue.Form(h.form)
	switch {
	case reply == queue.ReplyApplied:
		s.toldReleased(i, h)
		reset := form != queue.FormFast && s.firstForm(h) == queue.FormHandOff && rec.Resettable(t)
		s.over(w, i)
		if reset {
			s.reset(w, i, t)
		}
	case reply == queue.ReplyFailed && form == queue.FormPass:
		s.sendRelease(w, i, queue.FormHandOff, queue.Next{}, false)
	case reply >= queue.ReplyFailed:
		s.sendRelease(w, i, s.firstForm(h), queue.Next{}, false)
	default:
		s.refusedRelease(w, i, rec)
	}
}

// refusedRelease goes on by what the record says of the turn.
func (s *search) refusedRelease(w *world, i int, rec queue.Record) {
	h := &w.nodes[i].hold
	id, t := s.ids[h.number], tickets[h.ticket]
	outcome := rec.Outcome(id, t, 1, s.items.recs[h.seen].Marks)
	_, left := rec.Mine(id)
	switch {
	case outcome == queue.OutcomeHeld && queue.Form(h.form) != queue.FormHandOff:
		s.sendRelease(w, i, queue.FormHandOff, queue.Next{}, false)
	case outcome.Released():
		s.toldReleased(i, h)
		s.over(w, i)
	case outcome == queue.OutcomeHeld, outcome == queue.OutcomeEvicted:
		s.say("    %s hears that it had lost the lock", nameOf(i))
		if h.end == byRelease {
			s.fail("told: %s hears that ticket %d was lost, and its release was applied", nameOf(i), h.ticket)
		}
		if left {
			s.clear(w, i)
			return
		}
		s.over(w, i)
	default:
		s.say("    %s does not learn how its turn ended", nameOf(i))
		s.over(w, i)
	}
}

func (s *search) toldReleased(i int, h *hold) {
	s.say("    %s hears that it released the lock", nameOf(i))
	if h.end != byRelease && !h.excused {
		s.fail("told: %s hears that it released ticket %d, and it did not", nameOf(i), h.ticket)
	}
}

// clear removes an entry that is left of a lost lock.
func (s *search) clear(w *world, i int) {
	h := &w.nodes[i].hold
	h.state = clearing
	m := msg{role: byClear, node: int8(i)}
	m.write[0] = s.items.send(queue.Remove(s.ids[h.number]), false, s.ids[h.number], s.plant)
	s.say("    %s sends CLEAN UP of %s", nameOf(i), s.ids[h.number])
	s.post(w, m)
}

// over ends a turn.
func (s *search) over(w *world, i int) {
	n := &w.nodes[i]
	n.hold, n.caller = hold{}, idle
	s.withdraw(w, i)
}

// reset sends RESET, for which its sender does not wait.
func (s *search) reset(w *world, i int, t queueTicket) {
	m := msg{role: byReset, node: int8(i)}
	m.write[0] = s.items.send(queue.Reset(t, time.Time{}), false, "", s.plant)
	s.say("    %s sends RESET", nameOf(i))
	s.post(w, m)
}

// evictNow lets an operator evict a holder, as the record shows it.
func (s *search) evictNow(w *world, k int) {
	h := s.items.recs[w.rec].Holders[k]
	mark := queue.Eviction{ID: h.ID, Ticket: h.Ticket, Made: h.Made}
	var c clause.Write
	if h.Lease.Endless() {
		c = queue.EvictFailClosed(mark, h)
	} else {
		c = queue.Evict(mark, h)
	}
	m := msg{role: byOperator, node: int8(ownerOf(h.ID))}
	m.write[0] = s.items.send(c, false, h.ID, s.plant)
	s.post(w, m)
}

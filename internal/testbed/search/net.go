package search

import (
	"slices"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/testbed/story"
	"github.com/queuelock/queuelock/queue"
)

// network plays what happens to message i.
func (s *search) network(w *world, kind moveKind, i int) {
	m := w.take(i)
	switch kind {
	case delivers, slows:
		switch {
		case m.answer:
			s.hear(w, &m)
			return
		case m.tx && !m.show:
			s.decide(w, &m, m.role == request)
			return
		}
		s.apply(w, &m)
		if kind == slows {
			m.answer = true
			s.post(w, m)
			return
		}
		s.hear(w, &m)
	case drops:
		if !w.nodes[m.node].dead {
			w.spend(Lost)
			s.loses(w, &m)
		}
		s.unanswered(w, m)
	case mutes:
		s.loses(w, &m)
		if l := m; m.tx {
			s.decide(w, &l, false)
		} else {
			s.apply(w, &m)
		}
		s.unanswered(w, m)
	case fails:
		s.loses(w, &m)
		m.reply, m.rec = uint8(machine.ReplyFailed), none
		s.hear(w, &m)
	case delays, copies:
		again := m
		again.role, again.of = stray, min(m.of, 0)
		s.post(w, again)
		if kind == copies {
			s.post(w, m)
			return
		}
		s.unanswered(w, m)
	}
}

// blocked reports whether a message waits: for its table, or until a transaction is visible.
func (s *search) blocked(w *world, m *msg) bool {
	switch {
	case m.answer:
		return false
	case m.show: // it is answered once x is visible
		return true
	}
	return w.split.record && !m.look.is && !m.tx && s.items.writes[m.write[0]].row == 0
}

// loses loses a request or its answer, or lets it fail. If it was to remove something, that may stay.
func (s *search) loses(w *world, m *msg) {
	if m.look.is || m.tx || m.role != request {
		return
	}
	of := s.items.writes[m.write[0]]
	lost := of.Name == "RELEASE" && slices.ContainsFunc(w.nodes[m.node].callers[:], func(c caller) bool { return c.lost && c.state != over })
	if lost || slices.Contains([]string{"CLEAN UP", "CLEAN UP of a row", "RESET"}, of.Name) {
		w.stays = true
	}
}

func (s *search) unanswered(w *world, m msg) {
	if m.role == counter {
		m.ticket = 0
	}
	m.reply, m.rec, m.rows, m.next, m.row = uint8(machine.ReplyUnknown), none, none, none, none
	if m.look.is {
		m.reply = uint8(machine.ReplyFailed)
	}
	s.hear(w, &m)
}

// apply lets the table judge a request, and writes the answer into m.
func (s *search) apply(w *world, m *msg) {
	switch m.reply = uint8(machine.ReplyApplied); {
	case m.show:
		return
	case m.role == counter:
		w.number++
		m.ticket = w.number
		return
	case m.look.is:
		s.read(w, m)
		return
	}
	for _, n := range m.write {
		if n == none {
			continue
		}
		o := s.applyOne(w, m, n)
		if o.invalid {
			s.fail("malformed: the table refuses %s as invalid", s.name(m))
		}
		m.reply = max(m.reply, uint8(o.reply))
	}
	if s.log != nil {
		s.say("%s", story.Table.Of(s.nameAnswer(m)))
	}
}

func (s *search) applyOne(w *world, m *msg, n int32) outcome {
	wr := &s.items.writes[n]
	if wr.row > 0 {
		return s.applyRow(w, m, n)
	}
	was := w.rec
	o := s.items.apply(n, was)
	if m.users && (w.denies || o.reply == machine.ReplyFailed) {
		o = outcome{item: was, reply: machine.ReplyRefused}
	}
	if o.item != was {
		w.rec = o.item
		s.recordChanged(w, m, was)
	}
	if m.users && o.reply == machine.ReplyApplied {
		s.updated(w, m, &s.items.recs[was])
	}
	if wr.Kind == clause.Check && o.reply == machine.ReplyApplied {
		s.fenced(w, m)
	}
	m.rec = w.rec
	return o
}

func (s *search) applyRow(w *world, m *msg, n int32) outcome {
	wr := &s.items.writes[n]
	k, ok := s.rowOf(w, wr.row)
	was := int32(none)
	if ok {
		was = w.rows[k]
	}
	o := s.items.apply(n, was)
	m.row = o.item
	switch {
	case o.item == was:
		return o
	case ok && o.item == none:
		s.goes(w, wr.row)
		copy(w.rows[k:], w.rows[k+1:])
		w.rows[maxRows-1] = none
	case ok:
		w.rows[k] = o.item
	case w.rows[maxRows-1] != none:
		s.fail("bounds: more than %d rows", maxRows)
	default:
		s.arrives(w, int(m.node), wr.row)
		copy(w.rows[k+1:], w.rows[k:])
		w.rows[k] = o.item
	}
	s.rowChanged(w, m, wr.Name, was)
	return o
}

// read reads the record and the rows.
func (s *search) read(w *world, m *msg) {
	m.reply, m.rec = uint8(machine.ReplyApplied), w.rec
	var rows []int32
	for _, r := range w.rows {
		if r == none || m.look.bare {
			break
		}
		switch t, l := s.ticketOf(r), &m.look; {
		case l.row:
			if t == l.below {
				m.next = r
			}
		case t == l.own, l.later && t == l.below:
			m.own = true
		case t < l.below, l.later:
			rows = append(rows, r)
		case l.own > 0 && t == l.own+uint8(l.turns):
			m.next = r
		}
	}
	if m.look.is && !m.look.row && m.look.below > 0 {
		s.looksAround(w, m)
	}
	m.rows = s.items.list(rows)
	if m.look.row {
		m.rec = none
	}
	if s.log != nil {
		s.say("%s", story.Table.Of(s.nameAnswer(m)))
	}
}

// hear gives an answer to its sender.
func (s *search) hear(w *world, m *msg) {
	i := int(m.node)
	switch {
	case m.role == operators:
		if rec := &s.items.recs[m.rec]; m.reply == uint8(machine.ReplyApplied) && rec.CanIdle() {
			r := msg{role: stray, node: m.node}
			r.write[0] = s.items.send(queue.Reset(rec.FirstServed(), zeroTime), 0, "")
			s.post(w, r)
		}
		return
	case w.nodes[i].dead, m.role == stray, s.seeds(w, m):
		return
	}
	e := event{kind: evAnswer, of: m.of, reply: machine.Reply(m.reply), rec: m.rec, row: m.row, denied: m.denied}
	switch {
	case m.joint():
		s.jointHeard(w, m)
		return
	case m.role == counter:
		if e.number = m.ticket; e.number != 0 {
			w.common[i] = m.ticket
			s.say("    %s takes number %d of the counter", nameOf(i), m.ticket)
		}
	case m.look.is:
		e.look, e.rows, e.own, e.next, e.whole, e.row = true, m.rows, m.own, m.next, !m.look.bare && !m.look.row, none
	case m.tx:
		e.forgotten = w.nodes[i].callers[m.caller].forgotten
	case m.write[0] != none && s.items.writes[m.write[0]].row > 0:
		e.rec = none
	}
	s.step(w, i, e)
}

// seeds sends the seed that follows a TAKE which a missing record has refused. It is one request with that TAKE.
func (s *search) seeds(w *world, m *msg) bool {
	take, ok := s.takes[m.write[0]]
	if !ok || m.reply != uint8(machine.ReplyRefused) {
		return false
	}
	next, err := take.Refused(s.items.all[m.rec])
	switch {
	case err == nil:
		seed := msg{role: request, node: m.node, of: m.of, clock: m.clock}
		seed.write[0] = s.items.send(next.Write, 0, s.items.writes[m.write[0]].say)
		s.takes[seed.write[0]] = next
		s.say("    %s sends %s", nameOf(int(m.node)), s.name(&seed))
		s.post(w, seed)
		return true
	case m.rec == none: // the record was deleted meanwhile
		m.reply = uint8(machine.ReplyFailed)
	}
	return false
}

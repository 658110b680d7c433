package search

import (
	"github.com/queuelock/queuelock/internal/testbed/story"
	"github.com/queuelock/queuelock/queue"
)

// A client with blocks lets several callers wait with adjacent tickets. Each has the ticket of its place among them. A caller
// that gives up has no turn. Those of a block that ends early begin a new wait.

// allGiveUp notes that all callers of the wait have given up.
func (s *search) allGiveUp(w *world, i int) {
	for j := range w.nodes[i].block {
		s.oneGivesUp(w, i, j)
	}
}

func (s *search) oneGivesUp(w *world, i int, j int8) {
	if n := &w.nodes[i]; n.gone&(1<<j) == 0 {
		n.gone |= 1 << j
		n.ended++
	}
}

// giveUps adds which caller of a block may give up, beside the last one of a wait: that one gives up the wait.
func (s *search) giveUps(n *node, i int, add func(moveKind, int, int)) {
	switch {
	case n.caller == waits:
		for j := range n.block {
			if n.gone&(1<<j) == 0 && n.gone|1<<j != 1<<n.block-1 {
				add(givesOne, i, int(j))
			}
		}
	case n.hold.m != none && n.caller == holds:
		for j := n.hold.index; j < n.block; j++ {
			if n.gone&(1<<j) == 0 && (j > n.hold.index || n.hold.advancing) {
				add(givesOne, i, int(j))
			}
		}
	}
}

// giveUpOne lets a caller give up.
func (s *search) giveUpOne(w *world, i, j int) {
	s.oneGivesUp(w, i, int8(j))
	n := &w.nodes[i]
	h := &n.hold
	if h.m == none || !h.advancing || int(h.index) != j {
		return
	}
	s.recall(w, i, byAdvance) // the turn after it begins, or the block ends
	h.advancing = false
	if next, ok := s.nextCaller(n); ok {
		s.passOn(w, i, next)
		return
	}
	s.release(w, i, 0)
}

// follower returns the next caller of the block of a held lock.
func (n *node) follower() (j int8, ok bool) {
	if n.hold.m == none {
		return 0, false
	}
	for j := n.hold.index + 1; j < min(n.block, n.hold.turns); j++ {
		if n.gone&(1<<j) == 0 {
			return j, true
		}
	}
	return 0, false
}

// nextCaller is the same as a release asks for it.
func (s *search) nextCaller(n *node) (j int8, ok bool) {
	if j, ok = n.follower(); ok {
		if s.mistake == GoneServed {
			j = n.hold.index + 1
		}
		return j, true
	}
	if s.mistake == NewInBlock && n.turns > 0 && n.hold.turns > 1 {
		n.turns--
		n.block++
		return n.hold.turns, true
	}
	return 0, false
}

// firstTurn begins with the first caller that has not given up.
func (s *search) firstTurn(w *world, i int) {
	n := &w.nodes[i]
	if s.Clients[i].Block == 0 {
		return
	}
	h := &n.hold
	if n.gone&1 != 0 {
		if j, ok := n.follower(); ok {
			h.index, h.ticket = j, h.first+uint8(j)
			h.m = s.stepHold(holdKey{m: h.m, kind: heldFollow, turn: h.ticket}).m
			n.made.ticket = h.ticket
		}
	}
	s.counts(w, i)
}

// counts notes that the present turn has begun.
func (s *search) counts(w *world, i int) {
	n := &w.nodes[i]
	h := &n.hold
	if n.gone&(1<<h.index) == 0 {
		n.ended++
	} else if s.mistake == GoneServed {
		s.fail("callers: caller %d of %s gets its turn, and has given up", h.index+1, nameOf(i))
	}
	n.gone |= 1 << h.index // it is not given back
	if !h.excused {        // of a record that was deleted, or after an eviction, it is no concern
		w.turn = max(w.turn, h.ticket)
	}
	if s.resumes { // a program has its handle
		s.hears(w, i, heldUse, 0, none)
	}
	if int(n.ended) > s.Clients[i].Turns {
		s.fail("callers: %d callers of %s have an end, of %d", n.ended, nameOf(i), s.Clients[i].Turns)
	}
}

// passOn passes the lock on in memory, to a caller of the block.
func (s *search) passOn(w *world, i int, j int8) {
	n := &w.nodes[i]
	h := &n.hold
	h.index, h.ticket = j, h.first+uint8(j)
	r := s.stepHold(holdKey{m: h.m, kind: heldFollow, turn: h.ticket})
	if s.Clients[i].Fences > 0 && !s.resumes {
		h.before = r.before
	}
	if h.m = r.m; s.mistake == SameToken {
		h.ticket = h.first
	}
	h.calling, h.pass = false, 0
	n.caller = holds
	switch {
	case !r.stale, s.mistake == NoAdvance:
		s.beginTurn(w, i)
	default:
		h.advancing = true
		m := msg{role: byAdvance, node: int8(i), ticket: h.ticket}
		m.write[0] = s.hears(w, i, heldAdvance, 0, none).write
		s.say(string(story.Sends), nameOf(i), s.name(&m))
		s.post(w, m)
		if s.mistake == AdvanceEarly {
			s.beginTurn(w, i)
		}
	}
}

// beginTurn gives the lock to the present caller of the block.
func (s *search) beginTurn(w *world, i int) {
	n := &w.nodes[i]
	h := &n.hold
	h.advancing = false
	s.say(string(story.Holds), nameOf(i), h.ticket)
	if !h.excused { // after an operator's eviction a later ticket may have been heard of
		s.tokens(w, i, h.ticket)
	}
	s.counts(w, i)
	was := h.using
	h.using = s.useOf(i)
	h.shared, h.data, h.released, h.evicted = was.shared, was.data, was.released, was.evicted
	h.unsettled = was.unsettled || s.holds.all[h.m].Open()
	n.updated, n.made, n.known = updated{}, made{ticket: h.ticket}, h.ticket
	if (h.left[transacting] > 0 || s.Clients[i].Reads) && !h.unsettled {
		s.readsX(w, i)
	}
}

// fenceAfter lets the caller of the turn before send a transaction with the condition of its lock, which it has released.
func (s *search) fenceAfter(w *world, i int) {
	h := &w.nodes[i].hold
	m := msg{role: byNone, node: int8(i), ticket: h.ticket - 1, alone: true}
	m.write[0] = s.stepHold(holdKey{m: h.before, kind: heldFence, clock: w.nodes[i].clock, deadline: s.deadline(h)}).write
	if s.mistake == OldCondition {
		id := s.ids[h.number]
		m.write[0] = s.items.send(queue.OfTurn(queue.Fence(id, tickets[h.first], true), id, tickets[m.ticket]), 0, "")
	}
	h.before = none
	s.say("    %s sends %s", nameOf(i), s.name(&m))
	s.post(w, m)
}

func (s *search) answeredAdvance(w *world, m *msg) {
	i := int(m.node)
	h := &w.nodes[i].hold
	if h.m == none || !h.advancing || h.ticket != m.ticket {
		return
	}
	reply := queue.Reply(m.reply)
	switch {
	case reply >= queue.ReplyFailed && s.mistake == AdvanceOnce:
		s.beginTurn(w, i)
		return
	case reply >= queue.ReplyFailed: // it is repeated as it is
		again := msg{role: byAdvance, node: m.node, ticket: m.ticket, write: m.write}
		s.say(string(story.Sends), nameOf(i), s.name(&again))
		s.post(w, again)
		return
	}
	if r := s.hears(w, i, queue.HoldAdvanced, reply, m.rec); r.result == queue.HoldMade {
		s.beginTurn(w, i)
		return
	}
	if h.end == running {
		s.fail("reported: %s hears that ticket %d is lost, and its entry is in the record", nameOf(i), h.ticket)
	}
	s.lose(w, i)
}

// blockLost gives the callers of a lost block back to the queue. If none has the lock, what is left of it is removed.
func (s *search) blockLost(w *world, i int) {
	n := &w.nodes[i]
	h := &n.hold
	if s.mistake == Continues {
		if j, ok := n.follower(); ok {
			h.lost, h.endless = false, true
			h.index, h.ticket = j, h.first+uint8(j)
			s.beginTurn(w, i)
			return
		}
	}
	advancing := h.advancing
	s.giveBack(w, i)
	if advancing {
		s.recall(w, i, byAdvance)
		h.advancing = false
		s.release(w, i, 0)
	}
}

// giveBack lets the callers of a block that have had no turn wait again.
func (s *search) giveBack(w *world, i int) {
	n := &w.nodes[i]
	if s.Clients[i].Block == 0 {
		return
	}
	for j := range n.block {
		if n.gone&(1<<j) != 0 {
			continue
		}
		if s.mistake != BackTwice {
			n.gone |= 1 << j
		}
		if s.mistake != NotBack {
			n.turns++
		}
	}
}

package search

import (
	"slices"
	"strings"

	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/testbed/story"
	"github.com/queuelock/queuelock/queue"
)

// hears lets a caller hear what its member says.
func (s *search) hears(w *world, i int, e member.Effect) {
	switch e := e.(type) {
	case member.Placed:
		c, spec := &w.nodes[i].callers[e.Caller], s.specOf(i, int(e.Caller))
		c.saves = spec.Saves
		s.placed(w, i, small(e.Ticket), spec)
		if c.ticket, c.id = small(e.Ticket), s.id(e.ID); s.Clients[i].width() == 1 {
			w.nodes[i].known = s.handleOf(e.Handle)
		}
	case silent:
		w.nodes[i].callers[e.Caller].gone = true
	case member.Give:
		s.given(w, i, &e)
	case member.Refuse:
		s.refused(w, i, int(e.Caller), &e)
	case member.Report:
		s.reported(w, i, int(e.Caller), &e)
	}
}

func (s *search) handleOf(h queue.Handle) handle {
	return handle{id: s.id(h.ID), from: s.id(h.From), ticket: small(h.Ticket), held: h.Held}
}

func (s *search) handleFrom(h handle) queue.Handle {
	return queue.Handle{ID: s.ids[h.id], Ticket: tickets[h.ticket], Held: h.held, From: s.ids[h.from]}
}

// silent is an effect of the search: the table has been silent for so long that the wait of a caller ends.
type silent struct{ member.Placed }

// placed checks the place of a caller.
func (s *search) placed(w *world, i int, t uint8, spec *Client) {
	_, there := s.rowOf(w, t)
	s.never(spec.Puts && !there && s.Faults[Ends] == 0 && s.Faults[Delete] == 0, "common: %s has a place, and its row is not in the table", nameOf(i))
	s.never((spec.Common || spec.Given) && t != w.common[i], "common: %s has the place %d, and its number is %d", nameOf(i), t, w.common[i])
}

// given checks the grant to a caller.
func (s *search) given(w *world, i int, e *member.Give) {
	node, j, t := &w.nodes[i], int(e.Caller), small(e.Ticket)
	c := &node.callers[j]
	s.say(string(story.Holds), s.who(i, j), t)
	h, in := s.entryOf(w, i, t)
	switch gone := !in && (w.has(Evict) || w.has(Delete) || s.resumes); {
	case c.state != waits:
		s.fail("callers: %s gets the lock, and does not wait for it", s.who(i, j))
	case c.gone && !s.specOf(i, j).Keeps:
		s.fail("callers: %s gets the lock, and has given up", s.who(i, j))
	case !e.Ends.IsZero() && node.clock >= clockOf(e.Ends):
		s.fail("reported: %s hears of a grant whose lease is over", s.who(i, j))
	case !in && !gone && !w.has(Ends) && node.clock == 0: // no lease has ended
		s.fail("judged: %s hears of ticket %d, whose entry was removed", s.who(i, j), t)
	case s.specOf(i, j).FailClosed && in && !h.Lease.Endless():
		s.fail("confirm: %s holds a lock that was not confirmed", s.who(i, j))
	case w.used == 0 && s.Clients[i].With == nil && !s.crowd && slices.ContainsFunc(node.callers[:j], func(c caller) bool {
		return c.state == waits && (s.Clients[i].Block > 1 || c.ticket > 0 && c.ticket < t) // each takes a ticket of its own without blocks
	}):
		s.fail("order: %s is served before a caller that came earlier", s.who(i, j))
	default:
		c.excused = gone
	}
	spec := s.specOf(i, j)
	*c = caller{state: holds, ticket: t, id: s.id(e.ID[:strings.LastIndexByte(e.ID, '-')]), excused: c.excused, shared: spec.Mode.Shared || in && h.Shared, joined: spec.Mode.Shared || in && h.Shared, using: spec.useOf()}
	if c.first = t; in {
		c.first = small(h.Ticket)
	} else {
		c.end = byOther
	}
	if e.Slot != nil {
		c.slot = int8(*e.Slot) + 1
	}
	if !c.excused {
		s.tokens(w, i, j, t)
		w.turn = max(w.turn, t)
	}
	if in && spec.AtLeast {
		node.opens = clockOf(h.NotBefore)
	}
	node.known = handle{id: c.id, ticket: t, held: true}
	c.unsettled = e.Unsettled
	if (c.left[member.Transacts] > 0 || spec.Reads) && !c.unsettled {
		s.readsX(w, i, j)
	}
	if c.computes = spec.Once && !e.Result.Exists(); spec.Once && !c.computes {
		s.resultLeft(w, i)
	}
	if s.resumes && s.Clients[i].Block > 0 { // a program has its handle
		s.step(w, i, event{kind: evUses, caller: int8(j), use: member.Reveals})
	}
}

// refused checks the end of a wait.
func (s *search) refused(w *world, i, j int, r *member.Refuse) {
	c := &w.nodes[i].callers[j]
	s.never(c.state != waits, "callers: %s is refused, and does not wait", s.who(i, j))
	c.state = over
	switch c.saves = false; {
	case r.Why == machine.WhyNewTicket && (s.Clients[i].Common || s.Clients[i].Given) && !c.gone: // it calls again
		w.nodes[i].came, w.common[i] = 0, 0
		*c = caller{}
		s.say("    %s takes a new number for all queues", s.who(i, j))
		return
	case r.Kept.ID != "":
		n := &w.nodes[i]
		if n.known = s.handleOf(r.Kept); !r.Until.IsZero() {
			n.keeps = clockOf(r.Until)
		}
		_, there := s.rowOf(w, n.known.ticket)
		s.never(!there && n.clock < n.keeps && s.hasPlace(w, i, n.known.ticket) && s.alone(w, i), "kept: %s hears that its place is kept, and its row is not there", s.who(i, j))
		s.say("    %s has left, and keeps its place", s.who(i, j))
		return
	case r.GaveUp:
		s.never(s.specOf(i, j).Keeps && s.hasPlace(w, i, c.ticket) && s.alone(w, i), "kept: %s has a place, which is not kept", s.who(i, j))
		s.say("    %s has left", s.who(i, j))
		return
	case r.Why == machine.WhyGone:
		_, there := s.rowOf(w, c.ticket)
		s.never(there && s.hasPlace(w, i, c.ticket) && s.alone(w, i), "kept: %s does not find the place, whose row is in the table", s.who(i, j))
		s.say(string(story.NotServed), s.who(i, j))
		return
	case r.Why == machine.WhyResult:
		s.say("    %s has the result", s.who(i, j))
		s.resultLeft(w, i)
		return
	case r.Why == machine.WhyFull, r.Why == machine.WhySuperseded:
		s.turnedAway(w, i, j, r)
	}
	s.say(string(story.NotServed), s.who(i, j))
}

// reported checks what a holder hears of its lock.
func (s *search) reported(w *world, i, j int, t *member.Report) {
	c := &w.nodes[i].callers[j]
	switch t.News {
	case member.Lost:
		s.say(string(story.HasLost), s.who(i, j))
		s.never(s.Faults[Ends] == 0 && slices.ContainsFunc(s.items.recs[w.rec].Holders, func(h queue.Holder) bool { return s.owns(c, &h) }),
			"known: %s hears of a loss, and its entry is in the record", s.who(i, j))
		c.lost, c.calling = true, 0
	case member.Done, member.Failed, member.Unsure:
		s.usedFor(w, i, j, t)
	case member.Declined:
		s.updateHeard(w, i, j, t)
	case member.Asked, member.Renewed:
	case member.Unreleased: // its lease is over by now, and it is called again
		c.state = holds
		c.lost = true
	default:
		s.ended(w, i, j, t)
	}
}

// ended checks the end of a turn.
func (s *search) ended(w *world, i, j int, t *member.Report) {
	c := &w.nodes[i].callers[j]
	s.never(!c.served(), "callers: %s hears of the end of its turn twice", s.who(i, j))
	if c.calling > 0 && !c.lost {
		s.fail("callers: %s hears of the end of its turn, and not of what it has called", s.who(i, j))
	}
	switch t.News {
	case member.Released:
		s.say(string(story.Released), s.who(i, j))
		s.never(c.end != byRelease && !w.has(Delete) && !s.followed(w, i, c),
			"reported: %s hears that it released ticket %d, and it did not", s.who(i, j), c.ticket)
		s.updateHeard(w, i, j, t)
		if c.computes {
			s.resultLeft(w, i)
		}
	case member.Unknown:
		s.say(string(story.Unknown), s.who(i, j))
		s.rare(w, i, j)
	case member.Cleared:
		if !c.lost {
			s.say(string(story.WasLost), s.who(i, j))
			s.never(c.end == byRelease,
				"reported: %s hears that ticket %d was lost, and its release was applied", s.who(i, j), c.ticket)
		}
	}
	c.state, c.calling = over, 0
}

// followed reports whether a later turn of the block has the lock, or may have had it.
func (s *search) followed(w *world, i int, c *caller) bool {
	if s.Clients[i].Block < 2 {
		return false
	}
	h, in := s.entryOf(w, i, c.ticket)
	return !in || c.ticket < small(h.Last())
}

// entryOf returns the entry of node i that has a ticket.
func (s *search) entryOf(w *world, i int, t uint8) (queue.Holder, bool) {
	for _, h := range s.items.recs[w.rec].Holders {
		if ownerOf(h.ID) == i && !h.Closed && small(h.Ticket) <= t && t <= small(h.Last()) {
			return h, true
		}
	}
	return queue.Holder{}, false
}

// usedFor checks what became of a use.
func (s *search) usedFor(w *world, i, j int, t *member.Report) {
	c := &w.nodes[i].callers[j]
	switch {
	case t.Use == member.Fences, t.Use == member.Reveals:
		return
	case t.Use == member.Joins && t.News == member.Done:
		c.joint, c.cut, c.fence, c.begun = 0, false, s.items.send(t.Fence, 0, ""), true
		c.count++
		s.joint(w, i, j, machine.TransactionEvent{})
		return
	case t.Use == member.Judges:
		if t.News != member.Done {
			t.Made = machine.MadeUnknown
		}
		s.joint(w, i, j, machine.TransactionEvent{Fenced: true, Made: t.Made, Err: errLost})
		return
	}
	c.calling = max(0, c.calling-1)
	if t.Use == member.Transacts {
		s.transacted(w, i, j, t.News)
		return
	}
	name := map[member.Use]string{member.SetsData: "SETDATA", member.Downgrades: "DOWNGRADE"}[t.Use]
	if t.News != member.Done {
		return
	}
	s.say("    %s hears of its %s", s.who(i, j), name)
	s.never(t.Use == member.Downgrades && !c.down || t.Use == member.SetsData && c.data == 0,
		"reported: %s hears of its %s, and the table has not applied it", s.who(i, j), name)
	if t.Use == member.Downgrades {
		c.shared, c.joined = true, true
	}
}

// updateHeard checks what a caller hears of an UpdateAndRelease, which may not have released the lock.
func (s *search) updateHeard(w *world, i, j int, t *member.Report) {
	c := &w.nodes[i].callers[j]
	declined, made := t.News == member.Declined, false
	switch {
	case !c.updates: // it was released by another call
		c.noUpdate = 0xff
		return
	case declined && t.Open:
		if t.Result == machine.HoldOverwritten && c.calls == 1 { // else it may be that of another call
			s.rare(w, i, j)
		}
		c.updates, c.open = false, true
		s.say("    %s does not learn what became of its update", s.who(i, j))
		return
	case t.Result == machine.HoldEarlier:
		s.say("    %s hears that an earlier call has released it", s.who(i, j))
		s.never(declined && c.end != byRelease,
			"reported: %s hears that an earlier call has released ticket %d, and none has", s.who(i, j), c.ticket)
	case declined:
		s.say("    %s hears that its update is not made", s.who(i, j))
	default:
		s.say("    %s hears that its update is made", s.who(i, j))
		made = true
	}
	if c.updates = !declined; !made {
		c.noUpdate |= 1 << c.calls
	}
	s.never(made != (c.madeUpdate == c.calls),
		"reported: %s hears that its update is made: %v, and the table has made call %d", s.who(i, j), made, c.madeUpdate)
}

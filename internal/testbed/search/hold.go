package search

import (
	"errors"
	"reflect"
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/testbed/story"
	"github.com/queuelock/queuelock/queue"
)

// holdKey is a step of the machine of a held lock, in numbers.
type holdKey struct {
	m        int32
	kind     queue.HoldEventKind
	reply    queue.Reply
	rec      int32
	next     int32
	err      bool
	clock    int8
	deadline int8 // below zero: none
	turn     uint8
	followed bool
	result   uint8 // the ticket of that which Release leaves; zero: none
}

type heldStep struct {
	m        int32
	do       queue.HoldAction
	write    int32
	late     bool // the limit is over
	phase    queue.Phase
	result   queue.HoldResult
	accepted bool
	reset    bool
	open     bool
	stale    bool
	before   int32 // heldFollow: the machine of the turn before
	alone    bool
}

var errLost = errors.New("no answer")

func (s *search) stepHold(k holdKey) *heldStep {
	if r, ok := s.holdSteps[k]; ok {
		return r
	}
	h := s.holds.copy(k.m)
	e := queue.HoldEvent{Kind: k.kind, Reply: k.reply, Record: s.items.recs[k.rec], Delivered: true, Asks: s.asks, Followed: k.followed}
	if k.err || k.reply >= queue.ReplyFailed {
		e.Err = errLost
	}
	if k.deadline >= 0 {
		e.Deadline = at(k.deadline, 0)
	}
	if k.result > 0 {
		e.Result = resultOf(k.result)
	}
	if k.next != none {
		e.Next = &s.nexts[k.next]
	}
	if mark := &e.Record.Marks.Released; s.mistake == SameCall && mark.Call > 0 {
		mark.Call = max(mark.Call, reflect.ValueOf(h).Elem().FieldByName("calls").Int())
	}
	now := at(k.clock, 0)
	if k.kind >= heldDowngrade {
		r := &heldStep{}
		h = s.method(r, h, k)
		r.m = s.holds.add(h)
		s.holdSteps[k] = r
		return r
	}
	do := h.Step(queue.HoldTimes{Local: now}, e)
	r := &heldStep{do: do.Do, phase: h.Phase(), result: do.Result, accepted: do.Accepted, reset: do.Reset, open: do.Open, alone: do.Alone}
	r.late = !do.Limit.IsZero() && !now.Before(do.Limit)
	if do.Do == queue.HoldSend {
		r.write = s.items.send(do.Write, 0, "")
	}
	r.m = s.holds.add(h)
	s.holdSteps[k] = r
	return r
}

// granted begins a held lock.
func (s *search) granted(w *world, i int, r *stepped) {
	n := &w.nodes[i]
	rec := s.waits.all[r.m].Snapshot.Record
	n.hold = hold{named: r.named, accepted: !r.named, endless: r.endless, ticket: r.ticket, inBlock: inBlock{first: r.ticket, turns: r.turns}, sent: r.sent, until: r.until, number: r.id, using: s.useOf(i)}
	n.hold.shared, n.updated, n.made = r.shared, updated{}, made{ticket: r.ticket}
	n.hold.unsettled = rec.Marks.MayAppear(time.Time{})
	switch s.mistake {
	case PlainRead:
		n.hold.unsettled = false
	case LastGrant:
		n.hold.unsettled = len(rec.Marks.Unsettled) > 0 || rec.Marks.Released.Ticket.Less(rec.Marks.Evicted.Ticket)
	}
	mode := s.Clients[i].Mode
	mode.Shared = r.shared
	m := queue.NewHold(queue.Grant{
		ID: s.ids[r.id], Ticket: tickets[r.ticket], Mode: mode, Sent: at(r.sent, 0),
		Claimed: r.claimed, Named: r.named, Resumed: r.resumed, FailClosed: s.Clients[i].FailClosed, TTL: time.Duration(s.ttl) * unit, Patience: time.Minute,
		Delay: s.delay(i), AtLeast: s.atLeast(i), NotBefore: s.notBefore(i, r.sent), Turns: int(r.turns),
	}, rec)
	n.hold.m = s.holds.add(m)
	s.firstTurn(w, i)
	s.say(string(story.Holds), nameOf(i), n.hold.ticket)
	over := !r.endless && n.clock >= r.sent+s.ttl
	if !over || !w.has(pause) { // after a pause it is lost as soon as it is held
		s.tokens(w, i, n.hold.ticket)
	}
	if over && !w.has(pause) {
		s.fail("reported: %s hears of a grant whose lease is over", nameOf(i))
	}
	if s.Clients[i].FailClosed && !r.endless {
		s.fail("confirm: %s holds a lock that was not confirmed", nameOf(i))
	}
	_, in := s.items.recs[w.rec].Mine(s.ids[r.id])
	if n.hold.excused = !in && (w.has(evict) || w.has(deletes) || s.resumes); !in {
		n.hold.end = byOther
		if !over && !n.hold.excused {
			s.fail("judged: %s hears of ticket %d, whose entry was removed", nameOf(i), r.ticket)
		}
	}
	if in && s.Clients[i].AtLeast {
		n.opens = r.sent + 2*s.ttl
	}
	n.caller, n.wait, n.known = holds, none, n.hold.ticket
	if (n.hold.left[transacting] > 0 || s.Clients[i].Reads) && !n.hold.unsettled {
		s.readsX(w, i)
	}
	if !r.named || s.mistake == RowLeft { // else its row stays until the grant is accepted
		s.withdraw(w, i)
	}
	n.hold.computes = s.Clients[i].Once && (!rec.Result.Exists() || s.mistake == ComputesAgain)
	if s.Clients[i].Once && !n.hold.computes {
		s.resultLeft(w, i)
	}
	if over {
		s.lose(w, i)
	}
}

// delay is the lock delay of a client's locks.
func (s *search) delay(i int) time.Duration {
	if !s.Clients[i].Delays || s.mistake == RemoveOnLoss {
		return 0
	}
	return time.Duration(s.ttl) * unit
}

// atLeast is for how long a client's locks keep the queue closed.
func (s *search) atLeast(i int) time.Duration {
	if !s.Clients[i].AtLeast || s.mistake == NotClosed {
		return 0
	}
	return 2 * time.Duration(s.ttl) * unit
}

// notBefore is until when, for a grant that was sent at a clock.
func (s *search) notBefore(i int, sent int8) time.Time {
	if s.Clients[i].AtLeast {
		return at(sent+2*s.ttl, 0)
	}
	return time.Time{}
}

// believes reports whether a node relies on its lock.
func (s *search) believes(n *node) bool {
	h := &n.hold
	return !n.dead && h.m != none && !h.advancing && (!h.calling || s.mistake == StillHolds) && !h.lost && (h.endless || n.clock < h.sent+s.ttl)
}

// deadline is the clock at which the lease ends for its holder; below zero: it does not end.
func (s *search) deadline(h *hold) int8 {
	if h.endless {
		return -1
	}
	return h.sent + s.ttl
}

// heartbeat sends a heartbeat, which also accepts a grant by name.
func (s *search) heartbeat(w *world, i int) {
	n := &w.nodes[i]
	h := &n.hold
	until := time.Time{}
	if !h.endless {
		h.until = max(h.until, n.clock+s.ttl)
		until = at(h.until, 0)
	}
	h.beating = true
	m := msg{role: byBeat, node: int8(i), clock: n.clock}
	m.write[0] = s.items.send(s.holds.all[h.m].Heartbeat(until, time.Time{}), 0, s.ids[h.number])
	s.say("    %s sends HEARTBEAT until %d", nameOf(i), h.until)
	s.post(w, m)
}

// hears gives an event to a held lock. The lock is lost if its heartbeat says so.
func (s *search) hears(w *world, i int, kind queue.HoldEventKind, reply queue.Reply, rec int32) *heldStep {
	h := &w.nodes[i].hold
	r := s.stepHold(holdKey{m: h.m, kind: kind, reply: reply, rec: rec, clock: w.nodes[i].clock, deadline: s.deadline(h)})
	h.m = r.m
	return r
}

func (s *search) answeredBeat(w *world, m *msg) {
	i := int(m.node)
	n := &w.nodes[i]
	h := &n.hold
	if h.m == none || s.items.writes[m.write[0]].say != s.ids[h.number] {
		return
	}
	h.beating = false
	if s.mistake == RowEarly && h.named {
		s.withdraw(w, i)
	}
	r := s.hears(w, i, queue.HoldBeaten, queue.Reply(m.reply), m.rec)
	switch {
	case queue.Reply(m.reply) == queue.ReplyApplied:
		h.sent, h.accepted = max(h.sent, m.clock), true
		if r.accepted {
			s.withdraw(w, i)
		}
	case r.phase.Final() && !h.calling:
		s.earlier(w, i)
	case r.result == queue.HoldLost && !h.calling:
		s.lose(w, i)
		if h.end == running {
			s.fail("reported: %s hears that ticket %d is lost, and its entry is in the record", nameOf(i), h.ticket)
		}
	}
}

// lose ends the lease of a held lock, for its holder.
func (s *search) lose(w *world, i int) {
	h := &w.nodes[i].hold
	if h.lost || h.calling {
		return
	}
	s.say(string(story.HasLost), nameOf(i))
	h.lost = true
	s.hears(w, i, queue.HoldEnded, queue.ReplyApplied, none)
	s.abandon(w, i)
	s.blockLost(w, i)
}

// release calls Release. pass is the node to which the lock is passed, and one, or below zero for the row that was read.
func (s *search) release(w *world, i, pass int) {
	h := &w.nodes[i].hold
	w.nodes[i].caller = ended
	h.calling, h.pass = true, int8(pass)
	if h.computes = h.computes && !h.lost; h.computes {
		h.pass = 0 // it is not asked for a waiter to pass the lock to
	}
	k := holdKey{m: h.m, kind: queue.HoldRelease, clock: w.nodes[i].clock, deadline: s.deadline(h)}
	if h.computes && s.mistake != ResultLater {
		k.result = h.ticket
	}
	r := s.stepHold(k)
	h.m = r.m
	s.abandon(w, i)
	s.holding(w, i, r)
}

// holding does what a call of Release does next.
func (s *search) holding(w *world, i int, r *heldStep) {
	for {
		n := &w.nodes[i]
		h := &n.hold
		k := holdKey{kind: queue.HoldAnswered, clock: n.clock, deadline: s.deadline(h)}
		switch r.do {
		case queue.HoldSend:
			m := msg{role: byHold, node: int8(i)}
			if s.Line {
				m.order.sent = 0xff
			}
			m.write[0] = r.write
			if h.updating {
				m.call, m.ticket = h.calls, h.ticket
			}
			if s.log != nil {
				s.say(string(story.Sends), nameOf(i), s.name(&m))
			}
			s.post(w, m)
			return
		case queue.HoldRead:
			s.post(w, msg{role: byHold, node: int8(i), look: 1, bare: true})
			return
		case queue.HoldSettle:
			s.finish(w, i, queue.TransactionUnsettled, thenRelease)
			return
		case queue.HoldShow:
			if s.hidden(w, i) && s.mistake != MadeVisible {
				h.await = awaitRelease
				return
			}
		case queue.HoldFollow:
			if j, ok := s.nextCaller(n); ok {
				k.m, k.followed = h.m, true
				h.m = s.stepHold(k).m
				s.say(string(story.Released), nameOf(i))
				s.passOn(w, i, j)
				return
			}
		case queue.HoldOffer:
			k.next = s.offer(w, i, r.alone)
		case queue.HoldPause:
			if h.updating && !h.lost {
				h.await = awaitUpdate
				return
			}
			k.err = r.late || h.updating
		case queue.HoldDone:
			if h.updating {
				s.updateEnded(w, i, r)
				return
			}
			s.released(w, i, r)
			return
		}
		k.m = h.m
		r = s.stepHold(k)
		h.m = r.m
	}
}

// offer returns the waiter to which the lock is passed, if there is one.
func (s *search) offer(w *world, i int, alone bool) (next int32) {
	h := &w.nodes[i].hold
	pass := int(h.pass)
	h.pass = 0
	switch {
	case pass > 0 && w.nodes[pass-1].caller == idle:
		if !alone || w.nodes[pass-1].turns == 0 {
			return none
		}
		to, t := &w.nodes[pass-1], h.last()+1
		s.gathers(w, pass-1)
		r := s.stepWait(to.wait, event{kind: evRetaking, ticket: t}, s.view(w, pass-1))
		to.wait, to.taken, to.place, h.passTo = r.m, true, 0, int8(pass)
		return s.next(queue.Next{Entry: *r.entry, Ticket: tickets[t], New: true})
	case pass > 0 && w.nodes[pass-1].offered:
		to := &w.nodes[pass-1]
		r := s.stepWait(to.wait, event{kind: evPassing}, s.view(w, pass-1))
		to.wait, to.taken, to.offered, h.passTo = r.m, true, false, int8(pass)
		return s.next(queue.Next{Entry: *r.entry, Ticket: s.waits.all[to.wait].Ticket})
	case pass < 0:
		row := s.items.rows[h.next]
		if next, ok := row.GrantByName(s.ids[h.number], s.middle()); ok {
			return s.next(next)
		}
	}
	return none
}

// next returns the number of a waiter that a lock is passed to.
func (s *search) next(n queue.Next) int32 {
	key := n.Ticket.String() + " " + n.Entry.ID + " " + n.Entry.Lease.Until.String()
	num, ok := s.nextNums[key]
	if !ok {
		num = int32(len(s.nexts))
		s.nextNums[key] = num
		s.nexts = append(s.nexts, n)
	}
	return num
}

func (s *search) middle() time.Time {
	if s.dated {
		return at(0, 1)
	}
	return time.Time{}
}

func (s *search) answeredHold(w *world, m *msg) {
	i := int(m.node)
	reply := queue.Reply(m.reply)
	if h := &w.nodes[i].hold; h.passTo != 0 { // its waiter gets the same answer
		to := int(h.passTo - 1)
		h.passTo, w.nodes[to].taken = 0, false
		s.saw(w, to, m)
		s.step(w, to, event{kind: evPassed, reply: reply, rec: m.rec})
	}
	s.holding(w, i, s.hears(w, i, queue.HoldAnswered, reply, m.rec))
}

// released ends a call of Release. If it has failed, the lease is over by now, and it is called again.
func (s *search) released(w *world, i int, r *heldStep) {
	n := &w.nodes[i]
	h := &n.hold
	switch {
	case r.phase == queue.PhaseReleased:
		s.say(string(story.Released), nameOf(i))
		if h.end != byRelease && !w.has(deletes) {
			s.fail("reported: %s hears that it released ticket %d, and it did not", nameOf(i), h.ticket)
		}
		switch {
		case h.computes && s.mistake == ResultLater:
			s.leaveResult(w, i)
		case h.computes:
			s.resultLeft(w, i)
		}
		n.updated.denied = 0xff
	case r.phase == queue.PhaseUnknown:
		s.say(string(story.Unknown), nameOf(i))
		s.rare(w, i)
	case r.phase == queue.PhaseCleared && !h.lost:
		s.say(string(story.WasLost), nameOf(i))
		if h.end == byRelease {
			s.fail("reported: %s hears that ticket %d was lost, and its release was applied", nameOf(i), h.ticket)
		}
	case !r.phase.Final():
		h.calling = false
		s.lose(w, i)
		s.release(w, i, 0)
		return
	}
	s.over(w, i, r.reset)
}

// askNow lets an operator ask a holder to give way, as the record shows it. The request may arrive at any time.
func (s *search) askNow(w *world, k int) {
	h := s.items.recs[w.rec].Holders[k]
	m := msg{role: byOperator, node: int8(ownerOf(h.ID)), ticket: small(h.Ticket)}
	m.write[0] = s.items.send(queue.Revoke(h.ID, h.Ticket, queue.Revocation{By: "operator"}), 0, h.ID)
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
	m.write[0] = s.items.send(c, 0, h.ID)
	s.post(w, m)
}

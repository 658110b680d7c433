package search

import (
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/story"
	"github.com/queuelock/queuelock/queue"
)

// use is what a holder does with its lock, before it releases it.
type use uint8

const (
	downgrading use = iota
	setting
	updating
	transacting
	fencing
	uses
)

// using is what a held lock is used for.
type using struct {
	left     [uses]int8
	shared   bool // its caller does not rely on being alone: it has called Downgrade, or the lock was resumed as shared
	changing bool // a Downgrade or a SetData is under way
	updating bool // an UpdateAndRelease
	open     bool // and one before may be made: its caller does not rely on the lock
	calls    int8 // of UpdateAndRelease
	data     int8 // of SetData that the table has applied
	down     bool // the table has applied DOWNGRADE
	released bool // the mark of another turn's release was written after the end of this one
	evicted  bool // that of an eviction
	txs
}

// updated is what became of the updates of a turn. It outlives the turn.
type updated struct {
	made   int8  // the call that the table has applied
	denied uint8 // calls of which the caller has heard that they never will be, by bits
}

// Kinds of events of a held lock that are its other methods.
const (
	heldDowngrade = queue.HoldEventKind(iota + 100)
	heldData
	heldTransact
	heldSettle
	heldFence
	heldFollow
	heldAdvance
	heldUse
	heldLeave // and the state
)

// method steps a held lock by another method than Step.
func (s *search) method(r *heldStep, h *queue.Hold, k holdKey) *queue.Hold {
	switch k.kind {
	case heldDowngrade:
		r.write = s.items.send(h.Downgrade(), 0, "")
	case heldData:
		r.write = s.items.send(h.SetData(nil), 0, "")
	case heldTransact:
		r.write = s.items.send(h.Transact(), 0, "")
	case heldFence:
		r.write = s.items.send(h.Fence(), 0, "")
	case heldSettle:
		r.write = s.items.send(h.Settle(), 0, "")
	case heldFollow:
		before := h
		h, r.stale = h.Follow(tickets[k.turn])
		r.before = s.holds.add(before)
	case heldAdvance:
		r.write = s.items.send(h.Advance(), 0, "")
	case heldUse:
		h.Use()
	default:
		h.Leave(queue.TransactionState(k.kind - heldLeave))
	}
	return h
}

// paused adds how a pause of a holder may end.
func (h *hold) paused(add func(moveKind, int, int), i int) {
	if h.await == awaitUpdate || h.await == awaitAttempt || h.await == awaitSettle {
		add(retries, i, 0)
	}
	if h.await != awaitNothing {
		add(stops, i, 0)
	}
}

// uses adds what a holder may do with its lock.
func (s *search) uses(w *world, i int, add func(moveKind, int, int)) {
	n := &w.nodes[i]
	h := &n.hold
	if h.updating || h.begun || h.then != thenNothing || h.await != awaitNothing || !s.believes(n) {
		return
	}
	if h.left[fencing] > 0 {
		add(fences, i, 0)
	}
	if h.left[transacting] > 0 && !s.holds.all[h.m].Shared() {
		if !h.read && !w.split.x {
			add(readsOf, i, 0)
		}
		if h.read && !h.changing { // it waits for a Downgrade
			add(transacts, i, 0)
		}
	}
	if h.changing {
		if w.left[late] > 0 {
			add(stops, i, 0)
		}
		return
	}
	if h.left[downgrading] > 0 {
		add(downgrades, i, 0)
	}
	if h.left[setting] > 0 {
		add(sets, i, 0)
	}
	if h.left[updating] > 0 {
		add(updates, i, 0)
	}
}

// useOf says what a client will do with a lock.
func (s *search) useOf(i int) (u using) {
	c := s.Clients[i]
	if c.Downgrades {
		u.left[downgrading] = 1
	}
	u.left[setting], u.left[updating], u.left[transacting] = int8(c.Sets), int8(c.Updates), int8(c.Writes)
	u.left[fencing] = int8(c.Fences)
	return u
}

// downgrade calls Downgrade.
func (s *search) downgrade(w *world, i int) {
	h := &w.nodes[i].hold
	h.shared, h.left[downgrading] = s.mistake != StillAlone, 0
	s.finish(w, i, queue.TransactionRefused, thenDowngrade)
}

// fence sends a transaction of the caller's own with the condition of the lock. It may arrive at any time.
func (s *search) fence(w *world, i int) {
	h := &w.nodes[i].hold
	h.left[fencing]--
	m := msg{role: byNone, node: int8(i), ticket: h.ticket, alone: !h.shared}
	m.write[0] = s.hears(w, i, heldFence, 0, none).write
	s.say("    %s sends %s", nameOf(i), s.name(&m))
	s.post(w, m)
}

// fenced checks such a transaction that is made.
func (s *search) fenced(w *world, m *msg) {
	if m.alone && (m.ticket < max(w.grant, w.turn) || len(s.items.recs[w.rec].Holders) != 1) {
		s.fail("fence: a write with the exclusive lock of ticket %d is made beside another holder", m.ticket)
	}
}

// change lets a holder change its entry.
func (s *search) change(w *world, i int, kind queue.HoldEventKind) {
	h := &w.nodes[i].hold
	h.changing = true
	if kind == heldData {
		h.left[setting]--
	}
	r := s.hears(w, i, kind, 0, none)
	m := msg{role: byChange, node: int8(i)}
	m.write[0] = r.write
	s.say("    %s sends %s", nameOf(i), s.name(&m))
	s.post(w, m)
}

func (s *search) answeredChange(w *world, m *msg) {
	i := int(m.node)
	n := &w.nodes[i]
	h := &n.hold
	reply := queue.Reply(m.reply)
	if reply >= queue.ReplyFailed { // its sender repeats it as it is
		l := msg{role: byChange, node: m.node, write: m.write}
		s.say("    %s sends %s", nameOf(i), s.name(&l))
		s.post(w, l)
		return
	}
	h.changing = false
	name := s.items.writes[m.write[0]].Name
	switch r := s.hears(w, i, queue.HoldChanged, reply, m.rec); {
	case r.result == queue.HoldMade:
		s.say("    %s hears of its %s", nameOf(i), name)
		if name == "DOWNGRADE" && !h.down || name == "SETDATA" && h.data == 0 {
			s.fail("reported: %s hears of its %s, and the table has not applied it", nameOf(i), name)
		}
		h.shared = h.shared || name == "DOWNGRADE"
	case r.phase.Final():
		s.earlier(w, i)
	default:
		if h.end == running {
			s.fail("reported: %s hears that ticket %d is lost, and its entry is in the record", nameOf(i), h.ticket)
		}
		s.lose(w, i)
	}
}

// earlier ends a lock of which the record shows that an earlier call has released it.
func (s *search) earlier(w *world, i int) {
	s.say("    %s hears that an earlier call has released it", nameOf(i))
	s.lose(w, i)
}

// abandon leaves what a holder has under way: its lease is over, or it calls Release.
func (s *search) abandon(w *world, i int) {
	h := &w.nodes[i].hold
	if h.changing {
		s.recall(w, i, byChange)
		h.changing = false
	}
	s.abandonTx(w, i)
	switch {
	case !h.updating:
	case h.then == thenRelease && h.begun: // it waits for a transaction
		h.then = thenNothing
		r := s.stepHold(holdKey{m: h.m, kind: queue.HoldAnswered, clock: w.nodes[i].clock, deadline: s.deadline(h), err: true})
		h.m = r.m
		s.holding(w, i, r)
	case h.then == thenRelease:
		s.recall(w, i, bySettle)
		s.settled(w, i, queue.MadeUnknown)
	case h.await != awaitNothing:
		s.goesOn(w, i, true)
	case s.recall(w, i, byHold):
		s.holding(w, i, s.hears(w, i, queue.HoldAnswered, queue.ReplyUnknown, none))
	}
}

// update calls UpdateAndRelease.
func (s *search) update(w *world, i int) {
	n := &w.nodes[i]
	h := &n.hold
	h.left[updating]--
	h.updating = true
	h.calls++
	s.holding(w, i, s.hears(w, i, queue.HoldUpdate, queue.ReplyApplied, none))
}

// stopsChanging lets the caller of Downgrade or SetData give up.
func (s *search) stopsChanging(w *world, i int) {
	w.spend(late)
	s.hears(w, i, queue.HoldChanged, queue.ReplyUnknown, none)
	s.abandon(w, i)
}

// used notes what a write of a holder has made of its entry, and checks that.
func (s *search) used(w *world, m *msg, name string, before, rec *queue.Record) {
	h := &w.nodes[m.node].hold
	if h.m == none {
		return
	}
	was, _ := before.Mine(s.ids[h.number])
	if own, ok := rec.Mine(s.ids[h.number]); ok {
		if own.DataSet < was.DataSet {
			s.fail("late: %s replaces later data", name)
		}
		if own.Ticket == was.Ticket && own.Reached.Less(was.Reached) {
			s.fail("late: %s goes back to turn %s from %s", name, own.Reached, was.Reached)
		}
		h.down, h.data = h.down || own.Shared, max(h.data, int8(own.DataSet))
	}
}

// updates checks an update that the table has applied with a release.
func (s *search) updates(w *world, m *msg, before *queue.Record) {
	u := &w.nodes[m.node].updated
	k := slices.IndexFunc(before.Holders, func(h queue.Holder) bool {
		return ownerOf(h.ID) == int(m.node) && h.Ticket.Compare(tickets[m.ticket]) <= 0 && tickets[m.ticket].Compare(h.Last()) <= 0
	})
	switch {
	case u.made > 0:
		s.fail("written: the update of ticket %d is made by call %d, and again by %d", m.ticket, u.made, m.call)
	case k < 0:
		s.fail("written: an update of ticket %d is made, which is not in the record", m.ticket)
	case m.ticket < max(w.grant, w.turn) && !before.Holders[k].Shared:
		s.fail("fence: an update of ticket %d is made after a later grant", m.ticket)
	case u.denied&(1<<m.call) != 0 && !w.has(dup):
		s.fail("reported: %s has heard that its update will not be made, and it is", nameOf(int(m.node)))
	}
	u.made = m.call
}

// updateEnded takes the result of an UpdateAndRelease.
func (s *search) updateEnded(w *world, i int, r *heldStep) {
	n := &w.nodes[i]
	h := &n.hold
	u, call := &n.updated, h.calls
	h.updating = false
	not := func() {
		u.denied |= 1 << call
		if u.made == call {
			s.fail("reported: %s hears that its update was not made, and it was", nameOf(i))
		}
	}
	switch {
	case r.result == queue.HoldMade:
		s.say("    %s hears that its update is made", nameOf(i))
		if u.made != call {
			s.fail("reported: %s hears that its update is made, and it is not", nameOf(i))
		}
	case r.result == queue.HoldLost:
		s.say(string(story.WasLost), nameOf(i))
		not()
	case r.result == queue.HoldEarlier:
		s.say("    %s hears that an earlier call has released it", nameOf(i))
		not()
		if h.end != byRelease {
			s.fail("reported: %s hears that an earlier call has released ticket %d, and none has", nameOf(i), h.ticket)
		}
	case r.open && s.mistake != NotUpdated:
		if r.result == queue.HoldOverwritten && call == 1 { // else it may be that of another call
			s.rare(w, i)
		}
		h.open = true
		s.say("    %s does not learn what became of its update", nameOf(i))
	default:
		s.say("    %s hears that its update is not made", nameOf(i))
		not()
	}
	switch {
	case r.phase == queue.PhaseReleased:
		s.over(w, i, r.reset)
	case !r.phase.Held() && !h.lost:
		s.lose(w, i)
	}
}

// over ends a turn.
func (s *search) over(w *world, i int, reset bool) {
	n := &w.nodes[i]
	t := tickets[n.hold.last()]
	if s.mistake == ResetFirst {
		t = tickets[n.hold.first]
	}
	s.abandon(w, i)
	s.giveBack(w, i)
	n.hold, n.caller = hold{}, idle
	s.withdraw(w, i)
	if reset && s.mistake != NoReset {
		m := msg{role: byReset, node: int8(i)}
		m.write[0] = s.items.send(queue.Reset(t, time.Time{}), 0, "")
		s.say("    %s sends RESET", nameOf(i))
		s.post(w, m)
	}
}

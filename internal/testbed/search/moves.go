package search

import (
	"slices"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/queue"
)

// move is one thing that can happen.
type move struct {
	kind  moveKind
	i, j  int8
	timer member.Timer
}

type moveKind uint8

// The moves: of the caller j of i, of i, of others, and of message i.
const (
	wants moveKind = iota // several callers may come together
	releases
	gives       // it gives up
	stops       // it waits no longer for what it has called
	readsOf     // it reads x
	uses        // it calls use j%8, and is j/8
	updates     // it calls UpdateAndRelease
	numbers     // it takes a number for several queues
	saves       // its handle is saved
	quits       // it deletes the row of the handle that it has; a copy of the request may be late if j is 1
	again       // another lock sends its transaction again
	ceases      // it sends it no more
	forgets     // DynamoDB forgets the token of its transaction
	fires       // a timer
	looksSlowly // the same of a look, whose answer takes long
	rings       // it hears a bell
	dies
	sleeps
	showsRecord // a part of its transaction that is decided becomes visible
	showsX
	evicts   // an operator evicts the holder i of the record
	asks     // an operator asks the holder i of the record to give way
	erases   // the record
	declines // the condition of callers' updates changes
	delivers // the table applies it and answers, or its sender takes the answer
	slows    // the table applies it, and the answer takes long
	drops    // it is lost
	mutes    // its answer is lost
	fails    // the table does not apply it, and says so
	delays   // it has no answer, and may be applied later
	copies   // a copy of it may be applied later
)

// adder adds a move, if it may happen.
type adder func(may bool, k moveKind, i, j int)

// moves returns what can happen. fair is how many of them, at the start, are no faults.
func (s *search) moves(w *world, all []move) (_ []move, fair int) {
	add := func(may bool, k moveKind, i, j int) {
		if may {
			all = append(all, move{kind: k, i: int8(i), j: int8(j)})
		}
	}
	for i := range s.Clients {
		if n := &w.nodes[i]; !n.dead {
			s.comes(w, i, add)
			for j := range int(n.came) {
				s.calls(w, i, j, add)
			}
			all = s.timers(w, i, false, all)
		}
	}
	for k := range w.net {
		m := &w.net[k]
		add(m.role != noMsg && !s.blocked(w, m), delivers, k, 0)
	}
	add(w.split.record, showsRecord, int(w.split.node), 0)
	add(w.split.x, showsX, int(w.split.node), 0)
	fair = len(all)
	for k := 0; k < maxNet && w.net[k].role != noMsg; k++ {
		s.faultsOf(w, k, add)
	}
	for i := range s.Clients {
		if n := &w.nodes[i]; !n.dead {
			s.faultsAt(w, i, add)
			all = s.timers(w, i, true, all)
		}
	}
	for k := range s.items.recs[w.rec].Holders {
		add(w.may(Evict), evicts, k, 0)
		add(w.may(Ask), asks, k, 0)
	}
	add(w.may(Delete) && w.rec != none && (!s.Forgets || s.expires(w)), erases, 0, 0)
	add(w.may(Decline), declines, 0, 0)
	return all, fair
}

// comes adds the callers that may come.
func (s *search) comes(w *world, i int, add adder) {
	n, c := &w.nodes[i], &s.Clients[i]
	room := c.With != nil || n.crowd()+max(c.Block, 1) <= c.width()
	something := (!c.Resumes || s.resumedBy(w, i) != (handle{})) && (!c.Given || w.common[i] > 0)
	place := c.Leaves && n.known == (handle{}) && w.nodes[c.From].known != (handle{})
	add(place, quits, i, 0)
	add(place && w.may(Late), quits, i, 1)
	add(c.Given && w.common[i] == 0 && n.came == 0, numbers, i, 0)
	add(int(n.came) < s.callersOf(i) && something && room, wants, i, int(n.came))
}

// resumedBy returns the handle that a client continues. One that leaves has its own copy.
func (s *search) resumedBy(w *world, i int) handle {
	c := &s.Clients[i]
	if c.Leaves {
		return w.nodes[i].known
	}
	return w.nodes[c.From].known
}

// leave lets a client delete the row of a handle.
func (s *search) leave(w *world, i int, late bool) {
	n := &w.nodes[i]
	n.known = w.nodes[s.Clients[i].From].known
	if n.known.held {
		return
	}
	m := msg{role: stray, node: int8(i)}
	m.write[0] = s.items.send(queue.Quit(s.handleFrom(n.known)), n.known.ticket, "")
	n.known.held = true // it is not put again
	if late {
		w.spend(Late)
		s.post(w, m)
	}
	s.apply(w, &m)
}

// calls adds what a caller may call.
func (s *search) calls(w *world, i, j int, add adder) {
	c := &w.nodes[i].callers[j]
	add(c.saves && c.state == waits, saves, i, j)
	add(c.pauses, again, i, j)
	add(c.pauses, ceases, i, j)
	if c.state != holds {
		return
	}
	add((c.calling > 0 || c.updates) && s.pauses(w, i), stops, i, j)
	if c.updates {
		return
	}
	spec := s.specOf(i, j)
	more := int(c.calls) < spec.Updates
	may := func(u member.Use) bool { return c.left[u] > 0 }
	add(true, releases, i, j)
	if c.lost || c.open {
		add(more && !c.lost, updates, i, j)
		return
	}
	add(may(member.Fences), uses, i, j*8+int(member.Fences))
	writes := (may(member.Transacts) || c.joins > 0) && !c.joined
	add((writes || spec.Reads) && !c.read && !w.split.x, readsOf, i, j)
	if c.calling > 0 {
		add(spec.Both && c.read && writes && may(member.Transacts), uses, i, j*8+int(member.Transacts))
		return
	}
	add(writes && c.read && may(member.Transacts), uses, i, j*8+int(member.Transacts))
	add(writes && c.read && c.joins > 0, uses, i, j*8+int(member.Joins))
	add(may(member.Downgrades), uses, i, j*8+int(member.Downgrades))
	add(may(member.SetsData), uses, i, j*8+int(member.SetsData))
	add(more, updates, i, j)
}

// pauses reports whether a holder of a client pauses before it repeats a request.
func (s *search) pauses(w *world, i int) bool {
	return slices.ContainsFunc(s.state(w.nodes[i].m).timers, func(t member.Timed) bool { return t.Kind == member.Repeats || t.Kind == member.Attempts })
}

// timers adds the timers that may fire: those whose request is counted as a fault, or the others.
func (s *search) timers(w *world, i int, counted bool, all []move) []move {
	n := &w.nodes[i]
	for _, t := range s.state(n.m).timers {
		fair, may := true, true
		switch t.Kind {
		case member.Beats:
			fair, may = t.Accepts, t.Accepts || w.may(Beat)
		case member.Renews:
			fair, may = false, w.may(RowBeat)
		case member.Ends, member.RowEnds:
			may = n.clock >= clockOf(t.At)
		case member.Pauses:
			may = !s.Again || !slices.ContainsFunc(w.net[:], func(m msg) bool { return m.role == stray && int(m.node) == i })
		case member.Rests:
			if counted && w.may(Slow) {
				all = append(all, move{kind: looksSlowly, i: int8(i), timer: t.Timer})
			}
		}
		if may && fair != counted {
			all = append(all, move{kind: fires, i: int8(i), timer: t.Timer})
		}
	}
	return all
}

// faultsOf adds what may go wrong with a message.
func (s *search) faultsOf(w *world, k int, add adder) {
	m := &w.net[k]
	dead := w.nodes[m.node].dead && m.role != operators
	switch {
	case m.role == counter:
		add(w.may(Lost), drops, k, 0)
		add(w.may(Lost), mutes, k, 0)
		return
	case m.answer:
		return
	case dead, m.role == stray:
		add(dead || w.may(Lost), drops, k, 0)
		return
	case m.role != request || m.show:
		return
	}
	write, blocked := !m.look.is, s.blocked(w, m)
	repeats := s.Any || s.items.writes[m.write[0]].Repeat == clause.Freely
	add(w.may(Slow) && !blocked && !m.tx, slows, k, 0)
	add(w.may(Lost), drops, k, 0)
	add(w.may(Lost) && write && !blocked, mutes, k, 0)
	add(w.may(Failed), fails, k, 0)
	add(w.may(Late) && write, delays, k, 0)
	add(w.may(Dup) && write && repeats && m.write[1] == none, copies, k, 0)
}

// faultsAt adds what may go wrong with a process and its callers.
func (s *search) faultsAt(w *world, i int, add adder) {
	n := &w.nodes[i]
	st := s.state(n.m)
	add(w.may(Crash) && !st.idle, dies, i, 0)
	add(w.may(Ends) && !st.idle, sleeps, i, 0)
	add(w.may(Guess) && slices.ContainsFunc(st.blocks, rests), rings, i, 0)
	for j := range int(n.came) {
		c := &n.callers[j]
		add(w.may(GiveUp) && c.state == waits && !c.gone, gives, i, j)
		add(w.may(Late) && c.state == holds && (c.calling > 0 || c.updates) && !s.pauses(w, i), stops, i, j)
		add(w.may(Forget) && c.token > 0, forgets, i, j)
	}
}

// faultOf are the faults that moves spend.
var faultOf = map[moveKind]Fault{
	rings: Guess, gives: GiveUp, dies: Crash, evicts: Evict, asks: Ask, erases: Delete, declines: Decline, forgets: Forget,
	slows: Slow, mutes: Lost, fails: Failed, delays: Late, copies: Dup,
}

// follow returns the world after a move; false if the move changes nothing. Requests of an operator may arrive at any time.
func (s *search) follow(old *world, v move) (w world, ok bool) {
	w = *old
	i, j := int(v.i), int(v.j)
	look := v.kind == looksSlowly || v.kind == fires && (v.timer.Kind == member.Rests || v.timer.Kind == member.Reads)
	if look {
		return w, s.poll(&w, i, v)
	}
	if s.log != nil {
		s.log("%s", s.nameMove(old, v))
	}
	if f, ok := faultOf[v.kind]; ok {
		w.spend(f)
	}
	switch v.kind {
	case wants:
		s.want(&w, i)
	case releases:
		s.release(&w, i, j)
	case fires:
		switch t, _ := s.timer(&w, i, v.timer); {
		case t.Kind == member.Beats && !t.Accepts:
			w.spend(Beat)
		case t.Kind == member.Renews:
			w.spend(RowBeat)
		}
		s.step(&w, i, event{kind: evDue, timer: v.timer})
	case rings:
		s.step(&w, i, event{kind: evRung})
	case gives:
		w.nodes[i].callers[j].gone = true
		s.step(&w, i, event{kind: evGivesUp, caller: v.j})
	case stops:
		if !s.pauses(&w, i) { // its request is late
			w.spend(Late)
		}
		s.step(&w, i, event{kind: evStops, caller: v.j})
	case uses, updates, readsOf:
		s.use(&w, i, v)
	case again, ceases:
		s.goesOn(&w, i, j, v.kind == ceases)
	case numbers:
		w.number++
		w.common[i] = w.number
	case saves:
		w.nodes[i].callers[j].saves = false
		s.step(&w, i, event{kind: evSaved, caller: v.j})
	case quits:
		s.leave(&w, i, j == 1)
	case dies:
		s.die(&w, i)
	case sleeps:
		if w.may(Ends) {
			w.spend(Ends)
		}
		w.nodes[i].clock++
	case evicts, asks:
		s.operate(&w, &s.items.recs[w.rec].Holders[i], v.kind == asks)
	case erases:
		s.erase(&w)
	case declines:
		w.denies = !w.denies
	case forgets:
		c := &w.nodes[i].callers[j]
		c.forgotten, c.token = true, 0
	case showsRecord, showsX:
		s.shows(&w, v.kind == showsX)
	default:
		s.network(&w, v.kind, i)
	}
	return w, true
}

// timer returns a timer of a client, if it runs.
func (s *search) timer(w *world, i int, t member.Timer) (_ member.Timed, runs bool) {
	for _, r := range s.state(w.nodes[i].m).timers {
		if r.Timer == t {
			return r, true
		}
	}
	return member.Timed{}, false
}

// want lets the next callers come.
func (s *search) want(w *world, i int) {
	n := &w.nodes[i]
	first, count := int(n.came), max(s.Clients[i].Block, 1)
	if s.Clients[i].With != nil {
		count = 1
	}
	count = min(count, s.callersOf(i)-first)
	for j := first; j < first+count; j++ {
		n.callers[j] = caller{state: waits}
	}
	n.came += int8(count)
	s.step(w, i, event{kind: evWants, caller: int8(first), count: int8(count), kindOf: s.kindOf(w, i, first)})
}

// release lets a caller call Release.
func (s *search) release(w *world, i, j int) {
	c := &w.nodes[i].callers[j]
	c.state = releasing
	e := event{kind: evReleases, caller: int8(j)}
	if c.computes = c.computes && !c.lost; c.computes {
		e.result = c.ticket
	}
	s.step(w, i, e)
}

func (s *search) die(w *world, i int) {
	n := &w.nodes[i]
	*n = node{dead: true, clock: n.clock, known: n.known, opens: n.opens, came: int8(s.callersOf(i))}
	for k := 0; k < maxNet && w.net[k].role != noMsg; {
		if m := &w.net[k]; int(m.node) == i && m.role != operators && (m.answer || m.show) {
			w.take(k)
			continue
		}
		k++
	}
	w.split.answers = w.split.answers && int(w.split.node) != i
}

// operate lets an operator evict a holder, or ask it to give way.
func (s *search) operate(w *world, h *queue.Holder, ask bool) {
	mark := queue.Eviction{ID: h.ID, Ticket: h.Ticket, Made: h.Made}
	write := queue.Evict(mark, *h)
	switch {
	case ask:
		write = queue.Revoke(h.ID, h.Ticket, queue.Revocation{By: "operator"})
	case h.Lease.Endless():
		write = queue.EvictFailClosed(mark, *h)
	}
	m := msg{role: operators, node: int8(ownerOf(h.ID)), ticket: small(h.Ticket)}
	m.write[0] = s.items.send(write, 0, h.ID)
	s.post(w, m)
}

// expires reports whether TTL may delete the record: no request is on its way for so long.
func (s *search) expires(w *world) bool {
	_, may := s.items.all[w.rec][theQueue.TTL]
	return may && w.net[0].role == noMsg
}

// forget lets TTL delete the record.
func (s *search) forget(w *world) {
	rec := &s.items.recs[w.rec]
	s.never(len(rec.Holders) > 0, "forgotten: TTL deletes a record with %d holders", len(rec.Holders))
	for i := range s.Clients {
		w.nodes[i].clock += 3
		for _, b := range s.state(w.nodes[i].m).blocks {
			s.never(b.Waits && rec.Floor().Less(b.Ticket), "forgotten: TTL deletes a record, and %s waits with ticket %s", nameOf(i), b.Ticket)
		}
	}
	w.rec, w.base = none, small(rec.TicketNumber)
}

// erase deletes the record. What its holders believe is no concern of the search any more.
func (s *search) erase(w *world) {
	if s.Forgets {
		s.forget(w)
		return
	}
	w.rec, w.grant, w.turn = none, 0, 0
	w.before = [maxTicket + 1]uint16{}
	s.eachTurn(w, func(_, _ int, c *caller) { c.excused, c.end = true, byOther })
	for i := range w.nodes {
		w.nodes[i].opens = 0
	}
}

// poll lets a look be sent, answered and taken at once, unless that leads to nothing now. The answer may take long.
func (s *search) poll(w *world, i int, v move) bool {
	before, said, bad := *w, s.log, s.bad
	s.log = nil
	answered := s.looksOnce(w, i, v)
	s.log = said
	if _, again := s.timer(w, i, v.timer); answered && again && v.timer.Kind == member.Rests && !w.may(Guess) {
		after := *w
		if after.nodes[i].m = before.nodes[i].m; after == before {
			s.bad = bad
			return false
		}
	}
	if s.log == nil {
		return *w != before
	}
	*w = before
	s.say("%s", s.nameMove(&before, v))
	s.looksOnce(w, i, v)
	return true
}

// looksOnce fires the timer of a look. If one look follows, it is answered at once, and that is reported.
func (s *search) looksOnce(w *world, i int, v move) (answered bool) {
	had := w.net
	s.step(w, i, event{kind: evDue, timer: v.timer})
	k := slices.IndexFunc(w.net[:], func(m msg) bool {
		return m.role == request && int(m.node) == i && m.look.is && !m.answer && !slices.Contains(had[:], m)
	})
	if k < 0 {
		return false
	}
	m := w.take(k)
	s.read(w, &m)
	if v.kind == looksSlowly {
		w.spend(Slow)
		m.answer = true
		s.post(w, m)
		return false
	}
	s.hear(w, &m)
	return true
}

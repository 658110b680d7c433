package search

import (
	"slices"

	"github.com/queuelock/queuelock/internal/clause"
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

// moves returns what can happen. fair is how many of them, at the start, are no faults.
func (s *search) moves(w *world, all []move) (_ []move, fair int) {
	add := func(k moveKind, i, j int) { all = append(all, move{kind: k, i: int8(i), j: int8(j)}) }
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
		if m := &w.net[k]; m.role != noMsg && !s.blocked(w, m) {
			add(delivers, k, 0)
		}
	}
	if w.split.record {
		add(showsRecord, int(w.split.node), 0)
	}
	if w.split.x {
		add(showsX, int(w.split.node), 0)
	}
	fair = len(all)
	for k := range w.net {
		if w.net[k].role != noMsg {
			s.faultsOf(w, k, add)
		}
	}
	for i := range s.Clients {
		if n := &w.nodes[i]; !n.dead {
			s.faultsAt(w, i, add)
			all = s.timers(w, i, true, all)
		}
	}
	s.others(w, add)
	return all, fair
}

// comes adds the callers that may come.
func (s *search) comes(w *world, i int, add func(moveKind, int, int)) {
	n, c := &w.nodes[i], &s.Clients[i]
	switch {
	case int(n.came) == s.callersOf(i):
	case c.Resumes && w.nodes[0].known == (handle{}):
	case c.With != nil || n.crowd()+max(c.Block, 1) <= c.width():
		add(wants, i, int(n.came))
	}
}

// calls adds what a caller may call.
func (s *search) calls(w *world, i, j int, add func(moveKind, int, int)) {
	c := &w.nodes[i].callers[j]
	if c.state == holds && (c.calling || c.updates) && s.pauses(w, i) {
		add(stops, i, j)
	}
	if c.state != holds || c.updates {
		return
	}
	add(releases, i, j)
	spec := s.specOf(i, j)
	more := int(c.calls) < spec.Updates
	if c.open && !c.lost && more {
		add(updates, i, j)
	}
	if c.lost || c.open {
		return
	}
	if c.left[member.Fences] > 0 {
		add(uses+moveKind(0), i, j*8+int(member.Fences))
	}
	if c.left[member.Transacts] > 0 && !c.joined {
		if !c.read && !w.split.x {
			add(readsOf, i, j)
		}
		if c.read && !c.calling {
			add(uses, i, j*8+int(member.Transacts))
		}
	}
	if spec.Reads && !c.read && !w.split.x {
		add(readsOf, i, j)
	}
	if c.calling {
		return
	}
	if c.left[member.Downgrades] > 0 {
		add(uses, i, j*8+int(member.Downgrades))
	}
	if c.left[member.SetsData] > 0 {
		add(uses, i, j*8+int(member.SetsData))
	}
	if more {
		add(updates, i, j)
	}
}

// pauses reports whether a holder of a client pauses before it repeats a request.
func (s *search) pauses(w *world, i int) bool {
	return slices.ContainsFunc(s.state(w.nodes[i].m).timers, func(t member.Timed) bool { return t.Kind == member.Repeats || t.Kind == member.Attempts })
}

// timers adds the timers that may fire: those whose request is counted as a fault, or the others.
func (s *search) timers(w *world, i int, counted bool, all []move) []move {
	n := &w.nodes[i]
	for _, t := range s.state(n.m).timers {
		m, fair := move{kind: fires, i: int8(i), timer: t.Timer}, true
		switch t.Kind {
		case member.Beats:
			fair = t.Accepts
			if counted && (fair || w.left[Beat] == 0) {
				continue
			}
		case member.Renews:
			fair = false
			if counted && w.left[RowBeat] == 0 {
				continue
			}
		case member.Ends, member.RowEnds:
			if n.clock < clockOf(t.At) {
				continue
			}
		case member.Rests:
			if counted && w.left[Slow] > 0 {
				all = append(all, move{kind: looksSlowly, i: int8(i), timer: t.Timer})
			}
		}
		if fair != counted {
			all = append(all, m)
		}
	}
	return all
}

// faultsOf adds what may go wrong with a message.
func (s *search) faultsOf(w *world, k int, add func(moveKind, int, int)) {
	m := &w.net[k]
	may := func(f Fault) bool { return w.left[f] > 0 }
	write, dead := !m.look.is && !m.show, w.nodes[m.node].dead && m.role != operators
	switch {
	case m.answer:
		return
	case dead, m.role == stray:
		if dead || may(Lost) {
			add(drops, k, 0)
		}
		return
	case m.role != request || m.show:
		return
	}
	blocked := s.blocked(w, m)
	if may(Slow) && !blocked && !m.tx {
		add(slows, k, 0)
	}
	if may(Lost) {
		add(drops, k, 0)
		if write && !blocked {
			add(mutes, k, 0)
		}
	}
	if may(Failed) {
		add(fails, k, 0)
	}
	if may(Late) && write {
		add(delays, k, 0)
	}
	if may(Dup) && write && (s.Any || s.items.writes[m.write[0]].Repeat == clause.Freely) && m.write[1] == none {
		add(copies, k, 0)
	}
}

// faultsAt adds what may go wrong with a process and its callers.
func (s *search) faultsAt(w *world, i int, add func(moveKind, int, int)) {
	n := &w.nodes[i]
	may := func(f Fault) bool { return w.left[f] > 0 }
	if st := s.state(n.m); !st.idle {
		if may(Crash) {
			add(dies, i, 0)
		}
		if may(Ends) {
			add(sleeps, i, 0)
		}
		rests := slices.ContainsFunc(st.waits, member.Waited.Rests)
		if may(Guess) && rests {
			add(rings, i, 0)
		}
	}
	for j := range int(n.came) {
		c := &n.callers[j]
		if may(GiveUp) && c.state == waits && !c.gone {
			add(gives, i, j)
		}
		if may(Late) && c.state == holds && (c.calling || c.updates) && !s.pauses(w, i) {
			add(stops, i, j)
		}
		if may(Forget) && c.token > 0 {
			add(forgets, i, j)
		}
	}
}

// others adds what operators and other programs may do.
func (s *search) others(w *world, add func(moveKind, int, int)) {
	for k := range s.items.recs[w.rec].Holders {
		if w.left[Evict] > 0 {
			add(evicts, k, 0)
		}
		if w.left[Ask] > 0 {
			add(asks, k, 0)
		}
	}
	if w.left[Delete] > 0 && w.rec != none {
		add(erases, 0, 0)
	}
	if w.left[Decline] > 0 {
		add(declines, 0, 0)
	}
}

// follow returns the world after a move; false if the move changes nothing.
func (s *search) follow(old *world, v move) (w world, ok bool) {
	w = *old
	i, j := int(v.i), int(v.j)
	look := v.kind == looksSlowly || v.kind == fires && (v.timer.Kind == member.Rests || v.timer.Kind == member.Reads)
	if s.log != nil && !look {
		s.log("%s", s.nameMove(old, v))
	}
	switch v.kind {
	case wants:
		s.want(&w, i)
	case releases:
		s.release(&w, i, j)
	case fires, looksSlowly:
		if look {
			return w, s.poll(&w, i, v)
		}
		switch accepts := s.accepts(&w, i, v.timer); {
		case v.timer.Kind == member.Beats && !accepts:
			w.spend(Beat)
		case v.timer.Kind == member.Renews:
			w.spend(RowBeat)
		}
		s.step(&w, i, event{kind: evDue, timer: v.timer})
	case rings:
		w.spend(Guess)
		s.step(&w, i, event{kind: evRung})
	case gives:
		w.spend(GiveUp)
		w.nodes[v.i].callers[v.j].gone = true
		s.step(&w, i, event{kind: evGivesUp, caller: v.j})
	case stops:
		if !s.pauses(&w, i) { // its request is late
			w.spend(Late)
		}
		s.step(&w, i, event{kind: evStops, caller: v.j})
	case uses, updates, readsOf:
		s.use(&w, i, v)
	case dies:
		w.spend(Crash)
		s.die(&w, i)
	case sleeps:
		if w.left[Ends] > 0 {
			w.spend(Ends)
		}
		w.nodes[i].clock++
	case evicts, asks, erases, declines, forgets:
		s.other(&w, v)
	case showsRecord, showsX:
		s.shows(&w, v.kind == showsX)
	default:
		s.network(&w, v.kind, i)
	}
	return w, true
}

func (s *search) accepts(w *world, i int, t member.Timer) bool {
	return slices.ContainsFunc(s.state(w.nodes[i].m).timers, func(r member.Timed) bool { return r.Timer == t && r.Accepts })
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

// other plays what operators and other programs do. Requests of an operator may arrive at any time.
func (s *search) other(w *world, v move) {
	i := int(v.i)
	switch v.kind {
	case evicts:
		w.spend(Evict)
		h := s.items.recs[w.rec].Holders[i]
		mark := queue.Eviction{ID: h.ID, Ticket: h.Ticket, Made: h.Made}
		c := queue.Evict(mark, h)
		if h.Lease.Endless() {
			c = queue.EvictFailClosed(mark, h)
		}
		s.operate(w, h, c)
	case asks:
		w.spend(Ask)
		h := s.items.recs[w.rec].Holders[i]
		s.operate(w, h, queue.Revoke(h.ID, h.Ticket, queue.Revocation{By: "operator"}))
	case erases:
		w.spend(Delete)
		s.erase(w)
	case declines:
		w.spend(Decline)
		w.denies = !w.denies
	case forgets:
		w.spend(Forget)
		c := &w.nodes[i].callers[v.j]
		c.forgotten, c.made.token = true, 0
	}
}

func (s *search) operate(w *world, h queue.Holder, c clause.Write) {
	m := msg{role: operators, node: int8(ownerOf(h.ID)), ticket: small(h.Ticket)}
	m.write[0] = s.items.send(c, 0, h.ID)
	s.post(w, m)
}

// erase deletes the record. What its holders believe is no concern of the search any more.
func (s *search) erase(w *world) {
	w.rec, w.grant, w.turn = none, 0, 0
	w.before = [maxTicket + 1]uint16{}
	for i := range w.nodes {
		for j := range w.nodes[i].callers {
			if c := &w.nodes[i].callers[j]; c.served() {
				c.excused, c.end = true, byOther
			}
		}
		w.nodes[i].opens = 0
	}
}

// poll lets a look be sent, answered and taken at once, unless that leads to nothing now. The answer may take long.
func (s *search) poll(w *world, i int, v move) bool {
	before := *w
	said, bad := s.log, s.bad
	s.log = nil
	if s.looksOnce(w, i, v) && v.kind == fires && s.sleepy(w, i, v.timer) {
		after := *w
		after.nodes[i].m = before.nodes[i].m
		if s.log = said; after == before {
			s.bad = bad
			return false
		}
	}
	if s.log = said; s.log == nil {
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
	k := -1
	for n := range w.net {
		if m := &w.net[n]; m.role == request && int(m.node) == i && m.look.is && !m.answer && !slices.ContainsFunc(had[:], func(o msg) bool { return o == *m }) {
			k = n
		}
	}
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

// sleepy reports whether the timer runs again: what it was for has led to nothing.
func (s *search) sleepy(w *world, i int, t member.Timer) bool {
	if w.left[Guess] > 0 {
		return false
	}
	return t.Kind == member.Rests && slices.ContainsFunc(s.state(w.nodes[i].m).timers, func(r member.Timed) bool { return r.Timer == t })
}

package search

import (
	"fmt"
	"slices"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/testbed/story"
	"github.com/queuelock/queuelock/queue"
)

// move is one thing that can happen.
type move struct {
	kind moveKind
	i, j int8
}

type moveKind uint8

const (
	wants       moveKind = iota // i
	polls                       // i rests, and looks
	guesses                     // i rests, and sends CLAIM
	releases                    // i
	passes                      // i to the waiter j of its client
	names                       // i by the row that it has read
	reads                       // i the row with the next ticket
	beats                       // i
	renews                      // i, of its place j
	gives                       // i gives up
	dies                        // i
	sleeps                      // i
	evicts                      // the holder i of the record
	asks                        // an operator asks the holder i of the record to give way
	erases                      // the record
	delivers                    // message i: the table applies it and answers, or its sender takes the answer
	slows                       // the table applies message i, and the answer takes long
	drops                       // message i is lost
	mutes                       // its answer is lost
	fails                       // the table does not apply it, and says so
	delays                      // message i has no answer, and may be applied later
	copies                      // a copy of message i may be applied later
	slowPolls                   // i rests, and looks; the answer takes long
	downgrades                  // i
	sets                        // i calls SetData
	updates                     // i calls UpdateAndRelease
	retries                     // i sends the request of its UpdateAndRelease again
	stops                       // i gives it up
	declines                    // the condition of callers' updates changes
	readsOf                     // i reads x
	transacts                   // i calls Transact
	showsRecord                 // a part of the transaction that is decided becomes visible
	showsX
	fences      // i sends a transaction of its own
	forgets     // DynamoDB the token of i's transaction
	shows       // i rests, and takes over the record that another waiter of its client has read
	fencesAfter // the caller of i's turn before sends a transaction of its own
	givesOne    // the caller j of i's block gives up
	retakes     // i takes tickets for j, a waiter of its client without one, as it releases
	pauses      // i will stop after its next step
	goesOn      // i does what follows from that step
)

// moves returns what can happen. fair is how many of them, at the start, are no faults.
func (s *search) moves(w *world, all []move) (_ []move, fair int) {
	add := func(k moveKind, i, j int) { all = append(all, move{k, int8(i), int8(j)}) }
	may := func(f fault) bool { return w.left[f] > 0 }
	for i := range s.Clients {
		n := &w.nodes[i]
		if n.dead {
			continue
		}
		doing := n.doing(s)
		n.hold.paused(add, i)
		if n.hold.before != none {
			add(fencesAfter, i, 0)
		}
		switch {
		case s.Clients[i].Resumes && n.turns > 0 && n.caller == idle && (w.nodes[0].known == 0 || n.hold.m != none):
		case n.caller == idle && n.turns > 0 && n.hold.m == none:
			add(wants, i, 0)
		case n.stopped != 0:
			add(goesOn, i, 0)
		case n.caller == waits && doing == queue.Resting && !n.taken:
			add(polls, i, 0)
			if s.Clients[i].Group == "" && s.shown(w, i) {
				add(shows, i, 0)
			}
		case n.caller == holds && n.hold.advancing:
			if h := &n.hold; !h.accepted && !h.beating {
				add(beats, i, 0)
			}
		case n.caller == holds:
			s.uses(w, i, add)
			if n.hold.updating {
				break
			}
			add(releases, i, 0)
			if h := &n.hold; !h.accepted && !h.beating && !h.lost {
				add(beats, i, 0)
			}
			if s.believes(n) && (s.Names || s.Same) {
				s.passings(w, i, add)
			}
		}
	}
	for k := range w.net {
		if w.net[k].role == noMsg {
			break
		}
		if !s.blocked(w, &w.net[k]) {
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
		m := &w.net[k]
		if m.role == noMsg {
			break
		}
		if m.answer {
			continue
		}
		write, dead := m.look == 0, w.nodes[m.node].dead && m.role != byOperator
		waited := m.role != byNone && m.role != byOperator && !dead
		if dead || m.role == byNone || m.role == byReset {
			if dead || may(lost) {
				add(drops, k, 0)
			}
			if m.role == byReset && !dead && may(late) { // as a late one
				continue
			}
			continue
		}
		if !waited {
			continue
		}
		if may(slow) && !s.blocked(w, m) && m.role != byTx {
			add(slows, k, 0)
		}
		if may(lost) {
			add(drops, k, 0)
			if write && !s.blocked(w, m) {
				add(mutes, k, 0)
			}
		}
		if may(failed) {
			add(fails, k, 0)
		}
		if may(late) && write {
			add(delays, k, 0)
		}
		if may(dup) && write && (s.Any || s.items.writes[m.write[0]].Repeat == clause.Freely) && m.write[1] == none {
			add(copies, k, 0)
		}
	}
	for i := range s.Clients {
		n := &w.nodes[i]
		if n.dead {
			continue
		}
		active := n.caller != idle || n.hold.m != none
		doing := n.doing(s)
		if may(crash) && (active || s.rowsOf(n)) {
			add(dies, i, 0)
		}
		if may(ends) && (active || s.rowsOf(n)) {
			add(sleeps, i, 0)
		}
		if may(giveUp) && n.caller == waits && (doing != queue.Idle || n.taken) {
			add(gives, i, 0)
		}
		if may(giveUp) {
			s.giveUps(n, i, add)
		}
		if may(pause) && n.caller == waits && !n.pausing && n.stopped == 0 {
			add(pauses, i, 0)
		}
		if n.caller == waits && doing == queue.Resting && !n.taken && n.stopped == 0 {
			if may(guess) && s.isNext(n) {
				add(guesses, i, 0)
			}
			if may(slow) {
				add(slowPolls, i, 0)
			}
		}
		if h := &n.hold; may(beat) && s.believes(n) && !h.beating && (h.accepted || h.endless) {
			add(beats, i, 0)
		}
		for k := range n.places {
			if p := &n.places[k]; may(rowBeat) && p.state == there && !p.withdrawn {
				add(renews, i, k)
			}
		}
	}
	if may(evict) {
		for k := range s.items.recs[w.rec].Holders {
			add(evicts, k, 0)
		}
	}
	if may(ask) {
		for k := range s.items.recs[w.rec].Holders {
			add(asks, k, 0)
		}
	}
	if may(deletes) && w.rec != none {
		add(erases, 0, 0)
	}
	if may(decline) {
		add(declines, 0, 0)
	}
	for i := range s.Clients {
		if may(forget) && w.nodes[i].made.token > 0 {
			add(forgets, i, 0)
		}
	}
	return all, fair
}

// nextRow returns the row with the ticket after t.
func (s *search) nextRow(w *world, t uint8) (k int, ok bool) {
	if s.mistake == NotNext {
		t++
	}
	return s.rowOf(w, t+1)
}

func (s *search) rowsOf(n *node) bool {
	for k := range n.places {
		if n.places[k].state != noPlace {
			return true
		}
	}
	return false
}

func (s *search) isNext(n *node) bool { return s.waits.all[n.wait].Next() }

// passings adds the ways in which a holder can pass the lock on.
func (s *search) passings(w *world, i int, add func(moveKind, int, int)) {
	h := &w.nodes[i].hold
	if _, more := w.nodes[i].follower(); s.Clients[i].Mode != (queue.Mode{}) || h.last() >= maxTicket || more {
		return
	}
	if h.next != none {
		add(names, i, 0)
	} else if k, ok := s.nextRow(w, h.last()); ok && s.Names && s.items.rows[w.rows[k]].EntryID != "" {
		add(reads, i, 0)
	}
	if !s.Same || s.Clients[i].Apart {
		return
	}
	for j := range s.Clients {
		to := &w.nodes[j]
		p := to.current()
		switch {
		case j == i || to.dead || s.Clients[j].Apart:
		case to.offered && p != nil && (p.ticket == h.last()+1 || s.mistake == PassNotNext) && p.inTable():
			add(passes, i, j)
		case s.Retakes && to.caller == idle && to.turns > 0 && to.hold.m == none && to.stopped == 0:
			add(retakes, i, j)
		}
	}
}

// follow returns the world after a move; false if the move changes nothing.
func (s *search) follow(old *world, v move) (w world, ok bool) {
	w = *old
	i, j := int(v.i), int(v.j)
	if s.log != nil && v.kind != polls && v.kind != slowPolls {
		s.log("%s", s.nameMove(old, v))
	}
	switch v.kind {
	case wants:
		s.want(&w, i)
	case polls:
		return w, s.poll(&w, i, false)
	case slowPolls:
		w.spend(slow)
		return w, s.poll(&w, i, true)
	case guesses:
		w.spend(guess)
		s.step(&w, i, event{kind: evRested, flag: true})
	case releases:
		s.release(&w, i, 0)
	case passes, retakes:
		s.release(&w, i, j+1)
	case givesOne:
		w.spend(giveUp)
		s.giveUpOne(&w, i, j)
	case names:
		s.release(&w, i, -1)
	case reads:
		n := &w.nodes[i]
		k, _ := s.nextRow(&w, n.hold.last())
		n.hold.next = w.rows[k]
	case beats:
		if h := &w.nodes[i].hold; h.accepted || h.endless {
			w.spend(beat)
		}
		s.heartbeat(&w, i)
	case renews:
		w.spend(rowBeat)
		s.renew(&w, i, j)
	case shows:
		return w, s.takeOver(&w, i)
	case pauses:
		w.spend(pause)
		w.nodes[i].pausing = true
	case goesOn:
		s.goOnAfter(&w, i)
	case gives:
		w.spend(giveUp)
		s.give(&w, i)
	case dies:
		w.spend(crash)
		w.nodes[i] = node{dead: true, clock: w.nodes[i].clock, gen: w.nodes[i].gen, known: w.nodes[i].known, opens: w.nodes[i].opens}
		for k := range w.net {
			if m := &w.net[k]; m.role != noMsg && int(m.node) == i && m.role != byOperator && m.answer {
				w.take(k)
				return w, true
			}
		}
	case sleeps:
		if w.left[ends] > 0 {
			w.spend(ends)
		}
		s.sleep(&w, i)
	case evicts:
		w.spend(evict)
		s.evictNow(&w, i)
	case asks:
		w.spend(ask)
		s.askNow(&w, i)
	case erases:
		w.spend(deletes)
		s.erase(&w)
	case downgrades:
		s.downgrade(&w, i)
	case sets:
		s.change(&w, i, heldData)
	case updates:
		s.update(&w, i)
	case retries, stops:
		if w.nodes[i].hold.await != awaitNothing {
			s.goesOn(&w, i, v.kind == stops)
		} else {
			s.stopsChanging(&w, i)
		}
	case declines:
		w.spend(decline)
		w.denies = !w.denies
	case readsOf:
		s.readsX(&w, i)
	case fences:
		s.fence(&w, i)
	case fencesAfter:
		s.fenceAfter(&w, i)
	case transacts:
		s.transact(&w, i)
	case showsRecord, showsX:
		s.shows(&w, v.kind == showsX)
	case forgets:
		w.spend(forget)
		w.nodes[i].made.token = 0
		if w.nodes[i].hold.m != none {
			w.nodes[i].hold.forgotten = true
		}
	default:
		s.network(&w, v.kind, i)
	}
	return w, true
}

// give lets a caller give up: at once if no request of the wait is under way, else with its answer.
func (s *search) give(w *world, i int) {
	n := &w.nodes[i]
	n.caller = leaves
	s.allGiveUp(w, i)
	if p := n.current(); p != nil {
		s.stepRow(w, i, int(n.place-1), rowEnd, 0, 0, 0)
	}
	if !s.outstanding(w, i) && !n.taken && n.stopped == 0 {
		s.leaving(w, i)
	}
}

// sleep lets the clock of a node go on.
func (s *search) sleep(w *world, i int) {
	n := &w.nodes[i]
	n.clock++
	for k := range n.places {
		if p := &n.places[k]; p.state == there && !p.withdrawn && p.until <= n.clock {
			s.stepRow(w, i, k, rowLost, 0, 0, 0)
		}
	}
	if h := &n.hold; h.m != none && !h.endless && n.clock >= h.sent+s.ttl {
		s.lose(w, i)
	}
}

// erase deletes the record. What its holders believe is no concern of the search any more.
func (s *search) erase(w *world) {
	w.rec, w.grant, w.turn = none, 0, 0
	w.before = [maxTicket + 1]uint16{}
	for i := range w.nodes {
		if h := &w.nodes[i].hold; h.m != none {
			h.excused, h.end = true, byOther
		}
		w.nodes[i].opens = 0
	}
}

// network plays what happens to message i.
func (s *search) network(w *world, kind moveKind, i int) {
	m := w.take(i)
	switch kind {
	case delivers, slows:
		if m.answer {
			s.hear(w, &m)
			return
		}
		if m.token > 0 {
			s.decide(w, &m, m.role == byTx)
			return
		}
		s.apply(w, &m)
		if kind == slows {
			w.spend(slow)
			m.answer = true
			s.post(w, m)
			return
		}
		s.hear(w, &m)
	case drops:
		if !w.nodes[m.node].dead {
			s.loses(w, &m, lost)
		}
		s.unanswered(w, m)
	case mutes:
		s.loses(w, &m, lost)
		if l := m; m.token > 0 {
			s.decide(w, &l, false)
		} else {
			s.apply(w, &m)
		}
		s.unanswered(w, m)
	case fails:
		s.loses(w, &m, failed)
		m.reply, m.rec = uint8(queue.ReplyFailed), none
		s.hear(w, &m)
	case delays:
		w.spend(late)
		l := m
		l.role = byNone
		s.post(w, l)
		s.unanswered(w, m)
	case copies:
		w.spend(dup)
		l := m
		l.role = byNone
		s.post(w, m)
		s.post(w, l)
	}
}

// blocked reports whether a request is refused, and repeated, until a transaction is visible.
func (s *search) blocked(w *world, m *msg) bool {
	return w.split.record && !m.answer && m.look == 0 && m.token == 0 && s.items.writes[m.write[0]].row == 0
}

// loses loses a request or its answer, or lets it fail. If it was to remove something, that may stay.
func (s *search) loses(w *world, m *msg, f fault) {
	w.spend(f)
	lost := m.role == byHold && w.nodes[m.node].hold.lost
	if m.look == 0 && (lost || slices.Contains([]string{"CLEAN UP", "CLEAN UP of a row", "RESET"}, s.items.writes[m.write[0]].Name)) {
		w.stays = true
	}
}

func (s *search) unanswered(w *world, m msg) {
	m.reply, m.rec, m.rows = uint8(queue.ReplyUnknown), none, none
	if m.look > 0 || s.mistake == NotApplied {
		m.reply = uint8(queue.ReplyFailed)
	}
	s.hear(w, &m)
}

// apply lets the table judge a request, and writes the answer into m.
func (s *search) apply(w *world, m *msg) {
	if m.look > 0 {
		s.look(w, m)
		return
	}
	m.reply = uint8(queue.ReplyApplied)
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
	if wr.row == 0 {
		was := w.rec
		o := s.items.apply(n, was)
		if s.mistake == OpenOnce && wr.Name == "RELEASE" && o.reply == queue.ReplyApplied && !slices.Contains(wr.Changes(), "sets unsettled") {
			o.item = s.items.closed(o.item)
		}
		if m.call > 0 && m.token == 0 && (w.denies || o.reply == queue.ReplyFailed) {
			o = outcome{item: was, reply: queue.ReplyRefused}
		}
		if o.item != was {
			w.rec = o.item
			s.recordChanged(w, m, was)
		}
		if m.call > 0 && m.token == 0 && o.reply == queue.ReplyApplied {
			s.updates(w, m, &s.items.recs[was])
		}
		if wr.Kind == clause.Check && o.reply == queue.ReplyApplied {
			s.fenced(w, m)
		}
		m.rec = w.rec
		return o
	}
	t := wr.row
	k, ok := s.rowOf(w, t)
	was := int32(none)
	if ok {
		was = w.rows[k]
	}
	o := s.items.apply(n, was)
	m.row = o.item
	switch {
	case o.item == was:
	case ok && o.item == none:
		s.goes(w, t)
		copy(w.rows[k:], w.rows[k+1:])
		w.rows[maxRows-1] = none
	case ok:
		w.rows[k] = o.item
	case w.rows[maxRows-1] != none:
		s.fail("bounds: more than %d rows", maxRows)
	default:
		s.arrives(w, int(m.node), t)
		copy(w.rows[k+1:], w.rows[k:])
		w.rows[k] = o.item
	}
	if o.item != was {
		s.rowChanged(w, m, wr.Name, was)
	}
	return o
}

// look reads the record and the rows.
func (s *search) look(w *world, m *msg) {
	m.reply, m.rec = uint8(queue.ReplyApplied), w.rec
	s.looksAround(w, m)
	if m.bare {
		return
	}
	var rows []int32
	for _, r := range w.rows {
		if r == none {
			break
		}
		switch t := s.ticketOf(r); {
		case m.around && t == m.ticket:
			m.own = true
		case t < m.look-1:
			rows = append(rows, r)
		case m.next > 0 && t == m.next:
			m.own = true
		case m.next > 0 && t == m.after:
			m.shown = r
		}
	}
	m.rows = s.items.list(rows)
	if s.log != nil {
		s.say("%s", story.Table.Of(s.nameAnswer(m)))
	}
}

// hear gives an answer to its sender.
func (s *search) hear(w *world, m *msg) {
	i := int(m.node)
	if w.nodes[i].dead && m.role != byOperator {
		return
	}
	switch m.role {
	case byWait:
		if s.seeds(w, m) {
			return
		}
		s.saw(w, i, m)
		e := event{kind: evReplied, reply: queue.Reply(m.reply), rec: m.rec}
		switch {
		case m.look > 0 && m.reply == uint8(queue.ReplyApplied):
			e = event{kind: evSeen, rec: m.rec, rows: m.rows, own: m.own, next: m.shown, whole: !m.bare}
		case m.write[0] != none && s.items.writes[m.write[0]].row > 0:
			e.rec = none
		}
		s.step(w, i, e)
	case byPlace:
		s.answeredPlace(w, m)
	case byBeat:
		s.answeredBeat(w, m)
	case byHold:
		s.answeredHold(w, m)
	case byChange:
		s.answeredChange(w, m)
	case byAdvance:
		s.answeredAdvance(w, m)
	case byTx:
		s.answeredTx(w, m)
	case bySettle:
		s.answeredSettle(w, m)
	case byOperator:
		if rec := &s.items.recs[m.rec]; m.reply == uint8(queue.ReplyApplied) && rec.CanIdle() {
			r := msg{role: byNone, node: m.node}
			r.write[0] = s.items.send(queue.Reset(rec.FirstServed(), zeroTime), 0, "")
			s.post(w, r)
		}
	}
}

// poll lets a wait that rests look, if the look would lead to anything now. The answer may arrive later.
func (s *search) poll(w *world, i int, slowly bool) bool {
	said := s.log
	s.log = nil
	before := *w
	s.step(w, i, event{kind: evRested})
	s.log = said
	if w.nodes[i].stopped != 0 || s.plant.Skips && s.plant.To == queue.Looking {
		if *w == before {
			return false
		}
		s.say("%s", s.nameMove(&before, move{polls, int8(i), 0}))
		return true
	}
	if w.nodes[i].doing(s) == queue.Putting {
		return false // once its row is there
	}
	k := 0
	for ; k < maxNet && w.net[k].role != noMsg; k++ {
		if m := &w.net[k]; m.role == byWait && int(m.node) == i && !m.answer {
			break
		}
	}
	if k == maxNet || w.net[k].role == noMsg || w.net[k].look == 0 {
		s.fail("bounds: a rest is not followed by a look")
		return true
	}
	m := w.take(k)
	try := *w
	t := m
	s.log = nil
	bad := s.bad
	s.look(&try, &t)
	s.hear(&try, &t)
	s.log = said
	after := try
	if after.nodes[i].doing(s) == queue.Resting && w.left[guess] == 0 {
		after.nodes[i].wait = before.nodes[i].wait
		after.nodes[i].offered = before.nodes[i].offered
		if s.timeless(after) == s.timeless(before) {
			s.bad = bad
			return false
		}
	}
	if s.log != nil {
		if slowly {
			s.log("%s", s.nameMove(&before, move{slowPolls, int8(i), 0}))
		} else {
			s.log("%s", s.nameMove(&before, move{polls, int8(i), 0}))
		}
	}
	s.look(w, &m)
	if slowly {
		m.answer = true
		s.post(w, m)
		return true
	}
	s.hear(w, &m)
	return true
}

// name names a request.
func (s *search) name(m *msg) string {
	switch {
	case m.look > 0 && m.bare:
		return story.Bare
	case m.next > 0:
		return story.Look(m.after)
	case m.look > 0:
		return story.Look(max(m.look, 2) - 2)
	case m.token > 0:
		return [...]string{"", "TRANSACT x", "TRANSACT y", "TRANSACT z"}[m.call]
	}
	w := &s.items.writes[m.write[0]]
	name := story.Write(w.Write, w.say)
	if m.call > 0 {
		name += " with the update"
	}
	if m.write[1] != none {
		name += " and of " + s.items.writes[m.write[1]].say
	}
	return name
}

// steps are the words for moves. Where a move is not in it, it is of a request.
var steps = map[moveKind]story.Step{
	wants: story.Wants, polls: story.Looks, slowPolls: story.LooksSlowly, guesses: story.Claims, releases: story.Releases,
	names: story.PassesByName, reads: story.Reads, beats: story.Beats, renews: story.Renews, gives: story.GivesUp, shows: story.TakesOver,
	pauses: story.WillStop, goesOn: story.GoesOn, dies: story.Crashes, sleeps: story.Sleeps, downgrades: story.Downgrades, sets: story.SetsData,
	updates: story.Updates, retries: story.TriesAgain, stops: story.StopsTrying, readsOf: story.ReadsX, fences: story.Fences, fencesAfter: story.FencesAfter,
	transacts: story.Transacts, showsRecord: story.RecordShows, showsX: story.XShows, forgets: story.Forgotten,
}

// nameMove names a move, so that it can be found again by its name.
func (s *search) nameMove(w *world, v move) string {
	i, j := int(v.i), int(v.j)
	if step, ok := steps[v.kind]; ok {
		return step.Of(nameOf(i))
	}
	switch v.kind {
	case passes:
		return story.Passes.Of(nameOf(i), nameOf(j))
	case retakes:
		return story.Retakes.Of(nameOf(i), nameOf(j))
	case givesOne:
		return story.GivesUpOne.Of(j+1, nameOf(i))
	case evicts:
		return story.Evicts.Of(s.items.recs[w.rec].Holders[i].ID)
	case asks:
		return story.Asks.Of(s.items.recs[w.rec].Holders[i].ID)
	case erases:
		return story.Erased.Of()
	case declines:
		return story.Declines.Of()
	}
	m := &w.net[i]
	what := story.By(s.name(m), nameOf(int(m.node)))
	switch {
	case m.role == byNone:
		what = "the late " + what
	case m.role == byOperator:
		what = "the operator's " + what
	}
	switch {
	case v.kind == delivers && m.answer:
		return story.AnswerArrives.Of(what)
	case v.kind == delivers:
		return story.Arrives.Of(what)
	case v.kind == slows:
		return story.ArrivesSlowly.Of(what)
	case v.kind == drops:
		return story.Lost.Of(what)
	case v.kind == mutes:
		return story.Mute.Of(what)
	case v.kind == fails:
		return story.Throttled.Of(what)
	case v.kind == delays:
		return story.Late.Of(what)
	}
	return story.Copied.Of(what)
}

// nameAnswer names an answer.
func (s *search) nameAnswer(m *msg) string {
	switch {
	case m.look > 0 && m.bare:
		return s.nameRecord(m.rec)
	case m.look > 0:
		var rows []string
		for _, r := range s.items.lists[m.rows] {
			rows = append(rows, s.items.rows[r].ID)
		}
		return s.nameRecord(m.rec) + story.Ahead(rows)
	}
	fate := story.Fate(queue.Reply(m.reply))
	if m.write[0] != none && s.items.writes[m.write[0]].row > 0 {
		return fate
	}
	return fate + "; " + s.nameRecord(m.rec)
}

func (s *search) nameRecord(n int32) string {
	if !s.Half {
		return story.Record(&s.items.recs[n], nil)
	}
	return story.Record(&s.items.recs[n], func(l queue.Lease) string { return fmt.Sprintf(" until %d", clockOf(l.Until)) })
}

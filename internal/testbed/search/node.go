package search

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/testbed/story"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var (
	tickets = func() (all [maxTicket + 2]ticket.Number) {
		for i := range all {
			all[i] = ticket.FromUint64(uint64(i))
		}
		return all
	}()
	numbers = func() map[ticket.Number]uint8 {
		all := map[ticket.Number]uint8{}
		for i, t := range tickets {
			all[t] = uint8(i)
		}
		return all
	}()
)

// small returns a ticket as a small number.
func small(t ticket.Number) uint8 {
	n, ok := numbers[t]
	if !ok {
		panic("search: a ticket beyond the bounds: " + t.String())
	}
	return n
}

// event is an Event of a wait, in numbers.
type event struct {
	kind       eventKind
	flag, also bool // Joined: Fresh, and also is Put. Rested: Guess. Kept: OK
	own, whole bool
	ticket     uint8
	reply      queue.Reply
	rec, rows  int32
	next       int32
}

type eventKind uint8

const (
	evBegin eventKind = iota
	evJoined
	evPut
	evReplied
	evSeen
	evAgain
	evRested
	evPassed
	evKept
	evGiveUp
	evCareful  // Wait.Careful, and evBegin
	evPassing  // Wait.Passing
	evRetaking // Wait.Retaking
)

// view is what the clock of a waiter shows at a step.
type view struct {
	node   int8
	clocks [maxNodes]int8
	dead   [maxNodes]bool
	place  int32 // the machine of its row
}

type stepKey struct {
	m int32
	event
	view
}

// stepped is what a step returns: the next state of the machine, and what it does.
type stepped struct {
	num     int32 // of the step: see search.all
	before  int32 // the machine before
	from    queue.Doing
	m       int32
	state   queue.Doing
	write   [2]int32
	many    bool // too many attempts
	more    bool // there are more writes than two: bounds
	look    uint8
	asks    uint8 // the ticket of a holder
	bare    bool
	around  bool
	next    uint8
	after   uint8
	why     queue.Why
	id      int16 // of a grant or an offer
	ticket  uint8
	turns   int8
	sent    int8
	until   int8
	claimed bool
	named   bool
	resumed bool
	shared  bool
	endless bool
	entry   *queue.Entry // evPassing, evRetaking
	err     string
	decided bool // by the snapshot
	below   bool // the ticket cannot be granted any more
	offers  bool // Wait.MayOffer
}

// clock implements queue.Clock.
type clock struct {
	s *search
	v *view
	// now is later than all times in the machine.
	now time.Time
}

func (c clock) Begin() (queue.Lease, time.Time) { return c.s.lease(c.v.node, c.v.clocks[c.v.node]) }

// lease returns the lease of an entry or a row that begins at a clock.
func (s *search) lease(n, at_ int8) (queue.Lease, time.Time) {
	l := queue.Lease{TTL: time.Duration(s.ttl) * unit, Until: at(at_+s.ttl, 0), FailClosed: s.Clients[n].FailClosed}
	if s.Clients[n].Delays {
		l.Delay = l.TTL
	}
	if s.Clients[n].AtLeast {
		l.AtLeast, l.NotBefore = 2*l.TTL, at(at_+2*s.ttl, 0)
		return l, at(at_, 0)
	}
	return l, s.middle()
}

func (c clock) Usable(_ queue.Lease, sent time.Time, named bool) bool {
	return c.s.mistake == LateGrant || named && c.s.mistake == LateName || c.v.clocks[c.v.node] < clockOf(sent)+c.s.ttl
}

func (c clock) RowSent(until time.Time) (time.Time, bool) {
	if c.v.place == none {
		return time.Time{}, false
	}
	return c.s.rows.all[c.v.place].Sent(until)
}

func (c clock) Leases(snap queue.Snapshot) (l queue.Leases) {
	for i := range snap.Record.Holders {
		h := &snap.Record.Holders[i]
		l.Holders = append(l.Holders, c.left(h.ID, &h.Lease))
	}
	for i := range snap.Rows {
		l.Rows = append(l.Rows, c.left(snap.Rows[i].ID, &snap.Rows[i].Lease))
	}
	return l
}

func (c clock) left(id string, l *queue.Lease) time.Duration {
	n := ownerOf(id)
	switch {
	case c.s.mistake == DeadCount && strings.Contains(id, "-r") && n != int(c.v.node):
		return unit
	case l.Endless():
		return queue.Forever
	case c.v.dead[n] && (c.s.mistake == NoClosing || l.NotBefore.IsZero() || c.v.clocks[n] >= clockOf(l.NotBefore)) || c.s.mistake == EarlyEnd && n != int(c.v.node) || c.v.clocks[n] >= c.s.openAt(l):
		return 0
	}
	return unit
}

// At is long after each grant now: a caller that will not wait looks after the first sign. The time of a request is not known.
func (c clock) At(local time.Time) (earliest, latest time.Time, known bool) {
	if !c.s.dated || local != c.now {
		return time.Time{}, time.Time{}, false
	}
	return at(100, 0), time.Time{}, true
}

// openAt is the clock at which an entry no longer keeps the queue closed.
func (s *search) openAt(l *queue.Lease) int8 {
	judged := *l
	switch s.mistake {
	case NoDelay:
		judged.Delay = 0
	case NoClosing:
		judged.AtLeast, judged.NotBefore = 0, time.Time{}
	}
	return clockOf(judged.End())
}

func (c clock) Now() time.Time { return c.now }

// ownerOf returns the node of an id.
func ownerOf(id string) int { return int(strings.TrimPrefix(id, "closed-")[0] - 'A') }

func nameOf(i int) string { return story.Client(i) }

// view returns what node i sees of time.
func (s *search) view(w *world, i int) (v view) {
	v.node = int8(i)
	for j := range s.Clients {
		v.clocks[j], v.dead[j] = w.nodes[j].clock, w.nodes[j].dead
	}
	if p := w.nodes[i].current(); p != nil {
		v.place = p.m
	}
	return v
}

func (n *node) current() *place {
	if n.place == 0 {
		return nil
	}
	return &n.places[n.place-1]
}

// handleOf returns the prefix of the ids of A's last wait.
func handleOf(a *node) string { return fmt.Sprintf("A%d", a.gen-1) }

// newWait returns the number of the machine of a new wait.
func (s *search) newWait(w *world, i int, gen int8) int32 {
	c := s.Clients[i]
	config := queue.WaitConfig{
		ID: fmt.Sprintf("%s%d", nameOf(i), gen), Items: theQueue, Owner: nameOf(i), Mode: c.Mode, NoWait: c.NoWait, FailClosed: c.FailClosed,
		Policy: c.policy(),
	}
	if s.Wide {
		config.Scope = ticket.ScopeEntity
	}
	if k := w.nodes[i].block; k > 1 {
		config.Turns = int(k)
	}
	if c.Once {
		config.Wanted = &queue.Wanted{}
	}
	if c.Resumes {
		a := &w.nodes[0]
		config.Resume = &queue.Handle{ID: handleOf(a), Ticket: tickets[a.known], Held: s.Clients[0].Block > 0}
	}
	return s.waits.add(&queue.Wait{Config: config})
}

// step steps a machine, unless it has made that step before.
func (s *search) stepWait(m int32, e event, v view) *stepped {
	key := stepKey{m, e, v}
	if r, ok := s.steps[key]; ok {
		return r
	}
	w := s.waits.copy(m)
	c := clock{s, &v, at(v.clocks[v.node], s.waits.ticks[m]+1)}
	r := &stepped{num: int32(len(s.all)), before: m, from: w.State}
	s.all = append(s.all, r)
	switch e.kind {
	case evPassing:
		entry := w.Passing(c)
		r.entry, r.state = &entry, w.State
	case evRetaking:
		entry := w.Retaking(c, tickets[e.ticket])
		r.entry, r.state = &entry, w.State
	default:
		switch {
		case e.kind == evCareful:
			w.Careful = true
		case e.kind == evJoined && s.mistake == CountsOnce:
			w.Config.Policy.Limited = false
		}
		before := w.State
		do := w.Step(c, s.eventOf(e, v, c.now))
		s.follows[[2]queue.Doing{before, do.State}] = true
		s.done(r, w, do, int(v.node))
	}
	r.m = s.waits.add(w)
	s.steps[key] = r
	return r
}

func (s *search) eventOf(e event, v view, now time.Time) queue.Event {
	rec := s.items.recs[e.rec]
	switch s.mistake {
	case AsksAll, AsksAgain:
		rec = s.mistaken(rec)
	case NameEnds:
		rec = misnamed(rec, v)
	}
	switch e.kind {
	case evBegin, evCareful:
		return queue.Begin{Ticket: tickets[e.ticket]}
	case evJoined:
		return queue.Joined{Fresh: e.flag, Put: e.also}
	case evPut:
		return queue.Put{}
	case evReplied:
		return queue.Replied{Reply: e.reply, Record: rec}
	case evSeen:
		snap := queue.Snapshot{Record: rec, Own: e.own, Whole: e.whole, ReadAt: now}
		for _, r := range s.items.lists[e.rows] {
			snap.Rows = append(snap.Rows, s.items.rows[r])
		}
		if e.next != none {
			snap.Next = &s.items.rows[e.next]
		}
		return queue.Seen{Snapshot: snap}
	case evAgain:
		return queue.Again{}
	case evRested:
		return queue.Rested{Guess: e.flag}
	case evPassed:
		return queue.Passed{Reply: e.reply, Record: rec}
	case evKept:
		return queue.Kept{OK: e.flag}
	}
	return queue.GiveUp{}
}

// misnamed returns a record in which the grants by name of others seem to be none.
func misnamed(rec queue.Record, v view) queue.Record {
	rec.Holders = slices.Clone(rec.Holders)
	for k := range rec.Holders {
		h := &rec.Holders[k]
		h.Named = h.Named && ownerOf(h.ID) == int(v.node)
	}
	return rec
}

// master is the counter of the record.
var master = ticket.Master{Attribute: queue.AttrTicketNumber, Names: recordNames, Beside: queue.RecordNames()}

// done writes down what a wait does.
func (s *search) done(r *stepped, w *queue.Wait, do queue.Do, i int) {
	r.state, r.why, r.ticket = do.State, do.Why, small(w.Ticket)
	r.offers, r.decided = w.MayOffer(), do.Decision != nil
	if do.Attempt != nil {
		if _, number, ok := strings.Cut(do.Attempt.ID, "-"); ok && len(number) > 1 && number[0] != 'n' && number >= "20" {
			r.many = true
		}
	}
	r.below = w.Ticket.Compare(w.Snapshot.Record.Floor()) <= 0
	if do.Err != nil {
		r.err = do.Err.Error()
	}
	send := func(c clause.Write, say string) { r.write[0] = s.items.send(c, 0, say) }
	switch do.State {
	case queue.Taking:
		take := master.Take
		if s.Seeds {
			take = master.TakeThenSeed
		}
		first := take(do.Rider, ticket.Number{})
		send(first.Write, do.Attempt.ID)
		if s.Seeds {
			s.takes[r.write[0]] = first
		}
	case queue.Asking:
		r.asks = small(do.Holder.Ticket)
		send(do.Write, do.Holder.ID)
	case queue.Entering, queue.Claiming, queue.TakingOver, queue.Accepting, queue.Confirming:
		if do.State == queue.Accepting && s.mistake == NameRemoved {
			do.Write = queue.Remove(do.Attempt.ID)
		}
		send(do.Write, do.Attempt.ID)
	case queue.Checking:
		r.look = small(do.Floor)
	case queue.Looking:
		t := small(w.Ticket)
		r.look, r.bare = t, do.Floor == w.Ticket.Previous() && !do.Floor.IsZero()
		if do.Later && s.mistake != OnlyAhead {
			r.look, r.bare, r.around = maxTicket+1, false, true
		}
		if s.nameable(i) && w.Config.Resume == nil {
			r.next, r.bare = t, false
			r.after = t + uint8(max(w.Config.Turns, 1))
		}
	case queue.Sweeping:
		for k := range do.Rows {
			if k == len(r.write) {
				r.more = true
				break
			}
			r.write[k] = s.items.send(do.Rows[k].Sweep(), small(do.Rows[k].Ticket), do.Rows[k].ID)
		}
	case queue.Evicting:
		h := do.Holders[len(do.Holders)-1]
		send(queue.Evict(queue.Eviction{ID: h.ID, Ticket: h.Ticket, Made: h.Made}, do.Holders...), h.ID)
	case queue.Removing, queue.Resetting:
		send(do.Write, strings.Join(do.IDs, " and "))
	case queue.Granted:
		r.id, r.ticket, r.turns = s.id(do.Attempt.ID), small(do.Holder.Ticket), int8(max(do.Holder.Turns, 1))
		r.sent, r.until = clockOf(do.Attempt.Sent), clockOf(do.Holder.Lease.Until)
		r.claimed, r.named, r.endless = do.Attempt.Claimed, !do.Holder.Accepted(), do.Holder.Lease.Endless()
		r.resumed, r.shared = do.Attempt.Resumed, w.Config.Mode.Shared
	}
}

func (s *search) nameable(i int) bool {
	c := s.Clients[i]
	return s.Names && (c.Group == "" || s.mistake == NamesLatest) && c.Mode == (queue.Mode{}) && !c.FailClosed && !c.NoWait && !c.Resumes && !c.Once && !s.Wide
}

// id returns the number of an id.
func (s *search) id(id string) int16 {
	n, ok := s.idNums[id]
	if !ok {
		n = int16(len(s.ids))
		s.idNums[id] = n
		s.ids = append(s.ids, id)
	}
	return n
}

// want begins a wait.
func (s *search) want(w *world, i int) {
	s.gathers(w, i)
	s.begin(w, i, evBegin)
}

// gathers makes the machine of a new wait, for callers of the client.
func (s *search) gathers(w *world, i int) {
	n := &w.nodes[i]
	k := int8(1)
	if most := s.Clients[i].Block; most > 0 {
		k = min(int8(most), n.turns)
		n.block, n.gone = k, 0
	}
	n.caller, n.turns = waits, n.turns-k
	n.wait = s.newWait(w, i, n.gen)
	n.gen++
}

// begin begins with a ticket.
func (s *search) begin(w *world, i int, kind eventKind) {
	w.nodes[i].place = 0
	e := event{kind: kind}
	if s.Clients[i].Resumes {
		e.ticket = small(s.waits.all[w.nodes[i].wait].Config.Resume.Ticket)
	}
	if s.Wide {
		w.number++
		e.ticket = w.number
		s.say("    %s takes number %d of the counter", nameOf(i), w.number)
	}
	s.step(w, i, e)
}

// step gives an event to the wait of a node, and does what the wait then does.
func (s *search) step(w *world, i int, e event) {
	n := &w.nodes[i]
	for rounds := 0; ; rounds++ {
		if rounds == maxRounds {
			s.fail("livelock: %s goes on and on without a request", nameOf(i))
			return
		}
		n.offered = false
		r := s.stepWait(n.wait, e, s.view(w, i))
		n.wait = r.m
		s.below(w, i, r.below)
		s.notes(w, i, r)
		if r.more {
			s.fail("bounds: a sweep of more than two rows")
		}
		if r.many {
			s.fail("attempts: %s makes twenty", nameOf(i))
			return
		}
		if n.pausing {
			s.say("    %s stops before what follows", nameOf(i))
			n.pausing, n.stopped = false, r.num
			return
		}
		next, goes := s.after(w, i, r)
		if !goes {
			return
		}
		e = next
	}
}

// maxRounds is how many steps in succession may need no request.
const maxRounds = 30

// goOnAfter does what follows from the step after which a node has stopped.
func (s *search) goOnAfter(w *world, i int) {
	n := &w.nodes[i]
	r := s.all[n.stopped]
	n.stopped = 0
	if e, goes := s.after(w, i, r); goes {
		s.step(w, i, e)
	}
}

// after does what follows from a step. If that is an event, it returns that.
func (s *search) after(w *world, i int, r *stepped) (e event, goes bool) {
	n := &w.nodes[i]
	if s.skips(r) {
		return s.instead(w, i, r)
	}
	if n.caller == leaves && !n.over && !s.playedOut(r) {
		s.leaving(w, i)
		return e, false
	}
	if p := n.current(); p != nil && p.state == taken && (r.state == queue.Putting || r.state == queue.Resting || r.state == queue.Pausing) {
		s.say("    another row has the ticket of %s", nameOf(i))
		s.ended(w, i, &stepped{why: queue.WhyNewTicket})
		return e, false
	}
	switch r.state {
	case queue.Idle: // a RETAKE was not applied
		n.place = 0
		return event{kind: evBegin}, true
	case queue.Joining:
		if s.Clients[i].Block == 0 {
			n.known = r.ticket
		}
		if !s.Clients[i].NoWait && n.caller != leaves {
			s.placed(w, i, r.ticket, s.nameable(i))
			if s.Put {
				s.say("    %s waits until its row is in the table", nameOf(i))
				return e, false
			}
		}
		return s.joins(i, r.m), true
	case queue.Putting:
		if p := n.current(); p == nil || p.inTable() {
			return event{kind: evPut}, true
		}
		s.say("    %s waits until its row is in the table", nameOf(i))
		return e, false
	case queue.Keeping:
		e = event{kind: evKept}
		if p := n.current(); p != nil {
			kept := s.stepPlace(placeKey{m: p.m, kind: rowHold})
			p.m, e.flag = kept.m, kept.ok || s.mistake == RowGone
		}
		return e, true
	case queue.Pausing:
		return event{kind: evAgain}, true
	case queue.Resting:
		s.say("    %s rests", nameOf(i))
		n.offered = s.Same && r.offers && (s.Clients[i].Group == "" || s.mistake == PassesLatest)
		return e, false
	case queue.Granted:
		n.ahead, n.later = 0, 0
		s.granted(w, i, r)
		return e, false
	case queue.Left:
		s.say("    %s has left", nameOf(i))
		n.caller, n.over, n.wait, n.place, n.ahead, n.later = idle, false, none, 0, 0, 0
		return e, false
	case queue.Ended:
		s.ended(w, i, r)
		return e, false
	}
	if r.state == queue.Removing && s.mistake == NoRemoval {
		return event{kind: evReplied, reply: queue.ReplyRefused, rec: w.rec}, true
	}
	s.request(w, i, r)
	return e, false
}

// playedOut reports whether what follows from a step is done although the caller has given up: it is no new request for
// the lock.
func (s *search) playedOut(r *stepped) bool {
	switch r.state {
	case queue.Joining, queue.Keeping, queue.Removing, queue.Resetting, queue.Granted:
		return true
	case queue.Ended: // and a wider counter is not asked
		return (r.why == queue.WhyNewTicket || r.why == queue.WhyOvertaken || r.why == queue.WhyGone) && !s.Wide
	}
	return false
}

// joins is the event that a wait has joined. What entering has shown is old if it had a holder, in a world where turns of
// the client have ended since.
func (s *search) joins(i int, m int32) event {
	return event{kind: evJoined, flag: !s.Stale || s.waits.all[m].Open(), also: s.Put}
}

// request sends what a wait sends.
func (s *search) request(w *world, i int, r *stepped) {
	m := msg{role: byWait, node: int8(i), write: r.write, ticket: r.asks, clock: w.nodes[i].clock}
	if r.state == queue.Asking {
		s.asksRight(i, r)
	}
	if s.Line {
		m.order.sent = 0xff
	}
	if r.write[0] == none {
		m.look, m.bare, m.next, m.after = r.look+1, r.bare, r.next, r.after
		if m.around = r.around; r.around {
			m.ticket = small(s.waits.all[r.m].Ticket)
		}
	}
	if s.log != nil {
		s.say(string(story.Sends), nameOf(i), s.name(&m))
	}
	s.post(w, m)
}

// ended goes on after a wait that was not granted: with a new ticket, or not.
func (s *search) ended(w *world, i int, r *stepped) {
	n := &w.nodes[i]
	if r.why == queue.WhyFull || r.why == queue.WhySuperseded {
		s.turnedAway(w, i, r)
	}
	s.withdraw(w, i)
	switch {
	case s.Clients[i].Resumes && r.why != queue.WhyError:
		s.say("    %s cannot resume it", nameOf(i))
		n.caller = leaves
		s.leaving(w, i)
	case r.why == queue.WhyNewTicket:
		s.say("    %s needs a new ticket", nameOf(i))
		s.begin(w, i, evBegin)
	case r.why == queue.WhyResult:
		s.say("    %s has the result", nameOf(i))
		s.resultLeft(w, i)
		n.caller = leaves
		s.leaving(w, i)
	case r.why == queue.WhyOvertaken:
		s.say("    %s was overtaken", nameOf(i))
		s.begin(w, i, evCareful)
	default:
		if r.err != "" && s.strange == "" {
			s.strange = r.err
		}
		s.say(string(story.NotServed)+" %s", nameOf(i), r.err)
		n.caller = leaves
		s.allGiveUp(w, i)
		s.leaving(w, i)
	}
}

// leaving gives up a wait: first its rows are deleted.
func (s *search) leaving(w *world, i int) {
	n := &w.nodes[i]
	n.over, n.offered = true, false
	s.withdraw(w, i)
	s.left(w, i)
}

// left gives up a wait whose rows are deleted.
func (s *search) left(w *world, i int) {
	n := &w.nodes[i]
	if !n.over || n.caller != leaves || n.stopped != 0 || s.outstanding(w, i) {
		return
	}
	for k := range n.places {
		if n.places[k].state != noPlace {
			return
		}
	}
	s.step(w, i, event{kind: evGiveUp})
}

// outstanding reports whether a request of the wait is under way.
func (s *search) outstanding(w *world, i int) bool {
	for k := range w.net {
		if w.net[k].role == byWait && int(w.net[k].node) == i {
			return true
		}
	}
	return false
}

func (n *node) doing(s *search) queue.Doing {
	if n.wait == none {
		return queue.Idle
	}
	return s.waits.all[n.wait].State
}

// wanted returns the ticket for which a node waits, with a row or on the way to one; zero: none.
func (s *search) wanted(w *world, i int) uint8 {
	n := &w.nodes[i]
	if n.dead || n.caller != waits || n.wait == none || s.Clients[i].NoWait {
		return 0
	}
	if p := n.current(); p == nil || p.state == taken {
		return 0
	}
	return small(s.waits.all[n.wait].Ticket)
}

package search

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/testbed/story"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// A process is its member, which the library ships, and what carries its requests and plays its callers, which decides nothing.

var (
	tickets = func() (all [maxTicket + 2]ticket.Number) {
		for i := range all {
			all[i] = ticket.FromUint64(uint64(i))
		}
		return all
	}()
	errLost = errors.New("no answer")
)

// small returns a ticket as a small number.
func small(t ticket.Number) uint8 {
	n := t.After(ticket.Number{})
	if n > maxTicket+1 {
		panic("search: a ticket beyond the bounds: " + t.String())
	}
	return uint8(n)
}

// event is an Event of a member, in numbers.
type event struct {
	kind       eventKind
	caller, of int8
	count      int8 // of callers that come together
	kindOf     int8 // number of what they want
	reply      machine.Reply
	own, whole bool
	look       bool
	denied     bool // by the condition of the caller
	forgotten  bool // the token of the transaction
	updates    bool // a release has an update
	number     uint8
	left       machine.TransactionState
	result     uint8 // the ticket of that which a release leaves; zero: none
	rec, rows  int32
	next, row  int32
	timer      member.Timer
	use        member.Use
}

type eventKind uint8

const (
	evWants eventKind = iota
	evGivesUp
	evReleases
	evUses
	evStops
	evSaved
	evAnswer
	evDue
	evRung
)

// view is what the clock of a client shows at a step.
type view struct {
	node   int8
	clocks [maxNodes]int8
	dead   [maxNodes]bool
	base   uint8
}

type stepKey struct {
	m int32
	event
	view
}

// stepped is what a step returns: the requests, and what callers hear.
type stepped struct {
	m     int32
	sends []msg
	hears []member.Effect
}

// clock implements member.Clock.
type clock struct {
	s   *search
	v   *view
	now time.Time // later than all times in the machine
}

func (c clock) Now() time.Time { return c.now }

// At is long after each grant now: a caller that will not wait looks after the first sign. The time of a request is not known.
func (c clock) At(local time.Time) (earliest, latest time.Time, known bool) {
	if !c.s.dated || local != c.now {
		return time.Time{}, time.Time{}, false
	}
	if c.s.Forgets {
		latest = at(100, 0)
	}
	return at(100, 0), latest, true
}

func (c clock) Middle() time.Time {
	if c.s.dated {
		return at(0, 1)
	}
	return time.Time{}
}

func (c clock) Begin(k *member.Kind, row bool) (queue.Lease, time.Time) {
	own := c.v.clocks[c.v.node]
	l := queue.Lease{TTL: k.TTL, Until: at(own+c.s.ttl, 0)}
	if row {
		return l, epoch
	}
	l.FailClosed, l.Delay = k.FailClosed, k.Delay
	if k.AtLeast > 0 {
		l.AtLeast, l.NotBefore = k.AtLeast, at(own+2*c.s.ttl, 0)
		return l, at(own, 0)
	}
	return l, c.Middle()
}

func (c clock) Keeps(k *member.Kind) (l queue.Lease, since, ends time.Time) {
	ends = at(c.v.clocks[c.v.node]+2*c.s.ttl, 0)
	return queue.Lease{TTL: 2 * k.TTL, Until: ends}, epoch, ends
}

func (c clock) Usable(_ *member.Kind, _ queue.Lease, sent time.Time, _ bool) bool {
	return c.v.clocks[c.v.node] < clockOf(sent)+c.s.ttl
}

func (c clock) Ends(k *member.Kind, sent time.Time, row bool) time.Time {
	if k.FailClosed && !row {
		return time.Time{}
	}
	return at(clockOf(sent)+c.s.ttl, 0)
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
	dead := c.v.dead[n] && (l.NotBefore.IsZero() || c.v.clocks[n] >= clockOf(l.NotBefore))
	switch {
	case l.Endless():
		return queue.Forever
	case dead, c.v.clocks[n] >= clockOf(l.End()):
		return 0
	}
	return unit
}

// What is for speed may come at any time.

func (c clock) Names(time.Time) bool                                              { return true }
func (c clock) Beats(member.Timer, *member.Kind, time.Time, bool, bool) time.Time { return epoch }
func (c clock) Rests(int32, *machine.Wait) time.Time                              { return epoch }
func (c clock) Guesses(_ int32, _ *machine.Wait, woken bool) bool                 { return woken }
func (c clock) Early(*member.Kind, time.Time, time.Time) bool                     { return false }
func (c clock) ID(block int32) string                                             { return nameOf(int(c.v.node)) + strconv.Itoa(int(block)) }
func (c clock) Bell(int32) string                                                 { return "" }
func (c clock) After(time.Duration) time.Time                                     { return epoch }

func (c clock) Pauses(t member.Timer, _ int, _ error) (until time.Time, more bool) {
	if c.s.Silent && t.Kind == member.Pauses {
		c.s.ending = append(c.s.ending, t.Of)
	}
	return at(100, 0), !c.s.Silent || t.Kind != member.Pauses && t.Kind != member.Retries
}

func (c clock) Stepped(_ int32, _ *machine.Wait, from machine.Doing, _ machine.Event, do *machine.Do) {
	c.s.follows[[2]machine.Doing{from, do.State}] = true
}

func (c clock) Reads(int32) (at time.Time) {
	if c.s.World.Names {
		at = epoch
	}
	return at
}

// ownerOf returns the node of an id.
func ownerOf(id string) int { return int(strings.TrimPrefix(id, "closed-")[0] - 'A') }

func nameOf(i int) string { return story.Client(i) }

// view returns what node i sees of time.
func (s *search) view(w *world, i int) (v view) {
	v.node, v.base = int8(i), w.base
	for j := range s.Clients {
		v.clocks[j], v.dead[j] = w.nodes[j].clock, w.nodes[j].dead
	}
	return v
}

// kindOf returns the number of what caller j of client i wants.
func (s *search) kindOf(w *world, i, j int) int8 {
	c := s.specOf(i, j)
	key := kindKey{c: c, number: w.common[i]}
	if c.Resumes {
		key.known = s.resumedBy(w, i)
	}
	if n, ok := s.kindNums[key]; ok {
		return n
	}
	k := &member.Kind{
		Owner: nameOf(i), Mode: c.Mode, NoWait: c.NoWait, FailClosed: c.FailClosed, Puts: c.Puts, Saves: c.Saves, TTL: time.Duration(s.ttl) * unit,
		Policy: machine.Policy{Group: c.Group, CancelHolder: c.Cancels, Limited: c.Most > 0, Waiters: c.Most},
	}
	if c.Keeps {
		k.Keep = unit
	}
	if c.Delays {
		k.Delay = k.TTL
	}
	if c.AtLeast {
		k.AtLeast = 2 * k.TTL
	}
	if c.Once {
		k.Wanted = &machine.Wanted{}
	}
	if s.Wide {
		k.Scope, k.Common, k.Number = ticket.ScopeEntity, c.Common || c.Given, tickets[key.number]
	}
	if c.Scope != nil {
		k.Scope = *c.Scope
	}
	if c.Resumes {
		k.Resume = new(s.handleFrom(key.known))
	}
	n := int8(len(s.kinds))
	s.kinds, s.kindNums[key] = append(s.kinds, k), n
	return n
}

type kindKey struct {
	c      *Client
	known  handle
	number uint8
}

// stepMember steps a member, unless it has made that step before.
func (s *search) stepMember(key stepKey) *stepped {
	if r, ok := s.steps[key]; ok {
		return r
	}
	m := s.members.copy(key.m)
	c := clock{s, &key.view, at(key.clocks[key.node], s.members.ticks[key.m]+1)}
	r := &stepped{}
	for _, e := range m.Step(c, s.eventOf(&key, c.now)) {
		s.effect(r, &key, e, m)
	}
	for _, n := range s.ending {
		for j := range int32(maxCallers) {
			if m.Block(n).Callers.Turn(j) >= 0 {
				r.hears = append(r.hears, silent{member.Placed{Caller: j}})
			}
		}
	}
	s.ending = nil
	r.m = s.members.add(m)
	s.steps[key] = r
	return r
}

func (s *search) eventOf(k *stepKey, now time.Time) member.Event {
	e, id := &k.event, int32(k.caller)
	switch e.kind {
	case evWants:
		var all []int32
		for j := range e.count {
			all = append(all, id+int32(j))
		}
		return member.Wants{Callers: all, Kind: s.kinds[e.kindOf]}
	case evGivesUp:
		return member.GivesUp{Caller: id}
	case evReleases:
		r := member.Releases{Caller: id, Update: e.updates, Asks: e.updates && s.Faults[Decline] > 0}
		if e.result > 0 {
			r.Result = &queue.Result{Ticket: tickets[e.result], Value: []byte{e.result}}
		}
		return r
	case evUses:
		return member.Uses{Caller: id, Use: e.use, Record: s.items.recs[e.rec], Left: e.left}
	case evSaved:
		return member.Saved{Caller: id}
	case evStops:
		return member.Stops{Caller: id}
	case evDue:
		return member.Due{Timer: e.timer}
	case evRung:
		return member.Rung{}
	}
	return s.answerOf(e, now)
}

func (s *search) answerOf(e *event, now time.Time) member.Answer {
	rec := s.items.recs[e.rec]
	a := member.Answer{Of: int(e.of), Reply: e.reply, Record: rec, Number: tickets[e.number], Row: s.items.rows[e.row].ID}
	if a.Reply >= machine.ReplyFailed {
		a.Err = errLost
	}
	a.Transaction = machine.TransactionEvent{Forgotten: e.forgotten, Transient: a.Reply == machine.ReplyFailed && !e.denied}
	if e.look && a.Reply == machine.ReplyApplied {
		snap := queue.Snapshot{Record: a.Record, Own: e.own, Whole: e.whole, ReadAt: now}
		for _, r := range s.items.lists[e.rows] {
			snap.Rows = append(snap.Rows, s.items.rows[r])
		}
		if e.next != none {
			snap.Next = &s.items.rows[e.next]
		}
		a.Seen = &snap
	}
	return a
}

// master is the counter of the record.
var master = ticket.Master{Attribute: attr.TicketNumber, Names: recordNames, Beside: attr.Record()}

// effect notes an effect in numbers.
func (s *search) effect(r *stepped, k *stepKey, e member.Effect, of *member.Member) {
	switch e := e.(type) {
	case member.Send:
		r.sends = append(r.sends, s.sendOf(k, &e, of))
	case member.Number:
		r.sends = append(r.sends, msg{role: counter, node: k.node, of: int8(e.Of)})
	case member.Look:
		bare := e.Record || !e.Next && !e.Later && e.Floor == e.Below.Previous() && !e.Floor.IsZero() && e.Own.IsZero()
		l := look{is: true, below: small(e.Below), own: small(e.Own), turns: int8(max(e.Turns, 1)), bare: bare, later: e.Later, row: e.Next}
		r.sends = append(r.sends, msg{role: request, node: k.node, of: int8(e.Of), clock: k.clocks[k.node], look: l})
	case member.Report:
		if e.Use == member.Fences && e.News == member.Done {
			fence := msg{role: stray, node: k.node, caller: int8(e.Caller)}
			fence.write[0] = s.items.send(e.Fence, 0, "")
			r.sends = append(r.sends, fence)
		}
		r.hears = append(r.hears, e)
	case member.Placed, member.Give, member.Refuse:
		r.hears = append(r.hears, e)
	}
}

// sendOf returns a request as a message.
func (s *search) sendOf(k *stepKey, e *member.Send, of *member.Member) msg {
	if _, number, _ := strings.Cut(e.Say, "-"); len(number) == 2 && number >= "20" && number <= "99" {
		s.fail("attempts: %s makes twenty", nameOf(int(k.node)))
	}
	m := msg{role: request, node: k.node, of: int8(e.Of), clock: k.clocks[k.node], caller: int8(e.Caller)}
	switch {
	case e.Tx:
		if m.tx, m.show = true, e.Show; e.Write.Name != "" {
			m.write[0] = s.items.send(e.Write, 0, "")
		}
		if e.Renew {
			m.token = 1 // a new one: see transacts
		}
	case e.Take != nil:
		own, _, _ := strings.Cut(e.Say, "-")
		for _, h := range s.items.recs[k.rec].Holders {
			s.never(strings.HasPrefix(h.ID, own+"-"), "disowned: %s takes a new ticket, and %s holds", nameOf(int(k.node)), h.ID)
		}
		take := master.Take
		if s.Seeds {
			take = master.TakeThenSeed
		}
		first := take(*e.Take, tickets[k.base])
		if m.write[0] = s.items.send(first.Write, 0, e.Say); s.Seeds {
			s.takes[m.write[0]] = first
		}
	case e.Sweep != nil:
		for i := range e.Sweep {
			if i == len(m.write) {
				s.fail("bounds: a sweep of more than two rows")
				break
			}
			m.write[i] = s.items.send(e.Sweep[i].Sweep(), small(e.Sweep[i].Ticket), e.Sweep[i].ID)
		}
	case !e.Row.IsZero():
		m.write[0] = s.items.send(e.Write, small(e.Row), e.Say)
	default:
		m.write[0], m.users = s.items.send(e.Write, 0, e.Say), e.Users
		if slices.Contains(ofTurn, e.Write.Name) {
			m.ticket = small(of.For(e.Of).Ticket)
		}
		if e.Write.Name == "CONFIRM" { // of the entry that was found; zero: it is sent again
			h, _ := s.items.recs[k.rec].Mine(e.Say)
			m.ticket = small(h.Ticket)
		}
		if e.Write.Name == "REVOKE" {
			m.ticket = s.meant(k, e)
		}
	}
	return m
}

// state is what a member says of itself.
type state struct {
	timers []member.Timed
	blocks []member.Block
	rows   []ticket.Number
	idle   bool
}

func (s *search) state(m int32) *state {
	for int(m) >= len(s.states) {
		s.states = append(s.states, nil)
	}
	if s.states[m] == nil {
		of := s.members.all[m]
		s.states[m] = &state{of.Timers(), slices.Collect(of.Blocks()), of.Rows(), of.Idle()}
	}
	return s.states[m]
}

// rests reports whether a block waits, and rests until it looks.
func rests(b member.Block) bool { return b.Waits && b.Doing == machine.Resting && !b.Behind }

// step gives an event to a client, and does what follows.
func (s *search) step(w *world, i int, e event) {
	r := s.stepMember(stepKey{w.nodes[i].m, e, s.view(w, i)})
	before := w.nodes[i].m
	w.nodes[i].m = r.m
	for _, e := range r.hears {
		s.hears(w, i, e)
	}
	for _, m := range r.sends {
		s.sends(w, i, m)
	}
	if s.log != nil {
		s.sayRests(w, i, before)
	}
}

// sayRests says which blocks of a client rest now, and did not before.
func (s *search) sayRests(w *world, i int, before int32) {
	resting := func(b member.Block) bool { return b.Waits && b.Doing == machine.Resting }
	for _, b := range s.state(w.nodes[i].m).blocks {
		did := slices.ContainsFunc(s.state(before).blocks, func(o member.Block) bool { return o.Ticket == b.Ticket && resting(o) })
		if resting(b) && !did {
			j := slices.IndexFunc(w.nodes[i].callers[:], func(c caller) bool { return c.state == waits && tickets[c.ticket].Compare(b.Ticket) >= 0 })
			s.say(string(story.Rests), s.who(i, max(j, 0)))
		}
	}
}

// sends sends a request.
func (s *search) sends(w *world, i int, m msg) {
	c := &w.nodes[i].callers[m.caller]
	switch {
	case m.role == counter && s.Clients[i].Common: // its answer may be late
		s.never(w.common[i] != 0, "common: %s takes a second number, while it has one in other queues", nameOf(i))
	case m.role == counter:
		s.never(s.Clients[i].Given, "common: %s takes a number, and has one of other queues", nameOf(i))
		w.number++
		s.say("    %s takes number %d of the counter", nameOf(i), w.number)
		s.step(w, i, event{kind: evAnswer, of: m.of, number: w.number})
		return
	case slices.ContainsFunc(w.nodes[i].callers[:], func(c caller) bool { return c.saves && !c.gone }):
		s.never(slices.Contains([]string{"ENQUEUE", "CLAIM"}, s.items.writes[m.write[0]].Name), "saved: %s goes on with %s, and its handle is not saved", nameOf(i), s.name(&m))
	case m.role == stray: // a transaction of the caller's own
		m.ticket, m.alone = c.ticket, !c.shared
	case m.show:
		if m.ticket = c.ticket; !s.hidden(w, i, m.ticket) {
			m.reply = uint8(machine.ReplyApplied)
			s.hear(w, &m)
			return
		}
	case m.tx:
		m.ticket = c.ticket
		s.transacts(w, i, &m)
	case m.users:
		m.call, m.ticket = c.calls, c.ticket
	}
	if s.log != nil && !m.show {
		s.say(string(story.Sends), nameOf(i), s.name(&m))
	}
	s.post(w, m)
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

// who names a caller.
func (s *search) who(i, j int) string {
	if c := s.Clients[i]; c.width() > 1 || c.With != nil {
		return fmt.Sprintf("caller %d of %s", j+1, nameOf(i))
	}
	return nameOf(i)
}

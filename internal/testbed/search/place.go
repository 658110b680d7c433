package search

import (
	"fmt"
	"slices"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/queue"
)

// placeKey is a step of the machine of a row, in numbers.
type placeKey struct {
	m     int32
	kind  placeKind
	reply queue.Reply
	id    int16
	node  int8
	clock int8
}

type placeKind uint8

// The events of a row. The last ones are its other methods.
const (
	rowPut   = placeKind(queue.PlacePut)
	rowRenew = placeKind(queue.PlaceRenew)
	rowLost  = placeKind(queue.PlaceLost)
	rowReply = placeKind(queue.PlaceReply)
	rowEnd   = placeKind(queue.PlaceEnd)
	rowLeave = placeKind(queue.PlaceLeave)
	rowBelow = placeKind(iota + 100)
	rowNotBelow
	rowHold
)

type placed struct {
	m     int32
	do    queue.PlaceAction
	write int32
	fresh bool
	ok    bool
}

func (s *search) stepPlace(k placeKey) *placed {
	if r, ok := s.placeSteps[k]; ok {
		return r
	}
	p := s.rows.copy(k.m)
	r := &placed{ok: true}
	switch k.kind {
	case rowBelow, rowNotBelow:
		p.Below(k.kind == rowBelow)
	case rowHold:
		r.ok = p.Hold()
	default:
		e := queue.PlaceEvent{Is: queue.PlaceEventKind(k.kind), Reply: k.reply, ID: s.ids[k.id], Sent: at(k.clock, 0), CreatedAt: epoch}
		if k.kind == rowPut || k.kind == rowRenew {
			e.Lease, _ = s.lease(k.node, k.clock)
			e.Lease = queue.Lease{TTL: e.Lease.TTL, Until: e.Lease.Until}
		}
		todo := p.Step(e)
		r.do, r.fresh = todo.Do, todo.Fresh
		if todo.Do == queue.PlaceSend {
			r.write = s.items.send(todo.Write, small(p.Row.Ticket), p.Row.ID)
		}
	}
	r.m = s.rows.add(p)
	s.placeSteps[k] = r
	return r
}

// stepRow gives an event to the row of a place, and follows.
func (s *search) stepRow(w *world, i, k int, kind placeKind, reply queue.Reply, id int16, sent int8) bool {
	n := &w.nodes[i]
	p := &n.places[k]
	for {
		r := s.stepPlace(placeKey{p.m, kind, reply, id, int8(i), n.clock})
		p.m = r.m
		switch r.do {
		case queue.PlaceSend:
			wr := &s.items.writes[r.write]
			switch {
			case wr.Kind == clause.Delete:
				p.state = deleting
			case wr.Kind == clause.Put:
				p.state = putting
			default:
				p.state = renewing
			}
			m := msg{role: byPlace, node: int8(i), place: int8(k), clock: n.clock}
			m.write[0] = r.write
			s.say("    %s sends %s of %s", nameOf(i), wr.Name, wr.say)
			s.post(w, m)
		case queue.PlaceAgain, queue.PlaceRetry:
			kind, reply, id = rowPut, 0, 0
			continue
		case queue.PlaceKeep:
			p.state, p.until = there, sent+s.ttl
			if !r.fresh { // whose lease may be over
				p.until = n.clock
				kind, reply, id = rowRenew, 0, 0
				continue
			}
		case queue.PlaceFail:
			p.state = taken
		case queue.PlaceOver:
			n.places[k] = place{}
			if int(n.place) == k+1 {
				n.place = 0
			}
			s.left(w, i)
		}
		return r.ok
	}
}

// placed begins to put the row of a ticket.
func (s *search) placed(w *world, i int, t uint8, byName bool) {
	n := &w.nodes[i]
	k := slices.IndexFunc(n.places[:], func(p place) bool { return p.state == noPlace })
	if k < 0 {
		s.fail("bounds: more than %d rows of one process", maxPlaces)
		return
	}
	prefix := fmt.Sprintf("%s%d", nameOf(i), n.gen-1)
	row := queue.Waiter{Ticket: tickets[t], Owner: nameOf(i), Shared: s.Clients[i].Mode.Shared, Turns: s.waits.all[n.wait].Config.Turns, Group: s.Clients[i].Group}
	if byName {
		row.EntryID = fmt.Sprintf("%s-n%d", prefix, t)
	}
	from := ""
	if s.Clients[i].Resumes {
		from = s.waits.all[n.wait].Config.Resume.ID
	}
	m := queue.NewPlace(&theQueue, row, prefix, from)
	n.places[k] = place{m: s.rows.add(&m), ticket: t}
	n.place = int8(k + 1)
	s.stepRow(w, i, k, rowPut, 0, 0, n.clock)
}

// renew sends a heartbeat of a row.
func (s *search) renew(w *world, i, k int) { s.stepRow(w, i, k, rowRenew, 0, 0, 0) }

// withdraw lets the rows be deleted.
func (s *search) withdraw(w *world, i int) {
	for k := range w.nodes[i].places {
		if w.nodes[i].places[k].state != noPlace {
			w.nodes[i].places[k].withdrawn = true
			s.stepRow(w, i, k, rowLeave, 0, 0, 0)
		}
	}
}

// below says whether the ticket of the present row can still be granted.
func (s *search) below(w *world, i int, below bool) {
	p := w.nodes[i].current()
	if p == nil {
		return
	}
	kind := rowNotBelow
	if below {
		kind = rowBelow
	}
	p.m = s.stepPlace(placeKey{m: p.m, kind: kind}).m
}

// answeredPlace takes the answer to a request for a row.
func (s *search) answeredPlace(w *world, m *msg) {
	i, k := int(m.node), int(m.place)
	n := &w.nodes[i]
	p := &n.places[k]
	reply, before := queue.Reply(m.reply), p.state
	id := int16(0)
	if reply == queue.ReplyMade && m.row != none {
		id = s.id(s.items.rows[m.row].ID)
	}
	if before == renewing {
		p.state = there
		if reply == queue.ReplyApplied {
			p.until = max(p.until, m.clock+s.ttl)
		}
	}
	s.stepRow(w, i, k, rowReply, reply, id, m.clock)
	if before == renewing && p.state == there && (reply == queue.ReplyLost || p.until <= n.clock) {
		s.stepRow(w, i, k, rowLost, 0, 0, 0)
	}
	s.goOn(w, i, k)
}

// goOn lets a wait go on that waits for its row.
func (s *search) goOn(w *world, i, k int) {
	n := &w.nodes[i]
	p := &n.places[k]
	if int(n.place) != k+1 || n.caller != waits || n.stopped != 0 {
		return
	}
	switch doing := n.doing(s); {
	case p.state == taken && (doing == queue.Putting || doing == queue.Resting || doing == queue.Joining):
		s.say("    another row has the ticket of %s", nameOf(i))
		s.ended(w, i, &stepped{why: queue.WhyNewTicket})
	case p.inTable() && doing == queue.Putting:
		s.step(w, i, event{kind: evPut})
	case p.inTable() && doing == queue.Joining:
		s.step(w, i, s.joins(i, n.wait))
	}
}

func (p *place) inTable() bool { return p.state == there || p.state == renewing }

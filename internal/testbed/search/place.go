package search

import (
	"fmt"
	"slices"

	"github.com/queuelock/queuelock/queue"
)

// placed begins to put the row of a ticket.
func (s *search) placed(w *world, i int, t uint8, byName bool) {
	n := &w.nodes[i]
	k := slices.IndexFunc(n.places[:], func(p place) bool { return p.state == noPlace || p.state == gone })
	if k < 0 {
		s.fail("bounds: more than %d rows of one process", maxPlaces)
		return
	}
	n.places[k] = place{state: gone, gen: n.gen - 1, ticket: t, byName: byName}
	n.place = int8(k + 1)
	s.put(w, i, k)
}

func (s *search) waiter(w *world, i int, p *place, put int8) queue.Waiter {
	n := &w.nodes[i]
	row := queue.Waiter{
		Ticket: tickets[p.ticket], Owner: nameOf(i), Shared: s.Clients[i].Mode.Shared, CreatedAt: epoch,
		ID: fmt.Sprintf("%s%d-r%d-%d", nameOf(i), p.gen, put, p.ticket),
	}
	row.Lease, _ = s.lease(int8(i), n.clock)
	row.Lease.FailClosed = false
	if p.byName {
		row.EntryID = fmt.Sprintf("%s%d-n%d", nameOf(i), p.gen, p.ticket)
	}
	return row
}

// put sends ENQUEUE with a new id.
func (s *search) put(w *world, i, k int) {
	n := &w.nodes[i]
	p := &n.places[k]
	var earlier []string
	for j := range p.puts {
		earlier = append(earlier, s.waiter(w, i, p, j).ID)
	}
	row := s.waiter(w, i, p, p.puts)
	p.state, p.swept = putting, false
	p.puts++
	p.sent |= 1 << n.clock
	m := msg{role: byPlace, node: int8(i), place: int8(k), clock: n.clock}
	m.write[0] = s.items.send(queue.Enqueue(row.Item(theQueue), "", earlier...), true, row.ID, s.plant)
	s.say("    %s sends ENQUEUE of its row of ticket %d", nameOf(i), p.ticket)
	s.post(w, m)
}

// renew sends a heartbeat of a row.
func (s *search) renew(w *world, i, k int) {
	n := &w.nodes[i]
	p := &n.places[k]
	j, ok := s.rowOf(w, p.ticket)
	row := s.waiter(w, i, p, p.puts-1)
	if ok { // the id that is in the table, if it is an earlier one of its own
		if r := s.items.rows[w.rows[j]]; ownerOf(r.ID) == i {
			row.ID = r.ID
		}
	}
	p.state = renewing
	p.sent |= 1 << n.clock
	until := at(n.clock+s.ttl, 0)
	m := msg{role: byPlace, node: int8(i), place: int8(k), clock: n.clock}
	m.write[0] = s.items.send(row.Renew(until, epoch), true, row.ID, s.plant)
	s.say("    %s sends a heartbeat of its row", nameOf(i))
	s.post(w, m)
}

// withdraw lets the rows be deleted.
func (s *search) withdraw(w *world, i int) {
	n := &w.nodes[i]
	for k := range n.places {
		if st := n.places[k].state; st != noPlace && st != gone && st != deleting {
			n.places[k].withdrawn = true
			s.delete(w, i, k)
		}
	}
}

// delete deletes a row with any of its ids, once no other request is under way.
func (s *search) delete(w *world, i, k int) {
	n := &w.nodes[i]
	p := &n.places[k]
	switch {
	case p.state == putting, p.state == renewing:
		return
	case p.swept && !p.unsure:
		s.dropped(w, i, k)
		return
	}
	var ids []string
	for j := range p.puts {
		ids = append(ids, s.waiter(w, i, p, j).ID)
	}
	p.state = deleting
	m := msg{role: byPlace, node: int8(i), place: int8(k), clock: n.clock}
	m.write[0] = s.items.send(queue.Leave(ids...), true, fmt.Sprint(ids), s.plant)
	s.say("    %s sends the delete of its row of ticket %d", nameOf(i), p.ticket)
	s.post(w, m)
}

// dropped ends a place.
func (s *search) dropped(w *world, i, k int) {
	n := &w.nodes[i]
	n.places[k] = place{}
	if int(n.place) == k+1 {
		n.place = 0
	}
	s.left(w, i)
}

// answeredPlace takes the answer to a request for a row.
func (s *search) answeredPlace(w *world, m *msg) {
	i, k := int(m.node), int(m.place)
	n := &w.nodes[i]
	p := &n.places[k]
	reply := queue.Reply(m.reply)
	gone_ := reply == queue.ReplyLost || reply == queue.ReplyRefused
	switch p.state {
	case deleting:
		s.dropped(w, i, k)
		return
	case putting:
		switch {
		case reply == queue.ReplyApplied:
			p.state, p.until = there, m.clock+s.ttl
		case reply == queue.ReplyMade: // the row is an earlier one of its own, whose lease may be over
			p.state = there
			if !p.withdrawn {
				s.renew(w, i, k)
				p.until = n.clock + s.ttl
			}
		case gone_:
			p.state = taken
		default:
			p.unsure, p.state = true, gone
		}
	case renewing:
		p.state = there
		switch {
		case reply == queue.ReplyApplied:
			p.until = max(p.until, m.clock+s.ttl)
		case gone_:
			p.swept = true
		}
	}
	if p.withdrawn {
		s.delete(w, i, k)
		return
	}
	s.keep(w, i, k)
}

// keep puts a row again that is not there, and lets a wait go on that waits for it.
func (s *search) keep(w *world, i, k int) {
	n := &w.nodes[i]
	p := &n.places[k]
	if p.state == there && (p.swept || p.until <= n.clock) {
		p.state = gone
		if below := p.held || int(n.place) != k+1 || n.doing(s) == queue.Granted; below && p.swept {
			return
		}
	}
	switch doing := n.doing(s); {
	case p.state == renewing && doing != queue.Putting:
	case p.state == gone:
		s.put(w, i, k)
	case int(n.place) != k+1 || n.caller != waits:
	case p.state == taken && (doing == queue.Putting || doing == queue.Resting):
		s.say("    another row has the ticket of %s", nameOf(i))
		s.ended(w, i, &stepped{why: queue.WhyNewTicket})
	case (p.state == there || p.state == renewing) && doing == queue.Putting:
		s.step(w, i, event{kind: evPut})
	}
}

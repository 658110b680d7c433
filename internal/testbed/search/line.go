package search

import (
	"time"

	"github.com/queuelock/queuelock/queue"
)

// order says what came before a record that a process knows. A bit is a node, whose snapshot it then is, or the line.
type order struct {
	sent    uint8 // they had arrived when the request was sent that returned it
	arrived uint8 // they had arrived when it arrived
}

// theLine is the bit of the record that the waiters of one client share.
const theLine = maxNodes

// set makes the record with bit to that with bit from.
func (o *order) set(to, from int) {
	copyBit := func(bits *uint8) {
		if *bits &^= 1 << to; *bits&(1<<from) != 0 {
			*bits |= 1 << to
		}
	}
	copyBit(&o.sent)
	copyBit(&o.arrived)
}

// orders returns the order of each record that is known, and of each that is under way.
func (s *search) orders(w *world) (all []*order) {
	all = append(all, &w.line.order)
	for i := range s.Clients {
		all = append(all, &w.nodes[i].seen)
	}
	for k := range w.net {
		if w.net[k].role != noMsg {
			all = append(all, &w.net[k].order)
		}
	}
	return all
}

// line is the record that the waiters of one client share.
type line struct {
	rec int32
	order
}

// saw notes that node i has got a record by an answer.
func (s *search) saw(w *world, i int, m *msg) {
	if !s.Line || m.look == 0 && (m.reply >= uint8(queue.ReplyFailed) || s.items.writes[m.write[0]].row > 0) {
		return
	}
	for _, o := range s.orders(w) {
		o.sent &^= 1 << i
		o.arrived &^= 1 << i
	}
	w.nodes[i].seen = order{sent: m.order.sent &^ (1 << i), arrived: 0xff &^ (1 << i)}
}

// follows asks Record.Follows whether record a shows a later state than b. The bits are those of the two.
func (s *search) followsOf(a, b int32, ao, bo order, ai, bi int) bool {
	when := func(o order, other int) (sent, read time.Time) {
		switch {
		case o.sent&(1<<other) != 0:
			return at(4, 0), at(5, 0)
		case o.arrived&(1<<other) != 0:
			return at(2, 0), at(4, 0)
		}
		return at(2, 0), at(3, 0)
	}
	as, ar := when(ao, bi)
	bs, br := when(bo, ai)
	return s.items.recs[a].Timed(as, ar).Follows(s.items.recs[b].Timed(bs, br))
}

// notes lets the line take over what a waiter has decided by, if that is later.
func (s *search) notes(w *world, i int, r *stepped) {
	if !s.Line || !r.decided || w.nodes[i].place == 0 {
		return
	}
	n, rec := &w.nodes[i], s.known(r.m)
	if w.line.rec != none && s.mistake != LineOlder && !s.followsOf(rec, w.line.rec, n.seen, w.line.order, i, theLine) {
		return
	}
	for _, o := range s.orders(w) {
		o.set(theLine, i)
	}
	w.line = line{rec, n.seen}
	w.line.sent &^= 1 << theLine
	w.line.arrived &^= 1 << theLine
}

// shown reports whether a waiter that rests may take over the record of the line in place of a look: if it is new, later
// than its own, and no waiter can be ahead.
func (s *search) shown(w *world, i int) bool {
	n := &w.nodes[i]
	m := &s.waits.all[n.wait]
	if !s.Line || w.line.rec == none || s.items.recs[w.line.rec].Floor() != m.Ticket.Previous() {
		return false
	}
	if s.mistake == TakesOlder {
		return w.line.rec != s.known(n.wait)
	}
	return w.line.arrived&(1<<i) != 0 && s.followsOf(w.line.rec, s.known(n.wait), w.line.order, n.seen, theLine, i)
}

// takeOver lets a waiter that rests take over the record of the line.
func (s *search) takeOver(w *world, i int) bool {
	before := s.timeless(*w)
	n := &w.nodes[i]
	r := s.stepWait(n.wait, event{kind: evRested}, s.view(w, i))
	if r.state != queue.Looking {
		return false
	}
	n.wait, n.offered = r.m, false
	for _, o := range s.orders(w) {
		o.set(i, theLine)
	}
	n.seen = w.line.order
	n.seen.sent &^= 1 << i
	n.seen.arrived &^= 1 << i
	s.step(w, i, event{kind: evSeen, rec: w.line.rec})
	return s.timeless(*w) != before
}

// timeless is a world without the order of what is known: a look that changes no more leads to nothing.
func (s *search) timeless(w world) world {
	if !s.Line {
		return w
	}
	w.line.order = order{}
	for i := range w.nodes {
		w.nodes[i].seen = order{}
	}
	for k := range w.net {
		w.net[k].order = order{}
	}
	return w
}

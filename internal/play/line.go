package play

import (
	"maps"
	"slices"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// line is what a player knows of the places of its callers: what is ahead of them, for reports and errors.
type line struct{ *player }

// counted is what the places are counted by.
type counted struct {
	left   map[ticket.Number]bool // of blocks, whose rows a look may show
	last   ticket.Number          // the highest of the client
	others int                    // tickets below it, and above all that wait, which may be of other clients
}

// place is that of a block in the line of its client.
type place struct {
	ticket ticket.Number // zero: it has none
	others int           // tickets between it and the block before that may be of other clients; of the first, all ahead
	left   bool          // it waits no longer
}

// joins gives a block its place, with at most so many tickets ahead that can still be granted.
func (p line) joins(s *sight, w *machine.Wait, ahead int) {
	p.leaves(s) // with an earlier ticket
	t := w.Ticket
	before, after := p.around(t)
	s.looked, s.place = false, place{ticket: t, others: ahead}
	switch {
	case after != nil: // the tickets ahead are counted by the next
		s.others, after.others = 0, max(0, after.others-1)
	case before != nil:
		between := p.others
		if p.last.Less(t) {
			between += int(min(t.After(p.last), 1<<30)) - 1
		}
		s.others, p.others = min(ahead, between), 0
	}
	if last := t.Plus(uint64(max(w.Config.Turns, 1) - 1)); p.last.Less(last) {
		p.last = last
	}
}

// leaves takes a block out of the line. The next one takes over what is known of those ahead.
func (p line) leaves(s *sight) {
	if s.left || s.ticket.IsZero() {
		return
	}
	if s.left = true; p.left == nil {
		p.left = map[ticket.Number]bool{}
	}
	if p.left[s.ticket] = true; len(p.left)%64 == 0 {
		rec, _ := p.m.Record()
		maps.DeleteFunc(p.left, func(t ticket.Number, _ bool) bool { return t.Compare(rec.Floor()) <= 0 })
	}
	switch _, next := p.around(s.ticket); {
	case next == nil:
		p.others += s.others
	case s.looked && !next.looked:
		next.looked, next.rows, next.waiters = true, s.rows+next.others, s.waiters+next.others
	case !next.looked:
		next.others += s.others
	}
}

// around returns the neighbours of a ticket in the line.
func (p line) around(t ticket.Number) (before, after *sight) {
	for _, s := range p.sights {
		switch {
		case s.left || s.ticket.IsZero():
		case s.ticket.Less(t) && (before == nil || before.ticket.Less(s.ticket)):
			before = s
		case t.Less(s.ticket) && (after == nil || s.ticket.Less(after.ticket)):
			after = s
		}
	}
	return before, after
}

// gone returns how many rows ahead a look has shown that the client itself has left: they are being deleted.
func (p line) gone(w *machine.Wait) (n int) {
	for t := range p.left {
		shown := slices.ContainsFunc(w.Snapshot.Rows, func(row queue.Waiter) bool { return row.Ticket == t })
		switch ahead := t.Less(w.Ticket); {
		case ahead && shown && w.Snapshot.Record.Floor().Less(t):
			n++
		case ahead && !shown:
			delete(p.left, t)
		}
	}
	return n
}

// status returns what a caller knows of its queue. tried reports whether a request for the lock was made.
func (p line) status(k *Caller) (s Status, tried bool) {
	for b := range p.m.Blocks() {
		if b.Callers.Turn(k.id) >= 0 {
			s, _, _ = p.place(k, b.N)
			at := p.sight(b.N)
			return s, at.tried
		}
	}
	for b := range p.m.Blocks() { // it gathers while others take tickets
		if at := p.sights[b.N]; b.Ticket.IsZero() && at != nil && at.failure != nil {
			return Status{Failure: at.failure}, true
		}
	}
	return Status{Failure: k.failure}, k.tried
}

// ended returns what a block has seen last whose wait is over.
func (p line) ended(own *sight, k *Caller) Status {
	if own == nil {
		return Status{Failure: k.failure}
	}
	s := Status{Ticket: own.number, Ahead: own.waiters, Rows: own.rows, Looked: own.looked}
	p.seen(&s, own)
	return s
}

// seen adds what a block has seen of the holders.
func (p line) seen(s *Status, own *sight) {
	rec, at := p.m.Record()
	if at.IsZero() || !rec.Follows(own.record) {
		rec, at = own.record, own.seenAt
	}
	s.Serving, s.SeenAt, s.Blocked, s.Failure = rec.Holders, at, own.blocked, own.failure
	now, clock := time.Now(), p.queue.Clock()
	v := waitpolicy.View{Record: rec, Ahead: s.Rows, Own: s.Rows == 0 && len(rec.Holders) == 1 &&
		p.holds(rec.Holders[0].ID), Now: now, Middle: clock.Middle(now)}
	v.Earliest, _, _ = clock.At(now)
	if !own.looked {
		own.pace.Behind(s.Rows)
	}
	s.Wait = own.pace.Estimate(v)
}

// place returns the place of a caller of a block, and the tickets between the floor and its own. ok is false if nothing
// is known.
func (p line) place(k *Caller, block int32) (s Status, tickets int, ok bool) {
	for b := range p.m.Blocks() {
		own := p.sights[b.N]
		switch {
		case own == nil, !b.Waits && b.Turn < 0 && !b.Ticket.IsZero() && b.N != block: // it is about to leave
			continue
		case b.Turn >= 0:
			if b.N == block {
				s, tickets = p.inTurn(k, b, own)
				return s, tickets, true
			}
			continue
		case b.Ticket.IsZero():
			if b.N == block {
				return p.ended(own, k), 0, false
			}
			continue
		case !b.Row && b.N != block: // it does not wait
			continue
		case own.looked:
			s.Rows, s.Ahead, s.Looked = own.rows, own.waiters, true
		default:
			s.Rows, s.Ahead = s.Rows+own.others, s.Ahead+own.others
		}
		if b.N == block {
			p.fill(&s, b, own, k)
			if k.wants.Kind.Scope != ticket.ScopeQueue { // the tickets between are mostly of other queues
				return s, s.Ahead, true
			}
			return s, ticketsAhead(s.Ticket, own.record), true
		}
		s.Rows++
		s.Ahead += b.Callers.Living()
	}
	return s, 0, false
}

// fill adds to the status of a caller that waits what its block has seen.
func (p line) fill(s *Status, b member.Block, own *sight, k *Caller) {
	i := b.Callers.Turn(k.id)
	s.Ticket = b.Ticket.Plus(uint64(i))
	p.seen(s, own)
	s.Ahead += b.Callers[:i].Living()
}

// inTurn returns what a caller knows that waits for its turn in a block that holds.
func (p line) inTurn(k *Caller, b member.Block, own *sight) (s Status, tickets int) {
	i, h := b.Callers.Turn(k.id), own.holder
	if i == b.Turn { // its turn is about to begin
		return Status{Ticket: b.Ticket.Plus(uint64(i)), Looked: true, Failure: own.failure}, 0
	}
	h.Reached = b.Ticket.Plus(uint64(b.Turn))
	s = Status{Ticket: b.Ticket.Plus(uint64(i)), Serving: []queue.Holder{h}, SeenAt: time.Now(), Kept: true}
	s.Ahead = b.Callers[min(b.Turn+1, i):i].Living()
	return s, max(0, i-b.Turn-1)
}

func (p *player) line() line { return line{p} }

// Status is what a caller last saw of its queue, by a look of its own or of another one of its client.
type Status struct {
	Ticket  ticket.Number // zero: none was taken
	Ahead   int           // waiters ahead: each ticket of a block is one
	Rows    int           // that these have
	Serving []queue.Holder
	SeenAt  time.Time           // on the local clock
	Looked  bool                // else Ahead is a difference of tickets, some of which were left without a row
	Kept    bool                // this client itself holds the lock, for a block of the caller, and renews the lease
	Blocked error               // problem of a row ahead or a holder that cannot be read
	Failure error               // of the last request, CLEAN UP included, if the table did not answer
	Wait    waitpolicy.Estimate // when Status was called
}

// Served returns the first holder, or nil, with its age and its remaining time as they are now.
func (s Status) Served(q table.Queue, observer *heartbeat.Observer) *queue.Holder {
	if len(s.Serving) == 0 {
		return nil
	}
	now := time.Now()
	holder := observer.Holder(q.Items, s.Serving[0], s.SeenAt, q.Clock().Middle(now))
	switch {
	case s.Kept:
		holder.Remaining = holder.TTL
	case !holder.Endless():
		holder.Remaining -= now.Sub(s.SeenAt)
	}
	return &holder
}

// Progress is a caller's place in its queue and the estimated wait.
type Progress struct {
	Status  Status
	Tickets int // between the floor and the caller's own
	Wait    waitpolicy.Estimate
}

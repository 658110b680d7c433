package play

import (
	"slices"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// sight is what a block has seen of its queue: for its pace, for reports and for errors.
type sight struct {
	pace     waitpolicy.Pace
	record   queue.Record // that was seen last
	seenAt   time.Time
	looked   bool // it was a look; else only tickets are known
	rows     int  // ahead
	waiters  int  // the same: each ticket of a block is one
	blocked  error
	failure  error     // of the last request, if the table did not answer
	tried    bool      // a request for the lock was made
	heeds    time.Time // when a bell ends the rest; zero: none does
	put      time.Time // when its row was first known to be there
	handover time.Duration
	reads    time.Time // when the holder reads the next row; zero: it does not
	// foreseen: the holder of the ticket before has probably read the row, or will, after that time of its turn. Zero:
	// before it began, as a look has shown the row then.
	foreseen  bool
	readAfter time.Duration
	holder    queue.Holder // of the block, as it was granted
	shown     time.Time    // to the callers of later turns, last
	own       ownHolder
	heard     handover.Heard
	rang      bool          // during a look
	asks      string        // the bell of a holder that is asked to give way
	granted   *granted      // nil: as most
	number    ticket.Number // of the wait
	place
}

// ownHolder is a holder of the client itself that is in the way.
type ownHolder struct {
	id     string
	since  time.Time // when it was first seen
	logged bool
}

// ownLimit is how long a holder of the waiter's own client may be in the way before that is logged.
const ownLimit = 10 * time.Second

// sight returns that of a block.
func (p *player) sight(block int32) *sight {
	s := p.sights[block]
	if s == nil {
		s = &sight{pace: waitpolicy.NewPace(p.lastEnded()), heard: p.c.Local.Hears(p.queue, p.bells[block])}
		s.pace.Once(p.wantsOf(block).Kind.Wanted != nil)
		if p.sights == nil {
			p.sights = map[int32]*sight{}
		}
		p.sights[block] = s
	}
	return s
}

// lastEnded returns when a turn ended last in this process; zero: none has in the last minute.
func (p *player) lastEnded() time.Time {
	at := latest(p.ended, p.c.Local.Ended(p.queue))
	if time.Since(at) > time.Minute {
		return time.Time{}
	}
	return at
}

// answered notes whether the table has answered a request.
func (s *sight) answered(err error, answered bool) {
	if answered {
		s.failure = nil
	} else if table.Unanswered(err) {
		s.failure = err
	}
}

// Stepped keeps what a step of a wait has shown.
func (c clock) Stepped(block int32, w *machine.Wait, from machine.Doing, e machine.Event, do *machine.Do) {
	s := c.sight(block)
	s.number = w.Ticket
	s.tried = s.tried || do.State == machine.Taking || do.State == machine.Entering || do.State == machine.Looking
	r, replied := e.(machine.Replied)
	if d := do.Decision; d != nil {
		_, look := e.(machine.Seen)
		before := s.record.Holders
		s.looked = s.looked || look
		gone := c.line().gone(w)
		s.saw(w, d.Ahead-gone, d.Waiters-gone)
		s.judge(w, before, w.Snapshot.Record.Holders)
		s.blocked = d.Blocked
		s.pace.Decided(*d)
	} else if replied && r.Reply < machine.ReplyFailed && (from == machine.Taking || from == machine.Entering) {
		c.entered(s, w, from, r, do)
	}
	if do.State == machine.Joining && !w.Config.NoWait {
		ahead := 0 // in a wider scope, the other tickets are mostly of other queues
		if w.Config.Scope == ticket.ScopeQueue {
			ahead = ticketsAhead(w.Ticket, w.Snapshot.Record)
		}
		c.line().joins(s, w, ahead)
		s.pace.Behind(ahead)
	}
	if do.State == machine.Asking {
		s.asks = do.Holder.Bell
	} else if replied && from == machine.Asking && (r.Reply == machine.ReplyApplied || r.Reply == machine.ReplyUnknown) {
		c.c.Local.Ring(s.asks)
	}
	if seen, ok := e.(machine.Seen); ok {
		s.foreseen = s.foreseen || seen.Snapshot.Own && seen.Snapshot.Record.Reach().Less(w.Ticket.Previous())
	}
	c.warns(w, from, r, do)
	if do.State == machine.Granted {
		c.granted(s, w, do)
	}
}

// warns logs what is unusual in a step.
func (c clock) warns(w *machine.Wait, from machine.Doing, r machine.Replied, do *machine.Do) {
	switch {
	case do.Late != nil:
		c.c.Log.Warn("queuelock: a grant came too late to be used, or is malformed",
			"queue", c.queue.String(), "ticket", w.Ticket, "problem", do.Late.Problem)
	case from == machine.Confirming && r.Reply == machine.ReplyRefusedForGood:
		c.c.Log.Warn("queuelock: a fail-closed grant was not confirmed in time", "queue", c.queue.String(), "ticket",
			w.Ticket)
	case do.State == machine.Ended && do.Why == machine.WhyOvertaken && from != machine.Removing &&
		from != machine.Resetting:
		c.c.Log.Warn("queuelock: a waiter stalled, was overtaken and takes a new ticket", "queue", c.queue.String(), "ticket",
			w.Ticket)
	}
}

// entered keeps what a request to enter has shown.
func (c clock) entered(s *sight, w *machine.Wait, from machine.Doing, r machine.Replied, do *machine.Do) {
	ahead := 0
	if from == machine.Taking {
		ahead = ticketsAhead(w.Ticket, r.Record)
	} else {
		c.mu.Lock()
		c.highest = latestOf(c.highest, r.Record.TicketNumber)
		c.mu.Unlock()
	}
	if do.State != machine.Ended && do.State != machine.Granted || w.Config.NoWait {
		s.saw(w, ahead, ahead)
	}
}

func latestOf(a, b ticket.Number) ticket.Number {
	if a.Less(b) {
		return b
	}
	return a
}

// granted is what an unlike lock was granted with.
type granted struct {
	mode    queue.Mode
	atLeast time.Duration
	item    clause.Item
	result  queue.Result
}

// alike is that of most locks.
var alike = &granted{}

// granted notes how long the lock was idle, and when the holder reads the next row.
func (c clock) granted(s *sight, w *machine.Wait, do *machine.Do) {
	if holders := s.record.Holders; s.holder.ID == "" && len(holders) > 0 {
		s.judge(w, holders, nil)
	}
	if rec := &w.Snapshot.Record; w.Config.Mode != (queue.Mode{}) || do.Attempt.Lease.AtLeast > 0 ||
		w.Config.Items.Home != nil || w.Config.Wanted != nil {
		s.granted = &granted{w.Config.Mode, do.Attempt.Lease.AtLeast, rec.Item, rec.Result}
	}
	ended := c.lastEnded()
	if rung := s.heard.Rung(false).Last; ended.Before(rung) {
		ended = rung // what another process says
	}
	if do.Attempt.Passed && !do.Holder.Named {
		ended = do.Attempt.Sent // by the release
	}
	if s.holder = *do.Holder; do.Attempt.Claimed || do.Attempt.Passed { // else the lock was idle
		s.handover = s.pace.Handover(ended, c.now)
	}
	sent := do.Attempt.Sent
	if !do.Holder.Accepted() {
		sent = w.Snapshot.ReadAt.Add(-s.pace.Trip())
	}
	if after, ok := s.pace.ReadsNext(w.Snapshot.Record.HoldTime.Mean, c.c.Local.Bells()); ok && do.Attempt.Claimed {
		s.reads = sent.Add(after)
	}
}

// saw keeps what was seen.
func (s *sight) saw(w *machine.Wait, rows, waiters int) {
	s.record, s.seenAt, s.rows, s.waiters = w.Snapshot.Record, w.Snapshot.ReadAt, rows, waiters
	s.pace.Saw(w.Snapshot, rows)
}

// ticketsAhead returns how many tickets are between the floor and t.
func ticketsAhead(t ticket.Number, rec queue.Record) int {
	return max(0, int(min(t.After(rec.Reach()), 1<<30))-1)
}

// view returns what a block knows for its pace.
func (s *sight) view(p *player, w *machine.Wait) waitpolicy.View {
	now, clock := time.Now(), p.queue.Clock()
	earliest, _, _ := clock.At(now)
	return waitpolicy.View{
		Record: w.Snapshot.Record, Permits: w.Config.Mode.Permits, Ahead: s.rows, Own: s.heldByOwn(p, w),
		Now: now, Earliest: earliest, Middle: clock.Middle(now),
	}
}

// holds reports whether the client has the lock with that id, or is about to release it.
func (p *player) holds(id string) bool {
	return !p.c.Ticket(id).IsZero() || p.m.Holds(id)
}

// heldByOwn reports whether this client holds the lock, and the waiter is next.
func (s *sight) heldByOwn(p *player, w *machine.Wait) bool {
	holders := w.Snapshot.Record.Holders
	return w.Next() && len(holders) == 1 && p.holds(holders[0].ID)
}

// lasted returns for how long the present turn has probably lasted.
func (s *sight) lasted(p *player, w *machine.Wait) time.Duration {
	now := time.Now()
	return s.pace.Lasted(w.Snapshot.Record, p.queue.Clock().Middle(now), now)
}

// expected reports whether the present holder has probably read the waiter's row, and will name it. A CLAIM would be
// refused.
func (s *sight) expected(p *player, w *machine.Wait) bool {
	age := s.lasted(p, w) - s.readAfter
	return s.foreseen && w.Next() && len(w.Snapshot.Record.Holders) == 1 && age >= 0 && age <= waitpolicy.NamedWithin
}

// foresee notes if the holder of the ticket before, which has waited, has read the row during its turn, or will. One
// that was granted an idle lock reads no row.
func (s *sight) foresee(p *player, w *machine.Wait) {
	rec := &w.Snapshot.Record
	if s.foreseen || !before(w.Ticket, rec.Holders) || rec.Holders[0].Ticket == rec.FirstServed() {
		return
	}
	lasted := s.lasted(p, w)
	if after, ok := s.pace.ReadsNext(rec.HoldTime.Mean, p.c.Local.Bells()); ok && lasted > 0 && !s.put.IsZero() &&
		lasted-time.Since(s.put) <= after {
		s.foreseen, s.readAfter = true, after
	}
}

// noteOwn logs once that the waiter's own client has the lock: the caller may be waiting for itself.
func (s *sight) noteOwn(p *player, w *machine.Wait) {
	holders := s.record.Holders
	i := slices.IndexFunc(holders, func(h queue.Holder) bool { return p.holds(h.ID) })
	switch {
	case s.own.logged:
	case i < 0:
		s.own.id = ""
	case s.own.id != holders[i].ID:
		s.own.id, s.own.since = holders[i].ID, time.Now()
	case time.Since(s.own.since) >= ownLimit:
		s.own.logged = true
		p.c.Log.Info("queuelock: waits for a lock that this client itself holds: locks are not reentrant",
			"queue", p.queue.String(), "ticket", w.Ticket, "own", holders[i].Ticket)
	}
}

// rings reports whether the holder of the ticket before is there, and has probably read the waiter's row, so that it
// rings its bell.
func (s *sight) rings(w *machine.Wait, holders []queue.Holder) bool {
	return s.foreseen && before(w.Ticket, holders)
}

// before reports whether the lock has one holder, with the ticket before t.
func before(t ticket.Number, holders []queue.Holder) bool {
	return len(holders) == 1 && holders[0].Ticket == t.Previous()
}

// reported is the part of a report that must differ from the last one.
type reported struct {
	ticket         ticket.Number
	ahead, tickets int
	serving        string
	data           int64
}

// showEvery is how often places are reported at most while turns pass on in memory, which may be very short.
const showEvery = 100 * time.Millisecond

// show reports to each caller that waits what it has not heard yet.
func (p *player) show() {
	p.tidy()
	if !p.watched() {
		return
	}
	rests := true // the first that waits
	for b := range p.m.Blocks() {
		s := p.sights[b.N]
		if b.Turn < 0 && !b.Behind && !b.Ticket.IsZero() {
			rests = rests && b.Doing == machine.Resting
		}
		if s == nil || b.Turn < 0 && !rests || b.Turn >= 0 && time.Since(s.shown) < showEvery {
			continue
		} else if b.Turn >= 0 {
			s.shown = time.Now()
		}
		for i := range b.Callers {
			if k := p.caller(b.Callers.At(i)); k != nil && k.lock == nil && k.report != nil {
				if s, tickets, ok := p.line().place(k, b.N); ok {
					k.shows(s, tickets)
				}
			}
		}
	}
}

// watched reports whether any caller has a receiver of reports.
func (p *player) watched() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.callers {
		if k.lock == nil && k.report != nil {
			return true
		}
	}
	return false
}

func (k *Caller) shows(s Status, tickets int) {
	now := reported{ticket: s.Ticket, ahead: s.Ahead, tickets: tickets}
	if len(s.Serving) > 0 {
		now.serving, now.data = s.Serving[0].ID, s.Serving[0].DataSet
	}
	if k.shown == nil || *k.shown != now {
		k.shown = &now
		k.numbered(s.Ticket)
		k.report(Progress{Status: s, Tickets: tickets, Wait: s.Wait})
	}
}

// tidy forgets what blocks have seen that are gone.
func (p *player) tidy() {
	if !p.untidy {
		return
	}
	p.untidy = false
	for n, bell := range p.bells {
		if len(p.m.Block(n).Callers) == 0 {
			bell.Stop()
			delete(p.bells, n)
		}
	}
	for n := range p.sights {
		switch b := p.m.Block(n); {
		case b.Callers[b.Turn+1:].Living() == 0: // of a holder that is the last, nothing is needed
			p.line().leaves(p.sights[n])
			delete(p.sights, n)
		case b.Turn >= 0, !b.Waits && !b.Ticket.IsZero():
			p.line().leaves(p.sights[n])
		}
	}
	if len(p.sights) == 0 {
		p.sights = nil // a held lock needs little memory
		if len(p.requests) == 0 {
			p.left = nil
		}
	}
	for t := range p.failing {
		if t.Kind != member.Renews && t.Kind != member.Retries && t.Kind != member.Gathers && p.sights[t.Of] == nil {
			delete(p.failing, t)
		}
	}
	if len(p.failing) == 0 {
		p.failing = nil
	}
}

// Bell hangs the bell of a block.
func (c clock) Bell(block int32) string {
	b := c.c.Local.Hang()
	if b == nil {
		return ""
	}
	if c.bells == nil {
		c.bells = map[int32]*handover.Bell{}
	}
	p := c.player
	p.bells[block] = b
	b.Wakes(func() { p.happens(rings{block: block}) })
	return b.Text()
}

// rings takes the bell of a block: the end of the rest of the first that waits, or, if the block holds, a read of the
// record for a holder that waits to be asked to give way.
func (p *player) rings(of int32) {
	if b := p.m.Block(of); b.Turn >= 0 {
		p.readsMark(b)
		return
	}
	for b := range p.m.Blocks() {
		if s := p.sights[b.N]; s != nil && b.Turn < 0 && !b.Behind {
			s.rang = true
			p.heeds(b.N, s)
			return
		}
	}
}

// heeds lets a bell end the rest of a block. One that comes during a look is judged with that.
func (p *player) heeds(block int32, s *sight) {
	for _, t := range p.m.Timers() {
		if t.Kind == member.Rests && t.Of == block && s.rang {
			s.rang = false
			s.heeds = s.heard.Heed(&s.pace, p.c.Schedule, p.dueAt(t))
		}
	}
}

// judge compares what the bell has said with what a look shows. before are the holders of the one before.
func (s *sight) judge(w *machine.Wait, before, now []queue.Holder) {
	s.heard.Judge(&s.pace, w.Ticket, before, now, s.rings(w, before), func() bool {
		came := s.rang
		s.rang = false
		return came
	})
}

// woken says that turns may have ended without a bell.
func (p *player) woken() {
	for _, s := range p.sights {
		s.heard.Woken()
	}
}

// ring rings the next waiter with a release. If the holder has not read its row, that is read beside the release: the
// bell is late by a round trip then, and still earlier than most looks.
func (p *player) ring(e member.Ring) {
	q := p.queue
	switch {
	case !p.c.Local.Bells(), e.Next.IsZero(), p.m.Has(e.Next):
	case e.Row != nil:
		p.c.Local.Ring(e.Row.Bell)
	default:
		ctx := p.fork()
		p.c.Background(func() {
			if row, _ := requests.GetRow(ctx, q, e.Next); row != nil {
				p.c.Local.Ring(row.Bell)
			} // else a look takes its place
		})
	}
}

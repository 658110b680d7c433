package member

import (
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// held is a block that has the lock, from the grant to the end of its last turn.
type held struct {
	hold      machine.Hold       // of the present turn
	index     int                // of the same
	begun     bool               // its caller has the lock
	calls     bool               // a call is under way that releases the lock
	update    bool               // the same, with an update
	awaits    machine.HoldAction // what the call has asked for
	lost      bool               // the lock is
	unused    bool               // its caller gives it back, and has not had it
	asked     bool               // its caller has heard that it is to give way
	unsettled bool               // a transaction of an earlier holder may not be visible yet
	offered   int32              // the block that has made an offer, which gets the answer to the next request; zero: none
	tries     int32              // of a request that has failed
	repeats   time.Time          // when that is repeated
	result    *queue.Result      // that the record had as it was granted; nil: none
	lease
	foreseen
	*using // of the present turn; nil: it has not used the lock, nor released it
}

// lease is that of the entry.
type lease struct {
	granted time.Time // on the local clock
	until   time.Time // the end that was written last
	ends    time.Time // for its holder; zero: never
	beats   time.Time // when the next heartbeat is due
	named   bool      // it was granted by name, and its row stays until that is accepted
	extends bool      // the caller has asked for a renewal; a heartbeat is under way that was sent since
	again   bool      // the same: it was sent before
}

// foreseen is what is known of the next row.
type foreseen struct {
	next  *nextRow  // nil: it is not known
	reads time.Time // when it is read
	rings bool      // it is rung once the release has had an answer
}

// nextRow is the next row as it was read. It is constant.
type nextRow struct {
	queue.Waiter
	readAt time.Time
}

func (n *nextRow) row() *queue.Waiter {
	if n == nil {
		return nil
	}
	return &n.Waiter
}

// last is the last ticket of the block.
func (h *held) last() ticket.Number { return h.hold.Grant().Last() }

// over reports whether the lock is not held any more, so far as is known.
func (h *held) over() bool { return h.hold.Phase().Final() || h.lost }

// runs reports whether the lease may be lost: that of a lock whose release is under way is its own affair.
func (h *held) runs() bool { return !h.ends.IsZero() && !h.lost && (!h.calls || h.update) }

// holding is a step of a block that has the lock.
type holding struct {
	*step
	b *block
	h *held
}

func (s holding) release() releasing { return releasing{s} }

func (s holding) use() transacting {
	if s.h.using == nil {
		s.h.using = &using{}
	}
	return transacting{s}
}

// granted begins the first turn of a block.
func (s waiting) granted(do machine.Do) {
	b, a, me, k := s.b, do.Attempt, do.Holder, s.b.kind
	if !b.ticketed {
		line{s.step}.joins(b)
	}
	rec, named, sent := b.wait.Snapshot.Record, !me.Accepted(), a.Sent
	if named {
		sent = s.sent // so that turns count alike
	}
	delay, atLeast := k.Delay, k.AtLeast
	if a.Resumed { // as the record says
		delay, atLeast = max(delay, a.Lease.Delay), a.Lease.AtLeast
	}
	h := &held{
		hold: *machine.NewHold(machine.Grant{
			ID: a.ID, Ticket: me.Ticket, Turns: b.wait.Config.Turns, Sent: sent, Claimed: a.Claimed, Resumed: a.Resumed,
			Named: named, FailClosed: k.FailClosed, TTL: k.TTL, Margin: k.Margin, Delay: delay, AtLeast: atLeast,
			NotBefore: a.Lease.NotBefore, Forget: s.queue.Forget, Home: k.Home, Slot: me.Slot,
			Patience: s.cfg.Patience,
		}, b.wait.Config.Mode, rec),
		lease: lease{
			named: named, granted: s.now, until: me.Lease.Until, ends: s.c.Ends(k, a.Sent, named),
			beats: s.c.Beats(Timer{Beats, b.n}, k, a.Sent, named, false),
		},
	}
	if next := b.wait.Snapshot.Next; next != nil {
		h.next = &nextRow{*next, b.wait.Snapshot.ReadAt}
	}
	if result := rec.Result; result.Exists() || result.Problem != nil {
		h.result = &result
	}
	earliest, _, _ := s.c.At(s.now)
	h.unsettled = machine.MayAppear(rec.Marks, earliest)
	b.held, b.wait = h, waited
	if !named {
		s.withdraw()
	}
	s.holding(b).first()
}

// first begins with the first caller that waits. If all have given up meanwhile, the lock is released: one that keeps
// its place gets it.
func (s holding) first() {
	i, waits := s.b.next(0)
	switch {
	case s.b.leaving && s.b.kind.Keep == 0 || !waits:
		s.release().calls(machine.HoldEvent{Kind: machine.HoldRelease})
	case s.expired():
		s.lose(nil)
	case i > 0:
		s.release().goesTo(i)
	default:
		s.begins(i)
	}
}

// begins gives the lock to the caller of a turn.
func (s holding) begins(i int) {
	h := s.h
	h.index, h.begun, s.b.callers[i].state = i, true, holds
	if _, more := s.b.next(i + 1); !more && h.next == nil && s.b.kind.passing().reads {
		h.reads = s.c.Reads(s.b.n)
	}
	grant := h.hold.Grant()
	give := Give{
		Caller: s.b.callers[i].id, ID: grant.ID, Ticket: h.hold.Turn(), Ends: h.ends, Sent: grant.Sent,
		Slot: grant.Slot, Unsettled: h.unsettled || h.hold.Open(),
	}
	if h.result != nil {
		give.Result = *h.result
	}
	s.do(give)
	s.giveWay()
}

// giveWay reports once that the holder was asked to give way.
func (s holding) giveWay() {
	if h := s.h; h.begun && !h.asked && h.hold.Revocation() != nil {
		h.asked = true
		s.report(Report{News: Asked, Mark: h.hold.Revocation()})
	}
}

// report reports to the caller of the present turn.
func (s holding) report(r Report) {
	r.Caller = s.caller()
	s.do(r)
}

// caller is that of the present turn.
func (s holding) caller() int32 { return s.b.callers[s.h.index].id }

// expired reports whether the lease has ended for its holder.
func (s holding) expired() bool { return !s.h.ends.IsZero() && !s.now.Before(s.h.ends) }

// times is what is known of the time for the hold.
func (s holding) times() machine.HoldTimes {
	t := machine.HoldTimes{Local: s.now}
	t.Earliest, t.Latest, _ = s.c.At(s.now)
	_, t.Began, _ = s.c.At(s.h.granted)
	return t
}

// steps gives an event to the hold.
func (s holding) steps(e machine.HoldEvent) machine.HoldDo {
	e.Deadline, e.Delivered = s.h.ends, s.h.begun && !s.h.unused
	return s.h.hold.Step(s.times(), e)
}

func (s holding) answered(a ask, e Answer) {
	h := s.h
	if a.what >= byTurn && a.turn != h.index {
		return // it says nothing of the present turn
	}
	he := machine.HoldEvent{Reply: e.Reply, Record: e.Record, Err: e.Err}
	switch a.what {
	case byBeat:
		he.Kind = machine.HoldBeaten
		s.beaten(a, he)
	case byCall:
		s.release().called(e, he)
	case byRead:
		s.read(e.Seen)
	case byTurn:
		he.Kind = machine.HoldAdvanced
		s.release().advanced(he)
	case byUse:
		he.Kind = machine.HoldChanged
		s.use().used(he)
	case byTx:
		s.use().transacts(s.use().attempted(e))
	case bySettle:
		s.use().settled(e)
	case byShow:
		s.use().visible(e.Reply == machine.ReplyApplied)
	}
}

// read takes what a read has shown: the next row, or the record.
func (s holding) read(seen *queue.Snapshot) {
	if seen == nil {
		return
	}
	if seen.Next != nil && !s.leaves(seen.Next.Ticket) {
		s.h.next = &nextRow{*seen.Next, s.now}
	}
	s.h.hold.Look(seen.Record)
	s.giveWay()
}

// beat sends a heartbeat.
func (s holding) beat() {
	h := s.h
	l, since := s.c.Begin(s.b.kind, false)
	if h.until.Before(l.Until) {
		h.until = l.Until
	}
	h.beats, h.extends, h.again = time.Time{}, h.extends || h.again, false
	until := h.until
	if h.ends.IsZero() {
		until = time.Time{}
	}
	s.send(byBeat, s.b.n, h.hold.Heartbeat(until, since), h.hold.Grant().ID)
}

// beaten takes the answer to a heartbeat.
func (s holding) beaten(a ask, e machine.HoldEvent) {
	h, k, applied := s.h, s.b.kind, e.Reply == machine.ReplyApplied
	e.TooEarly = applied && s.c.Early(k, h.until, a.sent)
	do := s.steps(e)
	applied = do.Result == machine.HoldMade
	if ends := s.c.Ends(k, a.sent, false); applied && h.ends.Before(ends) && !h.ends.IsZero() {
		h.ends = ends
	}
	accepts := applied && h.named
	if accepts {
		h.named = false
		s.waiting(s.b).withdraw()
	}
	switch {
	case h.calls:
		return
	case h.hold.Phase().Final():
		s.release().done(do)
		return
	case do.Result == machine.HoldLost:
		s.lose(do.Err)
		return
	case !h.hold.Phase().Held(): // a call has not released it
		return
	}
	h.beats = s.c.Beats(Timer{Beats, s.b.n}, k, a.sent, h.named, !applied)
	s.renewed(accepts, do.Err)
}

// renewed reports the present end of the lease, or why it was not renewed, and renews it once more if that was asked
// for since.
func (s holding) renewed(accepts bool, err error) {
	h := s.h
	h.extends = false
	if h.begun {
		s.report(Report{News: Renewed, Ends: h.ends, Accepts: accepts, Err: err})
	}
	s.giveWay()
	if h.again {
		s.beat()
	}
}

func (s holding) due(k TimerKind) {
	h := s.h
	switch {
	case k == Beats && !h.beats.IsZero() && !h.calls && !s.asking(byBeat, s.b.n):
		s.beat()
	case k == Ends && h.runs() && s.expired():
		s.lose(nil)
	case k == Reads && !h.reads.IsZero():
		if h.reads = (time.Time{}); !h.calls && !h.lost && !s.isNext() {
			s.do(Look{Of: s.ask(byRead, s.b.n), Below: h.last().Plus(1), Next: true})
		}
	case k == Repeats && !h.repeats.IsZero():
		h.repeats = time.Time{}
		s.release().repeats()
	case k == Attempts && h.using != nil && !h.attempts.IsZero():
		h.attempts = time.Time{}
		s.use().attempts(nil)
	}
}

// leaves reports whether the client deletes the row of a ticket.
func (s holding) leaves(t ticket.Number) bool {
	return slices.ContainsFunc(s.rows, func(r *row) bool { return r.place.Row.Ticket == t && r.place.Left() })
}

// isNext reports whether the client itself has the next ticket.
func (s holding) isNext() bool { return s.Has(s.h.last().Plus(1)) }

// lose ends a lock that is lost. The callers of later turns take new tickets.
func (s holding) lose(err error) {
	h := s.h
	if h.lost || h.calls && !h.update {
		return
	}
	h.lost, h.beats, h.reads = true, time.Time{}, time.Time{}
	s.steps(machine.HoldEvent{Kind: machine.HoldEnded, Err: err})
	s.waiting(s.b).withdraw()
	if h.begun {
		s.report(Report{News: Lost, Err: err})
	}
	line{s.step}.giveBack(s.b)
	s.use().stops()
	if !h.begun { // a turn was about to begin: no other call removes what is left
		s.release().calls(machine.HoldEvent{Kind: machine.HoldRelease})
	}
}

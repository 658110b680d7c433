package member

import (
	"cmp"
	"errors"
	"time"

	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
)

var (
	errHidden  = errors.New("a transaction is not visible yet")
	errRefused = errors.New("refused by the record")
	errOver    = errors.New("the turn is over")
)

// releasing is a step of a call that releases the lock, or passes it on.
type releasing struct{ holding }

// releases is a call of the holder that releases the lock.
func (s releasing) releases(e Releases) {
	if s.h.calls {
		return
	}
	if s.expired() { // that is a loss, and not a release
		s.lose(nil)
	}
	he := machine.HoldEvent{Kind: machine.HoldRelease, Result: e.Result, Asks: e.Asks}
	if e.Update {
		he.Kind = machine.HoldUpdate
	}
	s.h.update, s.h.unused = e.Update, e.Unused
	s.calls(he)
}

// calls begins a call that releases the lock, or removes what is left of it.
func (s releasing) calls(e machine.HoldEvent) {
	h := s.h
	h.calls, h.tries, h.reads = true, 0, time.Time{}
	if !h.update {
		s.use().stops()
	}
	s.plays(s.steps(e))
}

// called takes the answer to a request of the call. The end of this turn comes before the grant of the next.
func (s releasing) called(e Answer, he machine.HoldEvent) {
	h := s.h
	if he.Kind = machine.HoldAnswered; e.Seen != nil {
		he.Record = e.Seen.Record
	}
	if h.awaits == machine.HoldShow && e.Reply != machine.ReplyApplied {
		he.Err = errHidden
	}
	to := s.block(h.offered)
	h.offered = 0
	s.plays(s.steps(he))
	if to != nil {
		s.waiting(to).passed(e.Reply, e.Record)
	}
}

// plays does what a call asks for, until that is a request or a pause.
func (s releasing) plays(do machine.HoldDo) {
	for h := s.h; ; {
		h.awaits = do.Do
		var e machine.HoldEvent
		switch do.Do {
		case machine.HoldDone:
			s.done(do)
			return
		case machine.HoldFollow:
			if i, ok := s.b.next(h.index + 1); ok && !s.b.leaving {
				s.steps(machine.HoldEvent{Followed: true})
				s.follows(i)
				return
			}
		case machine.HoldOffer:
			e.Next = s.offer(do.Alone)
		default:
			var goes bool
			if e.Err, goes = s.request(do); !goes {
				return
			}
		}
		do = s.steps(e)
	}
}

// request sends a request of a call, or pauses. If the call goes on at once, it says so, and why what it has asked for
// is not done.
func (s releasing) request(do machine.HoldDo) (err error, goesOn bool) {
	h := s.h
	switch do.Do {
	case machine.HoldSend:
		ring := do.Ring && s.b.kind.passing().rings
		if h.rings = ring && h.next == nil && h.tries > 0; ring && !h.rings {
			s.ring()
		}
		s.do(Send{Of: s.ask(byCall, s.b.n), Write: do.Write, Limit: do.Limit, Blind: do.Blind, Users: h.update,
			Caller: s.caller()})
	case machine.HoldRead:
		s.do(Look{Of: s.ask(byCall, s.b.n), Record: true})
	case machine.HoldShow:
		s.do(Send{Of: s.ask(byCall, s.b.n), Tx: true, Show: true, Caller: s.caller(), Limit: do.Limit})
	case machine.HoldSettle:
		return nil, s.use().quiet(machine.TransactionUnsettled)
	case machine.HoldWait:
		h.repeats = do.At
	case machine.HoldPause:
		until, more := s.c.Pauses(Timer{Repeats, s.b.n}, int(h.tries), do.Err)
		h.tries++
		switch {
		case !more, !do.Limit.IsZero() && !s.now.Before(do.Limit):
			return cmp.Or(do.Err, errOver), true
		case !until.After(s.now) && !h.update:
			return nil, true
		}
		h.repeats = until
	}
	return nil, false
}

// ring lets the next waiter be rung. If its row is not known, that is read: beside the first attempt of a release, and
// after the last, but not beside each. A table that does not answer would have several times as many requests.
func (s releasing) ring() {
	next, _ := s.h.last().Next()
	s.h.rings = false
	s.do(Ring{Row: s.h.next.row(), Next: next})
}

// repeats goes on after a pause.
func (s releasing) repeats() {
	if !s.h.calls {
		s.advances()
		return
	}
	s.plays(s.steps(machine.HoldEvent{}))
}

// follows passes the lock on in memory, to the next turn.
func (s releasing) follows(i int) {
	s.report(Report{News: Released, Follows: true})
	s.b.callers[s.h.index].state = left
	s.goesTo(i)
}

// goesTo begins a later turn. If an earlier one may have writes under way, they are refused first.
func (s releasing) goesTo(i int) {
	h := s.h
	s.b.callers[i].state = chosen
	first := h.hold.Turn()
	next, stale := h.hold.Follow(first.Plus(uint64(i - h.index)))
	h.hold, h.index = *next, i
	h.begun, h.calls, h.asked, h.extends, h.again, h.using = false, false, false, false, false, nil
	if h.beats.IsZero() && !s.asking(byBeat, s.b.n) {
		h.beats = s.c.Beats(Timer{Beats, s.b.n}, s.b.kind, s.now, h.named, false)
	}
	switch {
	case s.expired():
		s.lose(nil)
	case stale:
		s.advances()
	default:
		s.begins(i)
	}
}

// skips passes the lock on to the turn after one whose caller gave up as it was about to begin.
func (s releasing) skips() {
	s.h.repeats = time.Time{}
	if i, ok := s.b.next(s.h.index + 1); ok {
		s.goesTo(i)
		return
	}
	s.calls(machine.HoldEvent{Kind: machine.HoldRelease})
}

func (s releasing) advances() { s.send(byTurn, s.b.n, s.h.hold.Advance(), "") }

// advanced takes the answer to ADVANCE.
func (s releasing) advanced(e machine.HoldEvent) {
	h := s.h
	switch {
	case h.lost || h.calls || h.begun:
	case e.Reply >= machine.ReplyFailed:
		until, more := s.c.Pauses(Timer{Repeats, s.b.n}, int(h.tries), e.Err)
		switch h.tries++; {
		case !more:
			s.b.callers[h.index].state = left
			s.do(Refuse{Caller: s.caller(), Why: machine.WhyError, Err: e.Err})
			s.skips()
		case until.After(s.now):
			h.repeats = until
		default:
			s.advances()
		}
	case s.steps(e).Result != machine.HoldMade, s.expired():
		s.lose(e.Err)
	default:
		h.tries = 0
		s.begins(h.index)
	}
}

// offer returns the waiter to which a release passes the lock; nil: those that wait may claim it.
func (s releasing) offer(alone bool) *queue.Next {
	h, may := s.h, s.b.kind.passing()
	for _, to := range s.blocks {
		if to.wait.Ticket.Previous() == h.last() && s.waiting(to).mayPass() {
			entry := to.wait.Passing(clock{s.waiting(to)})
			s.takes(to)
			return &queue.Next{Entry: entry, Ticket: to.wait.Ticket}
		}
	}
	if !may.reads {
		return nil
	}
	if h.next != nil && s.cfg.Names && s.c.Names(h.next.readAt) {
		if next, ok := h.next.GrantByName(h.hold.Grant().ID, s.c.Middle()); ok {
			return &next
		}
	}
	after, err := h.last().Next()
	if err != nil || !alone || !may.block || !s.mayRetake() {
		return nil
	}
	to := line{s.step}.gather()
	entry := to.wait.Retaking(clock{s.waiting(to)}, after)
	s.takes(to)
	return &queue.Next{Entry: entry, Ticket: after, New: true}
}

// mayRetake reports whether a release may take tickets for those that gather.
func (s releasing) mayRetake() bool {
	return s.cfg.Retakes && len(s.gathered) > 0 && s.gathered[0].kind.passing().block && !line{s.step}.taking()
}

// mayPass reports whether a release of the client may grant the lock to the block: it rests, and its row is in the
// table.
func (s waiting) mayPass() bool {
	b, r := s.b, s.row(s.b.row)
	rests := b.behind || b.wait.State == machine.Resting
	return rests && b.held == nil && !b.leaving && r != nil && r.there && b.kind.passing().offered && b.wait.MayOffer()
}

// takes takes the offer of a block, which gets the answer.
func (s releasing) takes(to *block) {
	to.offered, to.rests, to.behind, s.h.offered = true, time.Time{}, false, to.n
}

// passed gives a block the answer to the release that has its offer, or that has named its row.
func (s waiting) passed(reply machine.Reply, rec queue.Record) {
	s.b.offered = false
	s.steps(machine.Passed{Reply: reply, Record: rec})
}

// done ends a call that releases the lock, and the block unless the lock is still held.
func (s releasing) done(do machine.HoldDo) {
	h := s.h
	news := Released
	switch p := h.hold.Phase(); {
	case p.Held(), h.update && !p.Final():
		s.declined(do)
		return
	case p == machine.PhaseUnknown:
		news = Unknown
	case p == machine.PhaseCleared:
		news = Cleared
	case !p.Final():
		news = Unreleased
	}
	if h.begun {
		s.report(Report{News: news, Result: do.Result, Open: do.Open, Hidden: do.Hidden, Err: do.Err})
	}
	if h.rings && (news == Released || news == Unknown) {
		s.ring()
	}
	s.waiting(s.b).withdraw()
	if h.calls, h.update = false, false; news == Unreleased && h.begun {
		h.beats = time.Time{} // its lease ends it
		return
	}
	s.ends(do)
}

// declined goes on with a lock that is still held: its update was not made, or that is not known.
func (s releasing) declined(do machine.HoldDo) {
	h := s.h
	h.calls, h.update = false, false
	switch {
	case h.lost:
	case h.hold.Phase().Held():
		h.beats = s.c.Beats(Timer{Beats, s.b.n}, s.b.kind, s.now, false, false)
	default: // it hears of that first
		s.lose(do.Err)
	}
	if h.begun {
		s.report(Report{News: Declined, Result: do.Result, Open: do.Open, Err: do.Err})
	}
}

// ends ends the block with its lock.
func (s releasing) ends(do machine.HoldDo) {
	b, h := s.b, s.h
	if t := &b.callers[h.index]; t.state == holds {
		t.state = left
	}
	if b.leaving { // it was granted while all gave up
		s.waiting(b).left()
	}
	line{s.step}.giveBack(b)
	b.gone = true
	switch do.After {
	case machine.AfterNothing:
	case machine.AfterPassed:
		if !s.passesByName() {
			line{s.step}.ended()
		}
	default:
		line{s.step}.ended()
	}
	if do.Reset {
		s.send(byReset, 0, queue.Reset(h.last(), s.forget()), "")
	}
	if !h.lost && len(s.gathered) > 0 && !(line{s.step}).holds() && s.cfg.Linger > 0 {
		s.until = s.c.After(s.cfg.Linger)
	}
}

// passesByName wakes the block that the release has named by its row, if it is of this client.
func (s releasing) passesByName() bool {
	next := s.h.next
	for _, to := range s.blocks {
		if next != nil && to.held == nil && !to.offered && to.wait.Ticket == next.Ticket && s.waiting(to).mayPass() {
			s.waiting(to).passed(machine.ReplyApplied, s.rec)
			return true
		}
	}
	return false
}

func (s releasing) forget() (at time.Time) {
	if _, latest, known := s.c.At(s.now); known && s.queue.Forget > 0 {
		at = latest.Add(s.queue.Forget)
	}
	return at
}

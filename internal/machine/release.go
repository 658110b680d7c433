package machine

import (
	"time"

	"github.com/queuelock/queuelock/queue"
)

// call is one call that releases the lock, or what is left of a lost one. The mark of the release has its number.
type call struct {
	kind      callKind
	asked     HoldAction // what it waits for
	removing  bool       // the entry
	ending    queue.Ending
	first     queue.Form // FormFast if the queue is believed to be empty
	form      queue.Form // of the next request
	asks      bool       // the requests have a condition of the caller's
	unsettled bool       // a transaction of the holder may not be visible yet
	bounds    bool       // times of earlier ones that are far ahead are replaced by that of this turn's end
	times     []time.Time
	crowded   int  // refusals after which times, those of the record, were read again
	open      bool // a request had no answer: it may have been applied, or may yet be
	idle      bool // it was applied, and RESET would be applied
	delivered bool // the lock was given to its caller, or to that of the process before
	offered   bool // it has looked for a waiter to pass the lock to
	limit     time.Time
	result    *queue.Result // to leave in the record; nil: none
}

// callKind is the kind of a call.
type callKind int

const (
	releases callKind = iota // Release
	clears                   // Release of a lock that was lost
	updates                  // UpdateAndRelease
)

const (
	// lateFor is how late a request may arrive that DynamoDB does not refuse for the age of its signature. A release that
	// is so late finds a transaction open that is as late.
	lateFor = 15 * time.Minute
	// maxCrowded is how often a call is sent with a condition on the set of times, which other holders change. The next
	// request has none, so a refusal has another reason.
	maxCrowded = 4
)

// releaseStep is one step of a call.
type releaseStep struct {
	*Hold
	c   *call
	now HoldTimes
}

// take takes a call, or what has become of what it was asked for.
func (s releaseStep) take(e HoldEvent) HoldDo {
	c := s.c
	switch e.Kind {
	case HoldRelease:
		s.move(PhaseReleasing)
		*c = call{result: e.Result}
	case HoldUpdate:
		s.move(PhaseUpdating)
		*c = call{kind: updates, asks: e.Asks}
	default:
		return s.next(e)
	}
	if s.phase.Final() || c.kind == updates && s.phase != PhaseUpdating {
		return s.end(s.phase, HoldLost, nil)
	}
	return HoldDo{Do: HoldSettle}
}

// next goes on after what the call was asked for.
func (s releaseStep) next(e HoldEvent) HoldDo {
	c := s.c
	switch c.asked {
	case HoldSettle:
		return s.settled(e)
	case HoldShow:
		return s.shown(e.Err == nil)
	case HoldRead:
		return s.read(e)
	case HoldFollow:
		if e.Followed {
			return s.end(PhaseReleased, HoldMade, nil)
		}
		return s.begin()
	case HoldOffer:
		if e.Next != nil {
			c.form, c.ending.Next = queue.FormPass, *e.Next
		}
		return s.request()
	case HoldPause, HoldWait:
		switch {
		case e.Err != nil:
			return s.end(PhaseHeld, HoldFailed, e.Err)
		case c.removing:
			return s.remove()
		}
		return s.send()
	}
	if c.removing {
		return s.removed(e)
	}
	return s.answered(e)
}

// settled begins a call after the transactions of the lock.
func (s releaseStep) settled(e HoldEvent) HoldDo {
	c, g := s.c, s.grant
	// The entry stays after a loss, for its lock delay. A lock that was never delivered has no request under way, unless
	// it was resumed.
	c.delivered = e.Delivered || g.Resumed
	keepsClosed := g.Delay > 0 && (g.Resumed || e.Delivered)
	switch {
	// a transaction, or the end of the lease, has shown it
	case s.phase.Final(), c.kind == updates && s.phase != PhaseUpdating:
		return s.end(s.phase, HoldLost, nil)
	case c.kind == updates:
		return s.begin()
	case s.phase.Lost():
		c.kind = clears // no waiter should wait for its lease; an eviction refuses the call
	case keepsClosed && !e.Delivered:
		// A Resume gave up. Requests of the earlier holder may be under way: the entry is left to its lease.
		return s.end(PhaseReleased, HoldMade, nil)
	case g.FailClosed:
		keepsClosed = false
	case s.now.Local.Before(e.Deadline):
		c.limit, keepsClosed = e.Deadline, false
	default: // an earlier Release failed
		c.limit = s.now.Local.Add(g.Patience)
	}
	switch {
	case keepsClosed:
		return HoldDo{Do: HoldRead, Limit: c.limit}
	case s.grant.Turns > 1 && s.calls == 0 && s.sharing == isAlone && c.kind == releases && s.now.Local.Before(e.Deadline):
		return HoldDo{Do: HoldFollow}
	}
	return s.begin()
}

// begin numbers a call, and sends its first request.
func (s releaseStep) begin() HoldDo {
	c, g := s.c, s.grant
	s.calls++
	c.first, c.ending = queue.FormHandOff, queue.Ending{
		ID: g.ID, Ticket: g.Ticket, Turns: g.Turns, Call: s.calls,
		HoldTime: AddTurn(s.seen.holdTime, s.now.Local.Sub(g.Sent)), Lost: c.kind == clears,
		Replaces: s.sharing == isAlone,
	}
	// Behind a lock that was granted by CLAIM others probably wait: the fast form would mostly be refused, and the lock
	// idle for a round trip. RESET follows if none wait.
	if c.kind != clears && !g.Claimed && s.fast {
		c.first = queue.FormFast
	}
	c.form, c.unsettled = c.first, s.left == TransactionUnsettled || s.block.open
	if c.kind == releases {
		c.ending.Result = c.result
	}
	switch {
	case s.left == TransactionRefused:
		c.ending.Unmade = s.made
	case c.kind == updates: // it must not arrive after the next transaction
		c.ending.Unmade = nextTransaction(s.made)
	}
	s.tidyMarks()
	return s.send()
}

// tidyMarks lists times of the record for removal: those that are a minute old, and all once this turn has lasted a
// minute. An exclusive holder also replaces those that are in the future.
func (s releaseStep) tidyMarks() {
	c, now := s.c, s.now
	if now.Latest.IsZero() {
		return
	}
	for _, at := range s.unsettled {
		switch {
		case now.Earliest.Sub(at) >= unsettledFor, now.Earliest.Sub(now.Began) >= unsettledFor:
			c.ending.Settled = append(c.ending.Settled, at)
		case at.After(now.Latest):
			c.bounds = c.ending.Replaces
		}
	}
}

// send sends the next request. The first request of each Release of an exclusive lock looks for a waiter to pass it to.
// Its further requests leave the lock to all waiters, as does one with a result, which is what they wait for.
func (s releaseStep) send() HoldDo {
	c, latest := s.c, s.now.Latest
	if latest.IsZero() { // the host's clock says nothing about it
		latest = Someday(s.grant.ID)
	}
	switch {
	case c.unsettled:
		c.ending.Bounded = !c.ending.Replaces && c.crowded < maxCrowded
		c.ending.Add(latest.Add(lateFor), c.times)
	case c.bounds:
		c.ending.Unsettled = latest
	}
	s.close()
	if c.kind == releases && c.result == nil && !c.offered && s.sharing == isAlone && c.form != queue.FormClose {
		c.offered = true
		return HoldDo{Do: HoldOffer, Alone: s.fast}
	}
	return s.request()
}

// request sends RELEASE in its present form.
func (s releaseStep) request() HoldDo {
	c, e, forget := s.c, s.c.ending, time.Time{}
	if s.grant.Forget > 0 && !s.now.Latest.IsZero() {
		forget = s.now.Latest.Add(s.grant.Forget)
	}
	if s.grant.Home {
		e.HoldTime = queue.HoldTime{}
	}
	waited := c.form == queue.FormHandOff || c.form == queue.FormPass && !e.Next.New ||
		c.form == queue.FormClose && e.Result != nil
	return HoldDo{
		Do: HoldSend, Write: e.Release(c.form, forget), Limit: c.limit,
		Blind: c.form == queue.FormFast && c.kind != updates, Ring: c.kind != clears && !c.asks && waited,
	}
}

// answered takes the answer to RELEASE.
func (s releaseStep) answered(e HoldEvent) HoldDo {
	c := s.c
	switch {
	case e.Reply == ReplyApplied:
		c.idle = c.first == queue.FormHandOff && e.Record.Resettable(s.grant.Last())
		return s.judged(released, e.Record)
	case e.Reply.refused():
		return s.judged(s.judge(e.Record), e.Record)
	case c.form == queue.FormPass && e.Reply != ReplyUnknown, // what it writes for the waiter may be the reason
		c.form == queue.FormFast && e.Reply == ReplyContradicted: // the record does not show the reason
		return s.judged(handOff, e.Record)
	case c.kind == clears && s.unseen(e.Err):
		return s.remove()
	case c.kind == clears && s.grant.FailClosed:
		return s.end(PhaseHeld, HoldFailed, e.Err)
	case c.kind == clears:
		return s.end(PhaseCleared, HoldLost, nil)
	case c.kind == releases:
		c.form = c.first // other holders that share may have left since it was refused
	}
	c.open = c.open || e.Reply == ReplyUnknown
	return HoldDo{Do: HoldPause, Limit: c.limit, Err: e.Err}
}

// judged goes on after an answer to RELEASE by what it means.
func (s releaseStep) judged(v verdict, rec queue.Record) HoldDo {
	c := s.c
	entry, _ := rec.Mine(s.grant.ID)
	switch v {
	case crowded:
		c.crowded, c.times = c.crowded+1, rec.Marks.Unsettled
		return s.send()
	case resend:
		return HoldDo{Do: HoldShow, Limit: c.limit}
	case handOff:
		c.form = queue.FormHandOff
		return s.send()
	case unreadable:
		return s.end(PhaseHeld, HoldFailed, entry.Problem)
	case orphaned:
		if s.hidden = nil; entry.Unreadable() {
			s.hidden = entry.Problem
		}
		return s.remove()
	case released:
		if c.kind != clears {
			do := s.end(PhaseReleased, HoldMade, nil)
			do.After, do.Reset = c.after(), c.idle
			return do
		}
		do := s.end(PhaseCleared, HoldLost, nil)
		do.After = AfterWake
		return do
	}
	c.open = c.open || v == unknown
	to := ends[v][c.kind]
	do := s.end(to.phase, to.result, nil)
	if to.phase == PhaseLost {
		do.Err = errRefused
	}
	return do
}

// after returns what others learn of a release that was applied.
func (c *call) after() HoldAfter {
	if c.form == queue.FormPass {
		return AfterPassed
	}
	return AfterWake
}

// shown sends the call again without asking for the transaction that was made after all.
func (s releaseStep) shown(visible bool) HoldDo {
	c := s.c
	c.unsettled = c.unsettled || !visible
	c.ending.Unmade = 0
	if c.kind == updates {
		c.ending.Unmade = nextTransaction(s.made)
	}
	if c.form == queue.FormPass {
		c.form = queue.FormHandOff // the offer was answered
	}
	return s.send()
}

// end ends the call. The phase becomes p if it may: PhaseHeld ends an UpdateAndRelease, and leaves a Release to be
// called again.
func (s releaseStep) end(p Phase, r HoldResult, err error) HoldDo {
	s.move(p)
	do := HoldDo{Do: HoldDone, Result: r, Err: err, Open: s.c.open}
	if p == PhaseHeld && s.c.removing {
		do.Hidden = s.hidden
	}
	return do
}

// closed returns what keeps the queue closed after the release; nil: nothing does. A lock that was never returned to
// its caller was no turn.
func (s releaseStep) closed() *queue.Closed {
	g := s.grant
	if g.AtLeast == 0 || !s.c.delivered {
		return nil
	}
	c := queue.Closed{Since: s.seen.since, Until: g.NotBefore, Slot: g.Slot}
	rest := g.AtLeast - s.now.Local.Sub(g.Sent)
	switch {
	case s.now.Latest.IsZero():
	case c.Until.IsZero(): // the time was not known before
		c.Until = s.now.Latest.Add(rest)
	default:
		rest = c.Until.Sub(s.now.Earliest)
	}
	if rest <= 0 {
		return nil
	}
	c.Rest = queue.ClosedFor(rest)
	return &c
}

// close takes the form that the release has now: FormClose for as long as the queue is to stay closed.
func (s releaseStep) close() {
	c := s.c
	switch c.ending.Closed = s.closed(); {
	case c.ending.Closed != nil:
		c.form, c.first = queue.FormClose, queue.FormClose
	case c.form == queue.FormClose:
		c.form, c.first = queue.FormHandOff, queue.FormHandOff
	}
}

package queue

import (
	"errors"
	"time"

	"github.com/queuelock/queuelock/internal/clause"
)

// call is one call that releases the lock, or what is left of a lost one. The mark of the release has its number.
type call struct {
	kind      callKind
	stage     stage
	ending    Ending
	first     Form // FormFast if the queue is believed to be empty
	form      Form // of the next request
	asks      bool // the requests have a condition of the caller's
	unsettled bool // a transaction of the holder may not be visible yet
	bounds    bool // times of earlier ones that are far ahead are replaced by that of this turn's end
	times     []time.Time
	crowded   int  // refusals after which times, those of the record, were read again
	open      bool // a request had no answer: it may have been applied, or may yet be
	idle      bool // it was applied, and RESET would be applied
	offered   bool // it has looked for a waiter to pass the lock to
	named     bool // that waiter was named by its row
	hinted    bool // other clients got a hint with the last request
	limit     time.Time
	result    HoldResult // after a removal
	why       error      // of that result
	firmly    bool       // the removal is repeated: no lease ends the entry
}

// callKind is the kind of a call.
type callKind int

const (
	releases callKind = iota // Release
	clears                   // Release of a lock that was lost
	updates                  // UpdateAndRelease
)

// stage is what a call waits for.
type stage int

const (
	sending  stage = iota // RELEASE
	reading               // the record
	removing              // CLEAN UP, or the end of a lock delay before it
)

const (
	// lateFor is how late a request may arrive that DynamoDB does not refuse for the age of its signature. A release that is
	// so late finds a transaction open that is as late.
	lateFor = 15 * time.Minute
	// maxCrowded is how often a call is sent with a condition on the set of times, which other holders change. The next
	// request has none, so a refusal has another reason.
	maxCrowded = 4
)

// ending takes what happens to the call that releases the lock.
func (h *Hold) ending(now HoldTimes, e HoldEvent) HoldDo {
	c := &h.call
	switch e.Kind {
	case HoldRelease:
		h.move(PhaseReleasing)
		if *c = (call{}); h.phase.Final() {
			return HoldDo{Do: HoldDone}
		}
		return HoldDo{Do: HoldSettle}
	case HoldUpdate:
		h.move(PhaseUpdating)
		if *c = (call{kind: updates, asks: e.Asks}); h.phase != PhaseUpdating {
			return HoldDo{Do: HoldDone, Result: HoldLost}
		}
		return HoldDo{Do: HoldSettle}
	case HoldReady:
		if e.Err != nil {
			return h.failed(HoldOutlasted, e.Err)
		}
		return h.ready(now, e)
	case HoldShown:
		return h.shown(now, e.Err == nil)
	case HoldOffered:
		if e.Next != nil {
			c.form, c.ending.Next, c.named = FormPass, *e.Next, e.Named
		}
		return h.request(now)
	case HoldWaited:
		if c.stage == removing {
			return h.remove(now)
		}
		return h.send(now)
	case HoldGaveUp:
		if c.stage == removing {
			return h.unremoved(e.Err)
		}
		return h.failed(HoldFailed, e.Err)
	}
	switch c.stage {
	case reading:
		return h.read(now, e)
	case removing:
		return h.removed(e)
	}
	return h.answered(now, e)
}

// ready begins a call after the transactions of the lock.
func (h *Hold) ready(now HoldTimes, e HoldEvent) HoldDo {
	c, g := &h.call, &h.grant
	// The entry stays after a loss, for its lock delay. A lock that was never delivered has no request under way, unless it
	// was resumed.
	keepsClosed := g.Delay > 0 && (g.Resumed || e.Delivered)
	switch {
	case c.kind == updates && h.phase != PhaseUpdating:
		return h.end(PhaseLost, HoldLost, nil)
	case c.kind == updates:
		return h.begin(now)
	case h.phase == PhaseReleased: // a transaction has shown it
		return h.end(PhaseReleased, HoldMade, nil)
	case h.phase.Lost():
		c.kind = clears // no waiter should wait for its lease; an eviction refuses the call
	case keepsClosed && !e.Delivered:
		// A Resume gave up. Requests of the earlier holder may be under way.
		return h.end(PhaseReleased, HoldMade, nil)
	case g.FailClosed:
		keepsClosed = false
	case now.Local.Before(e.Deadline):
		c.limit, keepsClosed = e.Deadline, false
	default: // an earlier Release failed
		c.limit = now.Local.Add(g.Patience)
	}
	if keepsClosed {
		c.stage = reading
		return HoldDo{Do: HoldRead, Limit: c.limit}
	}
	return h.begin(now)
}

// begin numbers a call, and sends its first request.
func (h *Hold) begin(now HoldTimes) HoldDo {
	c, g := &h.call, &h.grant
	h.calls++
	c.first, c.ending = FormHandOff, Ending{
		ID: g.ID, Ticket: g.Ticket, Call: h.calls, HoldTime: h.seen.HoldTime.Add(now.Local.Sub(g.Sent)), Lost: c.kind == clears,
		Replaces: h.Alone(),
	}
	// Behind a lock that was granted by CLAIM others probably wait: the fast form would mostly be refused, and the lock idle
	// for a round trip. RESET follows if none wait.
	if c.kind != clears && !g.Claimed && h.seen.Fast(g.ID, g.Ticket) {
		c.first = FormFast
	}
	c.form, c.unsettled = c.first, h.last.state == TransactionUnsettled
	switch {
	case h.last.state == TransactionRefused:
		c.ending.Unmade = h.last.number
	case c.kind == updates: // it must not arrive after the next transaction
		c.ending.Unmade = NextTransaction(h.last.number)
	}
	h.tidyMarks(now)
	return h.send(now)
}

// tidyMarks lets the call remove times of the record that no longer matter. An exclusive holder replaces times that are far
// ahead. A holder that shares the lock removes those that were there for a minute of its own turn.
func (h *Hold) tidyMarks(now HoldTimes) {
	c := &h.call
	if now.Latest.IsZero() {
		return
	}
	for _, at := range h.grant.Record.Marks.Unsettled {
		switch {
		case now.Earliest.Sub(at) >= unsettledFor, now.Earliest.Sub(now.Began) >= unsettledFor:
			c.ending.Settled = append(c.ending.Settled, at)
		case at.After(now.Latest):
			c.bounds = c.ending.Replaces
		}
	}
}

// send sends the next request. The first Release of an exclusive lock looks for a waiter to pass it to. Its further requests
// leave the lock to all waiters.
func (h *Hold) send(now HoldTimes) HoldDo {
	c, latest := &h.call, now.Latest
	if latest.IsZero() { // the host's clock says nothing about it
		latest = Someday(h.grant.ID)
	}
	switch {
	case c.unsettled:
		c.ending.Bounded = !c.ending.Replaces && c.crowded < maxCrowded
		c.ending.Add(latest.Add(lateFor), c.times)
	case c.bounds:
		c.ending.Unsettled = latest
	}
	if c.kind == releases && !c.offered && h.Alone() {
		c.offered = true
		return HoldDo{Do: HoldOffer, HoldTime: c.ending.HoldTime}
	}
	return h.request(now)
}

// request sends RELEASE in its present form.
func (h *Hold) request(now HoldTimes) HoldDo {
	c, e, forget := &h.call, h.call.ending, time.Time{}
	if h.grant.Forget > 0 && !now.Latest.IsZero() {
		forget = now.Latest.Add(h.grant.Forget)
	}
	if h.grant.Home {
		e.HoldTime = HoldTime{}
	}
	c.hinted = c.kind != clears && !c.asks && c.form != FormFast
	return HoldDo{
		Do: HoldSend, Write: e.Release(c.form, forget), Limit: c.limit,
		Blind: c.form == FormFast && c.kind != updates, Hint: c.hinted,
	}
}

// again repeats a request after a pause.
func (h *Hold) again(err error) HoldDo { return HoldDo{Do: HoldPause, Limit: h.call.limit, Err: err} }

// answered takes the answer to RELEASE.
func (h *Hold) answered(now HoldTimes, e HoldEvent) HoldDo {
	c := &h.call
	switch e.Reply {
	case ReplyApplied:
		c.idle = c.first == FormHandOff && e.Record.Resettable(h.grant.Ticket)
		return h.judged(now, released, e.Record)
	case ReplyMade, ReplyRefused, ReplyLost:
		return h.refused(now, e.Record)
	}
	switch {
	case c.form == FormPass && e.Reply != ReplyUnknown, // what it writes for the waiter may be the reason
		c.form == FormFast && e.Reply == ReplyContradicted: // the record does not show the reason
		return h.judged(now, handOff, e.Record)
	case c.kind == clears && h.unseen(e.Err):
		c.firmly = true
		return h.remove(now)
	case c.kind == clears && h.grant.FailClosed:
		return h.failed(HoldFailed, e.Err)
	case c.kind == clears:
		return h.end(PhaseCleared, HoldMade, nil)
	case c.kind == releases:
		c.form = c.first // other holders that share may have left since it was refused
	}
	c.open = c.open || e.Reply == ReplyUnknown
	return h.again(e.Err)
}

// unseen reports whether a request that failed with err has not shown an entry which could not be read before.
func (h *Hold) unseen(err error) bool {
	_, record := errors.AsType[*clause.MalformedError](err)
	return err != nil && !record && h.hidden != nil
}

// refused takes a record that refused RELEASE. If the ticket of the entry cannot be read, no RELEASE will be applied, and no
// other client removes it.
func (h *Hold) refused(now HoldTimes, rec Record) HoldDo {
	c, id, t := &h.call, h.grant.ID, h.grant.Ticket
	problem := rec.Hides(id, t)
	switch {
	case problem == nil || c.kind == clears || rec.Holds(id, t):
		return h.judged(now, h.judge(rec), rec)
	case c.form == FormPass:
		return h.judged(now, handOff, rec)
	case c.kind == updates:
		return h.failed(HoldFailed, problem)
	}
	return h.unreadable(now, problem)
}

// unreadable removes an entry that cannot be read. The lock has not ended until that is answered.
func (h *Hold) unreadable(now HoldTimes, problem error) HoldDo {
	h.hidden, h.call.firmly = problem, true
	if h.call.kind == releases {
		h.call.result, h.call.why = HoldUnreadable, problem
	}
	return h.remove(now)
}

// judged goes on after an answer to RELEASE by what it means.
func (h *Hold) judged(now HoldTimes, v verdict, rec Record) HoldDo {
	c := &h.call
	entry, _ := rec.Mine(h.grant.ID)
	switch v {
	case crowded:
		c.crowded, c.times = c.crowded+1, rec.Marks.Unsettled
		return h.send(now)
	case resend:
		return HoldDo{Do: HoldShow}
	case handOff:
		c.form = FormHandOff
		return h.send(now)
	case declined:
		return h.failed(HoldDeclined, nil)
	case earlier:
		return h.end(PhaseReleased, HoldEarlier, nil)
	case released:
		if c.kind == clears {
			do := h.end(PhaseCleared, HoldMade, nil)
			do.After = AfterHint
			return do
		}
		do := h.end(PhaseReleased, HoldMade, nil)
		do.After, do.Reset = c.after(), c.idle
		return do
	case orphaned:
		if c.kind == releases {
			c.result = HoldLost
		} else if entry.Unreadable() {
			return h.unreadable(now, entry.Problem)
		}
		return h.remove(now)
	case unknown:
		if c.kind == updates {
			c.open = true
			return h.end(PhaseLost, HoldOverwritten, nil)
		}
		return h.end(PhaseUnknown, HoldOverwritten, nil)
	}
	switch c.kind {
	case updates:
		return h.end(PhaseLost, HoldLost, nil)
	case clears:
		return h.end(PhaseCleared, HoldMade, nil)
	}
	return h.end(PhaseCleared, HoldLost, nil)
}

// after returns what others learn of a release that was applied.
func (c *call) after() HoldAfter {
	switch {
	case c.form == FormPass && c.named:
		return AfterNamed
	case c.form == FormPass:
		return AfterPassed
	case !c.hinted && c.form != FormFast && !c.idle:
		return AfterHint
	}
	return AfterWake
}

// shown sends the call again without asking for the transaction that was made after all.
func (h *Hold) shown(now HoldTimes, visible bool) HoldDo {
	c := &h.call
	c.unsettled = c.unsettled || !visible
	c.ending.Unmade = 0
	if c.kind == updates {
		c.ending.Unmade = NextTransaction(h.last.number)
	}
	if c.form == FormPass {
		c.form = FormHandOff // the offer was answered
	}
	return h.send(now)
}

// read takes the record after the loss of a lock with a lock delay, which counts from the end of the lease: the entry keeps
// the queue closed. If it cannot be read, it is removed: after the delay, or at once if the caller has released the lock in
// time, but no request got through.
func (h *Hold) read(now HoldTimes, e HoldEvent) HoldDo {
	c, g := &h.call, &h.grant
	entry, _ := e.Record.Mine(g.ID)
	hidden := entry.Unreadable()
	switch {
	case c.kind == clears && !hidden && !h.unseen(e.Err):
		return h.end(PhaseCleared, HoldMade, nil)
	case c.kind == clears:
		if hidden {
			h.hidden = entry.Problem
		}
		c.stage, c.firmly = removing, true
		if at := e.Deadline.Add(g.Margin + g.Delay); at.After(now.Local) {
			return HoldDo{Do: HoldWait, At: at}
		}
		return h.remove(now)
	case e.Err == nil && h.outcome(e.Record).Released():
		return h.end(PhaseReleased, HoldMade, nil)
	case hidden:
		return h.unreadable(now, entry.Problem)
	case e.Err != nil && h.hidden != nil:
		return h.unremoved(e.Err)
	}
	return h.end(PhaseCleared, HoldTooLate, nil)
}

// remove removes the entry: one that a late TAKE has put into the record after the lock had left, or one that cannot be read.
func (h *Hold) remove(now HoldTimes) HoldDo {
	c := &h.call
	if c.kind == clears && c.firmly {
		c.limit = now.Local.Add(h.grant.Patience)
	}
	c.stage = removing
	return HoldDo{Do: HoldSend, Write: Remove(h.grant.ID), Limit: c.limit}
}

// removed takes the answer to the removal of the entry.
func (h *Hold) removed(e HoldEvent) HoldDo {
	c, refused := &h.call, e.Reply == ReplyRefused || e.Reply == ReplyLost || e.Reply == ReplyMade
	switch {
	case e.Reply != ReplyApplied && !refused && c.firmly:
		return h.again(e.Err)
	case e.Reply != ReplyApplied && !refused && h.grant.FailClosed:
		return h.failed(HoldFailed, e.Err)
	}
	do := h.end(PhaseCleared, c.result, c.why)
	if e.Reply == ReplyApplied || refused && len(e.Record.Holders) == 0 { // perhaps by a copy of itself
		do.After = AfterHint
	}
	return do
}

// end ends the call, and the lock if that is possible.
func (h *Hold) end(p Phase, r HoldResult, why error) HoldDo {
	h.move(p)
	return HoldDo{Do: HoldDone, Result: r, Err: why, Open: h.call.open}
}

// failed ends a call, but not the lock.
func (h *Hold) failed(r HoldResult, err error) HoldDo {
	h.move(PhaseHeld)
	return HoldDo{Do: HoldDone, Result: r, Err: err, Open: h.call.open}
}

// unremoved ends a call that has not removed an entry that cannot be read.
func (h *Hold) unremoved(err error) HoldDo {
	do := h.failed(HoldFailed, err)
	do.Hidden = h.hidden
	return do
}

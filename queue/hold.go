package queue

import (
	"errors"
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/ticket"
)

// Hold is the machine of a held lock, from its grant to its end. Step takes what has happened, and returns what to do next.
// The record is authoritative: a release that it shows has released the lock, even if the lease had run out on the local
// clock before the answer came.
//
// One call at a time releases the lock. Heartbeats, changes of the entry and transactions overlap with it and with each other.
type Hold struct {
	grant     Grant
	phase     Phase
	seen      Record      // the last one with the lock, without its item
	unsettled []time.Time // of the marks of the record with the grant
	sharing   sharing
	calls     int64 // number of the last call that releases the lock
	dataSet   int64 // number of the last SetData
	made      int64 // number of the last transaction
	left      TransactionState
	revoked   *Revocation // the request to give way that was seen last; nil: none
	hidden    error       // the problem of an entry that cannot be read, so that nothing but Release removes it; nil: none is known
	block     inBlock
	call      *call // the last one that releases the lock; a step replaces it. Nil: there was none
}

// Grant is what a Hold begins with. Sent is on the local clock, as all times here that are not said to be on DynamoDB's.
type Grant struct {
	ID     string
	Ticket ticket.Number // of the entry
	Turns  int           // how many tickets its block has, from Ticket on; zero: one
	Mode   Mode
	Sent   time.Time // the request that was granted
	// Claimed: after a wait in the queue. Resumed: of another process. Named: to a row, with the rest of its lease.
	Claimed, Resumed, Named bool
	FailClosed              bool
	TTL, Margin, Delay      time.Duration
	AtLeast                 time.Duration // for which the queue stays closed after Sent
	NotBefore               time.Time     // the same on DynamoDB's clock; zero if unknown
	Forget                  time.Duration // after which an idle record may be deleted; zero: never
	Home                    bool          // the record is kept on a user's item
	Patience                time.Duration // with requests that end a lock whose lease has ended
}

// Last returns the last ticket of the grant.
func (g Grant) Last() ticket.Number {
	return Holder{Ticket: g.Ticket, Turns: g.Turns}.Last()
}

// TransactionState is what is known of the last transaction of a holder, from most to least.
type TransactionState int

// The states.
const (
	TransactionSettled   TransactionState = iota // made and visible, or never made
	TransactionRefused                           // refused; a late copy may still be made
	TransactionUnsettled                         // it may have been made, may yet be, or is not visible yet
)

// sharing is what is known of other holders of the lock.
type sharing int

const (
	isAlone  sharing = iota // there can be none
	notAlone                // there may be: with permits, or a downgrade of unknown outcome
	shares                  // the record is in shared mode
)

// NewHold returns a Hold. The record shows the grant.
func NewHold(g Grant, rec Record) *Hold {
	h := &Hold{grant: g, seen: rec, unsettled: rec.Marks.Unsettled, block: inBlock{turn: g.Ticket}}
	switch {
	case g.Mode.Shared:
		h.sharing = shares
	case g.Mode != Mode{}:
		h.sharing = notAlone
	}
	h.seen.Item = nil
	h.dataSet = h.Entry().DataSet
	h.asked(rec)
	return h
}

// Phase returns the phase.
func (h *Hold) Phase() Phase { return h.phase }

// Shared reports whether the lock is known to be in shared mode.
func (h *Hold) Shared() bool { return h.sharing == shares }

// Hidden reports whether nothing but Release ends the lock, because its entry cannot be read.
func (h *Hold) Hidden() bool { return h.hidden != nil }

// Entry returns the holder's entry as it was last seen.
func (h *Hold) Entry() Holder {
	me, _ := h.seen.Mine(h.grant.ID)
	return me
}

// Heartbeat is the next heartbeat, to an end of the lease. It adds since, the time of the grant, until an answer has shown
// that, and it accepts a grant by name with the lease of a holder. Both times are on DynamoDB's clock, and zero if not known.
func (h *Hold) Heartbeat(until, since time.Time) clause.Write {
	r := Renewal{Until: until}
	if h.Entry().Since.IsZero() {
		r.Since = since
	}
	if h.grant.Named {
		r.TTL = h.grant.TTL
	}
	if h.grant.Turns > 1 {
		r.Turn = h.block.turn
	}
	return r.Heartbeat(h.grant.ID, h.grant.Ticket)
}

// SetData is the next change of the holder's data.
func (h *Hold) SetData(data []byte) clause.Write {
	h.dataSet++
	return SetData(h.id(), h.grant.Ticket, h.dataSet, data) // an ADVANCE after it has a higher number
}

// Downgrade is the write that lets others share the lock. The last transaction must have been settled.
func (h *Hold) Downgrade() clause.Write {
	h.sharing = max(h.sharing, notAlone)
	return Downgrade(h.id(), h.grant.Ticket, NextTransaction(h.made))
}

// Fence is the condition of a write that only the holder may make.
func (h *Hold) Fence() clause.Write {
	return h.ofTurn(Fence(h.id(), h.grant.Ticket, h.sharing == isAlone))
}

// Transact is the condition of the holder's next transaction, and counts it.
func (h *Hold) Transact() clause.Write {
	h.made, h.left = NextTransaction(h.made), TransactionSettled
	return h.ofTurn(NumberedFence(h.id(), h.grant.Ticket, h.sharing == isAlone, h.made))
}

// Settle decides the last transaction, if its outcome is not known.
func (h *Hold) Settle() clause.Write { return Settle(h.grant.ID, h.grant.Ticket, h.made) }

// Made returns what a record says of the last transaction.
func (h *Hold) Made(rec Record) Made { return rec.Made(h.grant.ID, h.grant.Ticket, h.made) }

// Left returns the state of the last transaction.
func (h *Hold) Left() TransactionState { return h.left }

// Leave records the state of the last transaction.
func (h *Hold) Leave(state TransactionState) { h.left = state }

// Step takes what has happened and returns what to do next. It has no other effect.
func (h *Hold) Step(now HoldTimes, e HoldEvent) HoldDo {
	h.asked(e.Record)
	switch e.Kind {
	case HoldBeaten:
		return h.beaten(e)
	case HoldChanged:
		return h.changed(e)
	case HoldAdvanced:
		return h.advanced(e)
	case HoldEnded:
		if _, ok := errors.AsType[*clause.MalformedError](e.Err); ok {
			h.hidden = e.Err
		}
		h.move(PhaseLost)
		return HoldDo{Do: HoldDone, Result: HoldLost}
	}
	c := call{}
	if h.call != nil {
		c = *h.call
	}
	do := releaseStep{h, &c, now}.take(e)
	if c.asked, h.call = do.Do, nil; do.Do != HoldDone {
		h.call = &c
	}
	return do
}

// move changes the phase if that is possible.
func (h *Hold) move(to Phase) {
	if h.phase.becomes(to) {
		h.phase = to
	}
}

// saw keeps a record with the lock that a request has returned, unless another one has shown a later one.
func (h *Hold) saw(rec Record) {
	if rec.Problem != nil {
		return
	}
	if me, ok := rec.Mine(h.grant.ID); ok && me.Shared {
		h.sharing = shares
	}
	if rec.Follows(h.seen) {
		h.seen, h.seen.Item = rec, nil
	}
}

var (
	errReleasing = errors.New("the lock is not in the serving record: a write that releases it is under way")
	errOutrun    = errors.New("a later heartbeat was applied first")
	errTooEarly  = errors.New("DynamoDB's clock is ahead of the time from which the renewal was computed: this host was suspended, or a date was wrong")
	errRefused   = errors.New("a protected write was refused by the serving record")
)

// beaten takes the answer to a heartbeat. The phase of a lock that is lost changes by HoldEnded.
func (h *Hold) beaten(e HoldEvent) HoldDo {
	failed := func(err error) HoldDo { return HoldDo{Do: HoldDone, Result: HoldFailed, Err: err} }
	problem := e.Record.Hides(h.grant.ID, h.grant.Ticket)
	switch {
	case e.Reply == ReplyApplied:
		if h.saw(e.Record); e.TooEarly {
			return failed(errTooEarly)
		}
		return HoldDo{Do: HoldDone, Accepted: h.grant.Named}
	case !e.Reply.refused():
		return failed(e.Err)
	case problem != nil:
		return failed(problem)
	case e.Reply == ReplyMade:
		return failed(errOutrun)
	case h.confirms(e.Record):
		return failed(errReleasing)
	}
	return HoldDo{Do: HoldDone, Result: HoldLost}
}

// changed takes the answer to a write that only the holder may make.
func (h *Hold) changed(e HoldEvent) HoldDo {
	switch {
	case e.Reply == ReplyApplied, e.Reply == ReplyMade:
		h.saw(e.Record)
		return HoldDo{Do: HoldDone}
	case !e.Reply.refused():
		return HoldDo{Do: HoldDone, Result: HoldFailed, Err: e.Err}
	case !h.confirms(e.Record):
		h.move(PhaseLost)
	}
	return HoldDo{Do: HoldDone, Result: HoldLost, Err: errRefused}
}

// confirms reports whether a lock that is not in its record was or may have been released by its own call. If the record
// shows it, the lock is released.
func (h *Hold) confirms(rec Record) bool {
	switch {
	case h.calls == 0: // none was ever sent
		return false
	case h.phase == PhaseUpdating, h.phase == PhaseReleased:
		return true
	case h.outcome(rec).Released():
		h.move(PhaseReleased)
		return true
	}
	return false
}

// outcome returns what became of the lock and its last release call, by a record.
func (h *Hold) outcome(rec Record) Outcome {
	return rec.Outcome(h.grant.ID, h.grant.Ticket, h.calls, h.seen.Marks)
}

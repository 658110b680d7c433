package queue

import (
	"errors"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/ticket"
)

// Hold is the machine of a held lock, from its grant to its end. Step takes what has happened, and returns what to do next
// for the operation that it has happened to. Operations of one Hold overlap: a heartbeat, changes of the entry,
// transactions, and one call that releases the lock.
//
// The record is authoritative. A release that it shows has released the lock, even if the lease had run out on the local
// clock before the answer came.
type Hold struct {
	grant   Grant
	phase   Phase
	seen    Record // the last one with the lock, without its item
	sharing sharing
	calls   int64 // number of the last release call
	dataSet int64 // number of the last SetData
	last    struct {
		number int64 // of the last transaction
		state  TransactionState
	}
	hidden error // the problem of the entry, which cannot be read, so that Release has to remove it; nil: none is known
	call   call  // the last one that releases the lock
}

// Grant is what a Hold begins with. Sent and Held are on the local clock, as all times in this package that are not said to
// be on DynamoDB's.
type Grant struct {
	ID     string
	Ticket ticket.Number
	Mode   Mode
	Record Record    // with the grant
	Sent   time.Time // the request that was granted
	// Claimed: after a wait in the queue. Resumed: of another process. Named: to a row, with the rest of its lease.
	Claimed, Resumed, Named bool
	FailClosed              bool
	TTL, Margin, Delay      time.Duration
	Forget                  time.Duration // after which an idle record may be deleted; zero: never
	Home                    bool          // the record is kept on a user's item
	Patience                time.Duration // with requests that end a lock whose lease has ended
}

// HoldTimes are the time at which something happened, and what is known of DynamoDB's clock then.
type HoldTimes struct {
	Local            time.Time
	Earliest, Latest time.Time // that it can be on DynamoDB's clock; zero: that is not known
	Began            time.Time // the latest time at which the Hold began, on DynamoDB's clock
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

// NewHold returns a Hold.
func NewHold(g Grant) *Hold {
	h := &Hold{grant: g, seen: g.Record}
	switch {
	case g.Mode.Shared:
		h.sharing = shares
	case g.Mode != Mode{}:
		h.sharing = notAlone
	}
	h.seen.Item = nil
	h.dataSet = h.Entry().DataSet
	return h
}

// Phase returns the phase.
func (h *Hold) Phase() Phase { return h.phase }

// Shared reports whether the lock is known to be in shared mode, and Alone whether there can be no other holder.
func (h *Hold) Shared() bool { return h.sharing == shares }
func (h *Hold) Alone() bool  { return h.sharing == isAlone }

// Entry returns the holder's entry as it was last seen.
func (h *Hold) Entry() Holder {
	me, _ := h.seen.Mine(h.grant.ID)
	return me
}

// Hidden reports whether nothing but Release ends the lock: its entry cannot be read.
func (h *Hold) Hidden() bool { return h.hidden != nil }

// Transaction returns the state of the last transaction. LeftTransaction changes it.
func (h *Hold) Transaction() TransactionState          { return h.last.state }
func (h *Hold) LeftTransaction(state TransactionState) { h.last.state = state }

// SettleTransaction is SETTLE for the last transaction, of which Made says what the record shows.
func (h *Hold) SettleTransaction() clause.Write {
	return Settle(h.grant.ID, h.grant.Ticket, h.last.number)
}
func (h *Hold) Made(rec Record) Made { return rec.Made(h.grant.ID, h.grant.Ticket, h.last.number) }

// Fence is the condition of a write that only the holder may make.
func (h *Hold) Fence() clause.Write { return Fence(h.grant.ID, h.grant.Ticket, h.Alone()) }

// unsettledFor is how long DynamoDB may take to finish a transaction whose sender is gone. DynamoDB documents no limit; a
// recovery takes seconds.
const unsettledFor = time.Minute

// Unsettled reports whether a fenced transaction of an earlier turn may become visible while the lock is held. granted is the
// earliest time of the grant on DynamoDB's clock, or zero.
func (h *Hold) Unsettled(granted time.Time) bool {
	marks := h.grant.Record.Marks
	recent := func(at time.Time) bool { return !at.IsZero() && (granted.IsZero() || granted.Sub(at) < unsettledFor) }
	evicted := !marks.Evicted.Ticket.IsZero()
	last := marks.Released.Ticket.Less(marks.Evicted.Ticket) // no turn was released after the evicted one
	return slices.ContainsFunc(marks.Unsettled, recent) || evicted && (last || marks.Evicted.At.IsZero() || recent(marks.Evicted.At))
}

// Step takes what has happened and returns what to do next. It has no other effect.
func (h *Hold) Step(now HoldTimes, e HoldEvent) HoldDo {
	id, t := h.grant.ID, h.grant.Ticket
	switch e.Kind {
	case HoldBeat:
		return h.beat(e)
	case HoldSetData:
		h.dataSet++
		return HoldDo{Op: HoldOpChange, Write: SetData(id, t, h.dataSet, e.Data)}
	case HoldDowngrade:
		h.sharing = max(h.sharing, notAlone)
		return HoldDo{Op: HoldOpChange, Write: Downgrade(id, t, NextTransaction(h.last.number))}
	case HoldTransact:
		h.last.number, h.last.state = NextTransaction(h.last.number), TransactionSettled
		return HoldDo{Write: NumberedFence(id, t, h.Alone(), h.last.number)}
	case HoldContradicts:
		return h.contradicted(e)
	case HoldEnded:
		if _, ok := errors.AsType[*clause.MalformedError](e.Err); ok {
			h.hidden = e.Err
		}
		h.move(PhaseLost)
		return HoldDo{Do: HoldDone}
	case HoldAnswered:
		switch e.Op {
		case HoldOpBeat:
			return h.beaten(e)
		case HoldOpChange:
			return h.changed(e)
		}
	}
	return h.ending(now, e)
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

// outcome returns what became of the lock and its last release call, by a record.
func (h *Hold) outcome(rec Record) Outcome {
	return rec.Outcome(h.grant.ID, h.grant.Ticket, h.calls, h.seen.Marks)
}

// beat is the heartbeat. It adds the time of the grant until an answer has shown that, and accepts a grant by name with the
// lease of a holder.
func (h *Hold) beat(e HoldEvent) HoldDo {
	r := Renewal{Until: e.Until}
	if h.Entry().Since.IsZero() {
		r.Since = e.Since
	}
	if h.grant.Named {
		r.TTL = h.grant.TTL
	}
	return HoldDo{Op: HoldOpBeat, Write: r.Heartbeat(h.grant.ID, h.grant.Ticket)}
}

// beaten takes the answer to a heartbeat. The phase of a lock that is lost changes by HoldEnded.
func (h *Hold) beaten(e HoldEvent) HoldDo {
	do := HoldDo{Do: HoldDone, Op: HoldOpBeat, Err: e.Err}
	switch e.Reply {
	case ReplyApplied:
		h.saw(e.Record)
		if do.Leave = h.grant.Named; e.Suspended {
			do.Leave, do.Result = false, HoldTooEarly
		}
		return do
	case ReplyUnknown, ReplyFailed, ReplyContradicted:
		do.Result = HoldFailed
		return do
	}
	do.Err = e.Record.Hides(h.grant.ID, h.grant.Ticket)
	switch {
	case do.Err != nil:
		do.Result = HoldFailed
	case e.Reply == ReplyMade:
		do.Result = HoldOutrun
	case h.confirms(e.Record):
		do.Result = HoldReleasing
	default:
		do.Result = HoldLost
	}
	return do
}

// changed takes the answer to a change of the entry.
func (h *Hold) changed(e HoldEvent) HoldDo {
	switch e.Reply {
	case ReplyApplied, ReplyMade:
		h.saw(e.Record)
		return HoldDo{Do: HoldDone, Op: HoldOpChange}
	case ReplyUnknown, ReplyFailed, ReplyContradicted:
		return HoldDo{Do: HoldDone, Op: HoldOpChange, Result: HoldFailed, Err: e.Err}
	}
	return h.contradicted(e)
}

// contradicted takes a record that has refused what only the holder may write.
func (h *Hold) contradicted(e HoldEvent) HoldDo {
	if h.confirms(e.Record) {
		return HoldDo{Do: HoldDone, Op: e.Op, Result: HoldReleasing}
	}
	h.move(PhaseLost)
	return HoldDo{Do: HoldDone, Op: e.Op, Result: HoldLost}
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

package machine

import (
	"errors"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Hold is the machine of a held lock, from its grant to its end. Step takes what has happened, and returns what to do
// next. The record is authoritative: a release that it shows has released the lock, even if the lease had run out on
// the local clock before the answer came.
//
// One call at a time releases the lock. Heartbeats, changes of the entry and transactions overlap with it and with each
// other.
type Hold struct {
	grant     Grant
	seen      sight       // of the last record with the lock
	unsettled []time.Time // of the marks of the record with the grant
	phase     Phase
	sharing   sharing
	left      TransactionState
	fast      bool              // the fast form of RELEASE was possible by the record that was seen
	calls     int64             // number of the last call that releases the lock
	dataSet   int64             // number of the last SetData
	made      int64             // number of the last transaction
	revoked   *queue.Revocation // the request to give way that was seen last; nil: none
	// the problem of an entry that cannot be read, so that nothing but Release removes it; nil: none is known
	hidden error
	block  inBlock
	call   *call // the last one that releases the lock; a step replaces it. Nil: there was none
}

// sight is what a holder needs of a record with the lock. The record itself needs much more memory.
type sight struct {
	queue.Stage
	beat     int64     // of the entry
	since    time.Time // the same; zero: it has none
	holdTime queue.HoldTime
	released queue.Released
	evicted  queue.Eviction
}

// keeps keeps what is needed of a record.
func (h *Hold) keeps(rec queue.Record) {
	me, _ := rec.Mine(h.grant.ID)
	h.seen = sight{
		Stage: rec.Stage(), beat: me.Lease.Beat, since: me.Since, holdTime: rec.HoldTime,
		released: rec.Marks.Released, evicted: rec.Marks.Evicted,
	}
	h.fast = rec.Fast(h.grant.ID, h.grant.Ticket, h.grant.Turns)
}

// Grant is what a Hold begins with. Sent is on the local clock, as all times here that are not said to be on
// DynamoDB's.
type Grant struct {
	ID     string
	Ticket ticket.Number // of the entry
	Turns  int           // how many tickets its block has, from Ticket on; zero: one
	Sent   time.Time     // the request that was granted
	// Claimed: after a wait in the queue. Resumed: of another process. Named: to a row, with the rest of its lease.
	Claimed, Resumed, Named bool
	FailClosed              bool
	Slot                    *int // number of the permit; nil: none
	Home                    bool // the record is kept on a user's item
	TTL, Margin, Delay      time.Duration
	AtLeast                 time.Duration // for which the queue stays closed after Sent
	NotBefore               time.Time     // the same on DynamoDB's clock; zero if unknown
	Forget                  time.Duration // after which an idle record may be deleted; zero: never
	Patience                time.Duration // with requests that end a lock whose lease has ended
}

// Last returns the last ticket of the grant.
func (g Grant) Last() ticket.Number {
	return queue.Holder{Ticket: g.Ticket, Turns: g.Turns}.Last()
}

// TransactionState is what is known of the last transaction of a holder, from most to least.
type TransactionState uint8

// The states.
const (
	TransactionSettled   TransactionState = iota // made and visible, or never made
	TransactionRefused                           // refused; a late copy may still be made
	TransactionUnsettled                         // it may have been made, may yet be, or is not visible yet
)

// sharing is what is known of other holders of the lock.
type sharing uint8

const (
	isAlone  sharing = iota // there can be none
	notAlone                // there may be: with permits, or a downgrade of unknown outcome
	shares                  // the record is in shared mode
)

// NewHold returns a Hold. The record shows the grant, in that mode.
func NewHold(g Grant, m queue.Mode, rec queue.Record) *Hold {
	h := &Hold{grant: g, unsettled: rec.Marks.Unsettled, block: inBlock{turn: g.Ticket}}
	switch {
	case m.Shared:
		h.sharing = shares
	case m != queue.Mode{}:
		h.sharing = notAlone
	}
	h.keeps(rec)
	me, _ := rec.Mine(g.ID)
	h.dataSet = me.DataSet
	h.asked(rec)
	return h
}

// Grant returns what the Hold began with.
func (h *Hold) Grant() Grant { return h.grant }

// Phase returns the phase.
func (h *Hold) Phase() Phase { return h.phase }

// Shared reports whether the lock is known to be in shared mode.
func (h *Hold) Shared() bool { return h.sharing == shares }

// Hidden reports whether nothing but Release ends the lock, because its entry cannot be read.
func (h *Hold) Hidden() bool { return h.hidden != nil }

// Heartbeat is the next heartbeat, to an end of the lease. It adds since, the time of the grant, until an answer has
// shown that, and it accepts a grant by name with the lease of a holder. Both times are on DynamoDB's clock, and zero
// if not known.
func (h *Hold) Heartbeat(until, since time.Time) clause.Write {
	r := queue.Renewal{Until: until}
	if h.seen.since.IsZero() {
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
	return queue.SetData(h.id(), h.grant.Ticket, h.dataSet, data) // an ADVANCE after it has a higher number
}

// Downgrade is the write that lets others share the lock. The last transaction must have been settled.
func (h *Hold) Downgrade() clause.Write {
	h.sharing = max(h.sharing, notAlone)
	return queue.Downgrade(h.id(), h.grant.Ticket, nextTransaction(h.made))
}

// Fence is the condition of a write that only the holder may make.
func (h *Hold) Fence() clause.Write {
	return h.ofTurn(queue.Fence(h.id(), h.grant.Ticket, h.sharing == isAlone))
}

// Transact is the condition of the holder's next transaction, and counts it.
func (h *Hold) Transact() clause.Write {
	h.made, h.left = nextTransaction(h.made), TransactionSettled
	return h.ofTurn(queue.NumberedFence(h.id(), h.grant.Ticket, h.sharing == isAlone, h.made))
}

// Settle decides the last transaction, if its outcome is not known.
func (h *Hold) Settle() clause.Write { return queue.Settle(h.grant.ID, h.grant.Ticket, h.made) }

// Made returns what a record says of the last transaction.
func (h *Hold) Made(rec queue.Record) Made { return MadeOf(rec, h.grant.ID, h.grant.Ticket, h.made) }

// Left returns the state of the last transaction.
func (h *Hold) Left() TransactionState { return h.left }

// LeaveTransaction records the state of the last transaction.
func (h *Hold) LeaveTransaction(state TransactionState) { h.left = state }

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
func (h *Hold) saw(rec queue.Record) {
	if rec.Problem != nil {
		return
	}
	if me, ok := rec.Mine(h.grant.ID); ok && me.Shared {
		h.sharing = shares
	}
	if rec.FollowsStage(h.seen.Stage, func(o queue.Holder) (int64, bool) { return h.seen.beat, o.ID == h.grant.ID }) {
		h.keeps(rec)
	}
}

var (
	errReleasing = errors.New("the lock is not in the serving record: a write that releases it is under way")
	errOutrun    = errors.New("a later heartbeat was applied first")
	errTooEarly  = errors.New("DynamoDB's clock is ahead of the time from which the renewal was computed: " +
		"this host was suspended, or a date was wrong")
	errRefused = errors.New("a protected write was refused by the serving record")
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

// confirms reports whether a lock that is not in its record was or may have been released by its own call. If the
// record shows it, the lock is released.
func (h *Hold) confirms(rec queue.Record) bool {
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
func (h *Hold) outcome(rec queue.Record) Outcome {
	return OutcomeOf(rec, h.grant.ID, h.grant.Ticket, h.calls,
		queue.Marks{Released: h.seen.released, Evicted: h.seen.evicted})
}

// inBlock is the part of a Hold that depends on its block.
type inBlock struct {
	turn  ticket.Number // the present one; that of the entry without a block
	used  bool          // a write of this turn may be under way that its end does not refuse
	stale bool          // one of an earlier turn may be: ADVANCE must come first
	open  bool          // a transaction of an earlier turn may not be visible yet
	over  bool          // a later turn has begun
}

// Turn returns the ticket of the present turn.
func (h *Hold) Turn() ticket.Number { return h.block.turn }

// Follow returns the Hold of a later turn of the block, which begins as the one before has ended in memory. If stale is
// true, Advance must be applied before the caller gets the lock.
func (h *Hold) Follow(turn ticket.Number) (next *Hold, stale bool) {
	h.block.over = true
	n := *h
	n.phase, n.call, n.left = PhaseHeld, nil, TransactionSettled
	n.block = inBlock{
		turn: turn, stale: h.block.stale || h.block.used,
		// A copy of a refused one may be made before ADVANCE, and become visible after it.
		open: h.block.open || h.left != TransactionSettled,
	}
	return &n, n.block.stale
}

// Use notes that a write of the turn may be under way as it ends, or that a program has its handle. It returns false if
// a later turn has begun.
func (h *Hold) Use() bool {
	h.block.used = true
	return !h.block.over
}

// Followed reports whether a later turn has begun.
func (h *Hold) Followed() bool { return h.block.over }

// id returns the holder's id for a write that only the present turn may make. Once a later turn has begun, no entry has
// it.
func (h *Hold) id() string {
	if !h.Use() {
		return h.grant.ID + "-over"
	}
	return h.grant.ID
}

// Open reports whether a transaction of an earlier turn of the block may not be visible yet.
func (h *Hold) Open() bool { return h.block.open }

// Advance refuses what earlier turns of the block have under way, and removes their data. It is repeated as it is.
func (h *Hold) Advance() clause.Write {
	if h.dataSet > 0 {
		h.dataSet++ // so that a copy does not remove the data of this turn
	}
	return queue.Advance(h.grant.ID, h.grant.Ticket, h.block.turn, h.dataSet)
}

// advanced takes the answer to Advance.
func (h *Hold) advanced(e HoldEvent) HoldDo {
	do := h.changed(e)
	h.block.stale = h.block.stale && do.Result != HoldMade
	return do
}

// ofTurn makes a write one of the present turn.
func (h *Hold) ofTurn(w clause.Write) clause.Write {
	if h.grant.Turns <= 1 {
		return w
	}
	return queue.OfTurn(w, h.grant.ID, h.block.turn)
}

// Revocation returns the request to give way that was seen last; nil if there was none.
func (h *Hold) Revocation() *queue.Revocation { return h.revoked }

// Look notes a record that was only read.
func (h *Hold) Look(rec queue.Record) { h.asked(rec) }

// asked notes a request to give way that a record shows. None is ever taken back, so the order of answers does not
// matter but for which of several is shown.
func (h *Hold) asked(rec queue.Record) {
	if me, ok := rec.Mine(h.grant.ID); ok && me.Ticket == h.grant.Ticket && me.Revoked != nil {
		h.revoked = me.Revoked
	}
}

package machine

import (
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Doing is what a wait does. It does one thing at a time, so this is its state.
type Doing int

// What a wait does, in the order of a life.
const (
	Idle       Doing = iota // nothing yet
	Taking                  // TAKE
	Entering                // ENTER
	Checking                // a caller with NoWait looks whether a holder's waiter has left
	Joining                 // its row is to be put
	Putting                 // it waits until its row is in the table
	Looking                 // LOOK
	Sweeping                // SWEEP
	Evicting                // EVICT
	Asking                  // REVOKE: a holder of its group is asked to give way
	Claiming                // CLAIM
	TakingOver              // RESUME
	Keeping                 // it was granted by name: its row must stay until it has accepted
	Accepting               // HEARTBEAT: it was granted by name, and saw that too late to use it before
	Removing                // CLEAN UP: own ids that are no grant
	Resetting               // RESET, if that left no holder and no ticket
	Confirming              // CONFIRM
	Resting                 // it sleeps before the next look
	Pausing                 // a request has failed: TAKE, ENTER or CONFIRM follows again, else LOOK
	Granted                 // the lock is held. Final
	Ended                   // the lock is not granted, see Why. A new ticket follows, or GiveUp
	Left                    // nothing follows but GiveUp, which repeats the removal
)

var doing = [...]string{
	"Idle", "Taking", "Entering", "Checking", "Joining", "Putting", "Looking", "Sweeping", "Evicting", "Asking", "Claiming",
	"TakingOver", "Keeping", "Accepting", "Removing", "Resetting", "Confirming", "Resting", "Pausing", "Granted", "Ended", "Left",
}

func (d Doing) String() string { return doing[d] }

// Why is why a wait has ended.
type Why int

// Why a wait has ended.
const (
	WhyError      Why = iota // Do.Err: what a record says cannot be waited for
	WhyNewTicket             // the ticket can never be granted
	WhyOvertaken             // nor can this one, because the waiter was too slow: it must be quicker with the next
	WhyBusy                  // the caller will not wait
	WhyGone                  // Do.Err: what was to be resumed is gone
	WhyFull                  // so many waiters are ahead as the Policy allows
	WhyResult                // the record has a result for a caller that waits for one
	WhySuperseded            // Do.By: a later waiter of the group has come
)

// Clock is what a wait asks about leases at the time of a step. Package heartbeat has the terms.
type Clock interface {
	// Begin returns the lease of an entry that is sent now, and DynamoDB's time.
	Begin() (lease queue.Lease, since time.Time)
	// Usable reports whether a grant with that lease, which began to count at sent, has not ended. By name, it is that of a row.
	Usable(lease queue.Lease, sent time.Time, named bool) bool
	// RowSent returns when the request was sent that first wrote this end of the lease of the waiter's row.
	RowSent(until time.Time) (sent time.Time, known bool)
	// Leases returns what is left of the leases of a snapshot.
	Leases(s queue.Snapshot) queue.Leases
	// At returns the bounds of DynamoDB's time at a local time.
	At(local time.Time) (earliest, latest time.Time, known bool)
	Now() time.Time // local and monotonic
}

// An Event is what has happened: one of the types below.
type Event interface{ event() }

type (
	// Begin is the first, with the ticket of a wider counter, or else zero.
	Begin struct{ Ticket ticket.Number }
	// Joined says that the row is being put. Fresh says that a look would show no more than the record that is known, and
	// Put that no request is sent before the row is in the table.
	Joined struct{ Fresh, Put bool }
	// Put says that the row is in the table.
	Put struct{}
	// Replied is the reply to the write, or to the look that failed.
	Replied struct {
		Reply  Reply
		Record queue.Record // that it returned, or that refused it
	}
	// Seen is what a look has shown.
	Seen struct{ Snapshot queue.Snapshot }
	// Again says that the pause is over.
	Again struct{}
	// Rested says that the rest is over, and to look next, or to guess: the turn in the way has probably ended, and
	// CLAIM decides.
	Rested struct{ Guess bool }
	// Passed is the reply to a PASS of this client to the ticket.
	Passed Replied
	// Kept says whether the row stays.
	Kept struct{ OK bool }
	// GiveUp says that the caller leaves. Once it has left: the removal is repeated.
	GiveUp struct{}
)

func (Begin) event()   {}
func (Joined) event()  {}
func (Put) event()     {}
func (Replied) event() {}
func (Seen) event()    {}
func (Again) event()   {}
func (Rested) event()  {}
func (Passed) event()  {}
func (Kept) event()    {}
func (GiveUp) event()  {}

// Do is what to do next: it is what the wait then does, with what that needs.
type Do struct {
	State   Doing
	Rider   ticket.Rider   // Taking: what goes with the increment
	Write   clause.Write   // Entering, Asking, Claiming, TakingOver, Accepting, Removing, Resetting, Confirming: is sent, as Taking is, once
	Floor   ticket.Number  // Looking: nothing can be ahead if it is right below the ticket. Checking: the rows below it are read
	Later   bool           // Looking: the rows with later tickets are read too
	Rows    []queue.Waiter // Sweeping
	Holders []queue.Holder // Evicting; TakingOver: that which is replaced
	IDs     []string       // Removing
	Attempt *Attempt       // Taking, Entering, Claiming, TakingOver, Accepting, Confirming, Granted
	Holder  *queue.Holder  // Accepting, Confirming, Granted: its entry. Asking: which one
	Late    *queue.Holder  // the entry of an attempt that was given up: too late, or malformed
	Why     Why            // Ended
	By      ticket.Number  // Ended, WhySuperseded: the later ticket
	Err     error

	Decision *queue.Decision // that was taken in this step, of Wait.Snapshot; nil: none
}

// Wait is one wait of a caller, or of a block of callers: from the first request to the grant, or until nothing of it is left. Its methods need
// no lock: one goroutine at a time steps it.
type Wait struct {
	Config WaitConfig

	State    Doing
	Ticket   ticket.Number
	Snapshot queue.Snapshot // the last: each request is sent after the answer to the one before
	Careful  bool           // no look before the row is put: it was overtaken before, or resumes a place

	Attempts
	worthless int    // numbers in succession that were at or below the floor
	suspect   string // the holder that has not accepted its grant, in the answer before the last look; empty: none
	leaving   bool
	left      []string // the ids that were removed as it left
	turn      turn
}

// WaitConfig is what a wait needs to know.
type WaitConfig struct {
	ID     string // prefix of all its ids, never used before
	Items  queue.Items
	Owner  string
	Data   []byte
	Mode   queue.Mode
	NoWait bool
	Turns  int // how many tickets it takes, for a block; zero: one
	Policy Policy

	FailClosed bool          // a grant must be confirmed
	Scope      ticket.Scope  // of the counter that issues the tickets
	Resume     *queue.Handle // of what is continued; nil: take a number
	Forget     time.Duration // after which an idle record may be deleted; zero: never
	Wanted     *Wanted       // of a caller that waits for a result; nil: it waits for the lock alone
	Bell       string        // where it can be rung while it holds the lock; empty: nowhere
}

// turn is the wait of one ticket.
type turn struct {
	entered  int   // attempts before
	ticketed bool  // it has the ticket
	joined   bool  // it waits
	asked    bool  // the next request must not run beside the ENQUEUE, as the first may
	put      bool  // the row was put
	looked   bool  // a look was made before the row
	then     Doing // Looking or Claiming, after Putting
	repeat   Doing // after Pausing
	rounds   int   // looks at a queue that has moved
	pass     int   // number of the attempt that a release makes, and one; zero: it has not joined
	lost     bool  // its grant was not confirmed in time
	sweeping []queue.Waiter
	evict    bool // to make room for a caller that will not wait
}

// quickTries is how often a caller that will not wait tries again after the queue has moved, before the lock
// counts as busy.
const quickTries = 5

// Step takes what has happened and returns what to do next. It has no other effect.
func (w *Wait) Step(c Clock, e Event) Do {
	do := w.step(c, e)
	w.State = do.State
	return do
}

func (w *Wait) step(c Clock, e Event) Do {
	switch e := e.(type) {
	case Begin:
		return w.begin(c, e.Ticket)
	case Joined:
		w.turn.joined, w.turn.asked = true, e.Put || w.Careful || w.limited()
		w.add(Attempt{ID: w.PassID(), Claimed: true, Passed: true})
		w.turn.pass = len(w.all)
		if w.Next() && e.Fresh && !w.grouped() {
			return w.act(c)
		}
		return w.look()
	case Put:
		if w.turn.put = true; w.turn.then == Claiming {
			return w.claim(c)
		}
		return w.look()
	case Seen:
		return w.seen(c, e.Snapshot)
	case Replied:
		return w.replied(c, e)
	case Again:
		return w.again(c)
	case Rested:
		if e.Guess && w.Next() && !w.grouped() { // no waiter can be ahead: CLAIM decides whether the turn has ended
			return w.claim(c)
		}
		return w.look()
	case Passed:
		return w.passed(c, e)
	case Kept:
		return w.kept(c, e.OK)
	}
	return w.leave() // GiveUp
}

// begin begins with a ticket. What earlier ones have left in the record is still looked for.
func (w *Wait) begin(c Clock, t ticket.Number) Do {
	w.turn = turn{entered: len(w.all)}
	switch {
	case w.Config.Resume != nil:
		w.Ticket, w.Careful = t, true
		return w.look()
	case w.wider():
		w.Ticket, w.turn.ticketed = t, true
	}
	return w.enter(c)
}

// wider reports whether another counter than that of the record issues the tickets.
func (w *Wait) wider() bool { return w.Config.Scope != ticket.ScopeQueue }

// enter sends TAKE or ENTER, each time with a new id.
func (w *Wait) enter(c Clock) Do {
	entry := w.attempt(c, false)
	if w.wider() {
		return Do{State: Entering, Attempt: w.last(), Write: queue.Enter(entry, w.Ticket, w.Config.Scope, w.Config.NoWait)}
	}
	return Do{State: Taking, Attempt: w.last(), Rider: queue.Take(entry, w.Config.NoWait)}
}

// replied continues after the reply to a request.
func (w *Wait) replied(c Clock, r Replied) Do {
	failed := r.Reply >= ReplyFailed
	switch w.State {
	case Taking, Entering:
		return w.entered(c, r)
	case Removing, Resetting:
		return w.removed(c, r)
	case Confirming:
		return w.confirmed(c, r)
	case Claiming, TakingOver:
		w.last().unknown = r.Reply == ReplyUnknown
	}
	switch {
	case w.State == Asking && r.Reply != ReplyApplied:
		return w.notAsked(failed)
	case failed:
		return w.pause()
	case r.Record.Problem != nil && (w.State == Claiming || w.State == TakingOver || w.State == Accepting):
		return w.unreadable(r.Record)
	case w.State == Sweeping:
		return w.swept(c, r)
	case w.State == Evicting && w.turn.evict:
		w.turn.evict = false
		return w.enter(c)
	case w.State == Claiming && r.Reply != ReplyApplied:
		return w.refused(c, r.Record)
	case w.State == Accepting && r.Reply != ReplyApplied:
		return w.accepted(c, r.Record)
	case w.State == TakingOver && r.Reply != ReplyApplied:
		if err := w.hides(r.Record); err != nil {
			return w.fail(WhyError, err)
		}
	}
	w.Snapshot.Saw(r.Record, c.Now())
	return w.proceed(c)
}

// pause is followed by TAKE, ENTER or CONFIRM again. After any other request a look follows, which shows what came of it.
func (w *Wait) pause() Do {
	switch w.State {
	case Taking, Entering, Confirming:
		w.turn.repeat = w.State
	case Evicting, Checking:
		w.turn.repeat = Looking
		if w.turn.evict || w.State == Checking {
			w.turn.repeat, w.turn.evict = Taking, false
		}
	default:
		w.turn.repeat = Looking
	}
	return Do{State: Pausing}
}

func (w *Wait) again(c Clock) Do {
	switch w.turn.repeat {
	case Taking, Entering:
		return w.enter(c)
	case Confirming:
		return w.confirm(c)
	}
	return w.look()
}

// unreadable ends a wait whose request was applied, and has returned a record that cannot be read: what was granted is not known.
func (w *Wait) unreadable(rec queue.Record) Do {
	w.last().unknown = true
	return w.fail(WhyError, rec.Problem)
}

// entered continues after the reply to TAKE or ENTER.
func (w *Wait) entered(c Clock, r Replied) Do {
	rec := r.Record
	own, _ := w.mine(rec)
	switch {
	case r.Reply >= ReplyFailed:
		w.last().unknown = r.Reply == ReplyUnknown
		return w.pause()
	case rec.Problem != nil:
		return w.unreadable(rec)
	case r.Reply != ReplyApplied:
		if err := rec.Refuses(w.Config.Items, w.Config.Mode, w.Config.Scope); err != nil {
			return w.fail(WhyError, err)
		}
	}
	if r.Reply == ReplyRefused && own == nil {
		w.Snapshot = queue.SnapshotOf(rec, c.Now())
		if w.Config.NoWait {
			return w.makeRoom(c)
		}
		return w.enter(c) // another client has seeded the record
	}
	w.Snapshot = queue.SnapshotOf(rec, c.Now())
	if !w.wider() {
		if r.Reply == ReplyApplied {
			w.Ticket, w.turn.ticketed = rec.TicketNumber.Minus(uint64(max(w.Config.Turns, 1)-1)), true
		}
		return w.proceed(c)
	}
	for i := range w.all[w.turn.entered:] {
		w.all[w.turn.entered+i].unknown = false // it is in the record, or no ENTER of the ticket will ever be applied
	}
	if own != nil || rec.Floor().Less(w.Ticket) {
		w.worthless = 0
		return w.proceed(c)
	}
	if w.worthless++; w.Config.NoWait && w.worthless > quickTries {
		return w.fail(WhyBusy, nil)
	}
	return w.newTicket(c, WhyNewTicket)
}

// makeRoom evicts expired holders of a record that refused a caller which will not wait. The lock is busy if another attempt
// cannot succeed. A record that another client seeded first may have room.
func (w *Wait) makeRoom(c Clock) Do {
	d := w.decide(c, w.Snapshot.Record.Floor(), nil)
	do, overdue := w.check(c)
	if !overdue || len(d.ExpiredHolders) > 0 {
		do = w.room(c, d, d.ExpiredHolders)
	}
	do.Decision = &d
	return do
}

// room enters once more if the record has room without what is gone.
func (w *Wait) room(c Clock, d queue.Decision, gone []queue.Holder) Do {
	switch {
	case len(gone) > 0:
		w.turn.evict = true
		return Do{State: Evicting, Holders: gone}
	case w.Snapshot.Record.Room(w.Config.Mode, d.ExpiredHolders):
		return w.enter(c)
	case d.Stuck != nil:
		return w.fail(WhyError, d.Stuck)
	}
	return w.fail(WhyBusy, nil)
}

// proceed continues after the record was seen: by the grant, the removal of what is no grant, or what the queue requires.
func (w *Wait) proceed(c Clock) Do {
	switch {
	case w.turn.lost:
		return w.newTicket(c, WhyOvertaken)
	case w.turn.joined:
		return w.act(c)
	}
	if do, settled := w.adopt(c); settled {
		return do
	}
	if do, ends := w.answered(c); ends {
		return do
	}
	switch {
	case w.Config.Resume != nil:
		return w.resume()
	case !w.turn.ticketed: // an own id was in the record, too late to be used
		return w.fail(WhyNewTicket, nil)
	case w.Ticket.Compare(w.Snapshot.Record.Floor()) <= 0: // the same
		return w.newTicket(c, WhyNewTicket)
	case w.limited():
		return w.count(c)
	}
	return Do{State: Joining}
}

func (w *Wait) fail(why Why, err error) Do { return Do{State: Ended, Why: why, Err: err} }

// leave removes the ids that may be in the record without an owner. If it has left, it removes the same once more.
func (w *Wait) leave() Do {
	if w.State != Left {
		w.leaving, w.left = true, w.Unknown()
	}
	if len(w.left) > 0 {
		return remove(w.left...)
	}
	return Do{State: Left}
}

// remove sends CLEAN UP.
func remove(ids ...string) Do { return Do{State: Removing, IDs: ids, Write: queue.Remove(ids...)} }

// reset sends RESET after a removal. If the record is of a wider scope, the table's TTL must not delete it.
func (w *Wait) reset(c Clock) Do {
	var forget time.Time
	_, latest, known := c.At(c.Now())
	if rec := w.Snapshot.Record; known && w.Config.Forget > 0 && rec.Scope == ticket.ScopeQueue {
		forget = latest.Add(w.Config.Forget)
	}
	return Do{State: Resetting, Write: queue.Reset(w.Snapshot.Record.FirstServed(), forget)}
}

// removed continues after the reply to CLEAN UP, or to the RESET after it.
func (w *Wait) removed(c Clock, r Replied) Do {
	rec, known := r.Record, r.Reply < ReplyFailed
	switch {
	case w.State == Resetting && known:
		w.Snapshot.Saw(rec, c.Now())
	case w.State == Removing && known:
		w.cleaned(w.Snapshot.ReadAt, w.leaving)
		w.Snapshot.Saw(rec, c.Now())
		if (r.Reply == ReplyApplied || len(rec.Holders) == 0) && rec.CanIdle() { // refused: perhaps by a copy of itself
			return w.reset(c)
		}
	}
	if w.leaving {
		return Do{State: Left}
	}
	return w.proceed(c)
}

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
	"Idle", "Taking", "Entering", "Checking", "Joining", "Putting", "Looking", "Sweeping", "Evicting", "Asking",
	"Claiming",
	"TakingOver", "Keeping", "Accepting", "Removing", "Resetting", "Confirming", "Resting", "Pausing", "Granted", "Ended",
	"Left",
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
	// Usable reports whether a grant with that lease, which began to count at sent, has not ended. By name, it is that of
	// a row.
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
	State Doing
	Rider ticket.Rider // Taking: what goes with the increment
	// Entering, Asking, Claiming, TakingOver, Accepting, Removing, Resetting, Confirming: is sent, as Taking is, once
	Write clause.Write
	// Looking: nothing can be ahead if it is right below the ticket. Checking: the rows below it are read
	Floor   ticket.Number
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

// Wait is one wait of a caller, or of a block of callers: from the first request to the grant, or until nothing of it
// is left. Its methods need no lock: one goroutine at a time steps it.
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
	do := step{w, c}.takes(e)
	w.State = do.State
	return do
}

// step is one step of a wait, with what it may ask about time. Its parts are what a wait does: it looks, is granted the
// lock, and keeps to the policy.
type (
	step struct {
		*Wait
		Clock
	}
	looking  struct{ step }
	granting struct{ step }
	policing struct{ step }
)

func (s step) looking() looking   { return looking{s} }
func (s step) granting() granting { return granting{s} }
func (s step) policing() policing { return policing{s} }

func (s step) takes(e Event) Do {
	switch e := e.(type) {
	case Begin:
		return s.begin(e.Ticket)
	case Joined:
		s.turn.joined, s.turn.asked = true, e.Put || s.Careful || s.limited()
		s.add(Attempt{ID: s.PassID(), Claimed: true, Passed: true})
		s.turn.pass = len(s.all)
		if s.Next() && e.Fresh && !s.grouped() {
			return s.looking().act()
		}
		return s.looking().look()
	case Put:
		if s.turn.put = true; s.turn.then == Claiming {
			return s.looking().claim()
		}
		return s.looking().look()
	case Seen:
		return s.looking().seen(e.Snapshot)
	case Replied:
		return s.replied(e)
	case Again:
		return s.again()
	case Rested:
		// No waiter can be ahead: CLAIM decides whether the turn has ended. Only the record shows which permit is free.
		if e.Guess && s.Next() && !s.grouped() && s.Config.Mode.Permits == 0 {
			return s.looking().claim()
		}
		return s.looking().look()
	case Passed:
		return s.granting().passed(e)
	case Kept:
		return s.granting().kept(e.OK)
	}
	return s.leave() // GiveUp
}

// begin begins with a ticket. What earlier ones have left in the record is still looked for.
func (s step) begin(t ticket.Number) Do {
	s.turn = turn{entered: len(s.all)}
	switch {
	case s.Config.Resume != nil:
		s.Ticket, s.Careful = t, true
		return s.looking().look()
	case s.wider():
		s.Ticket, s.turn.ticketed = t, true
	}
	return s.enter()
}

// wider reports whether another counter than that of the record issues the tickets.
func (w *Wait) wider() bool { return w.Config.Scope != ticket.ScopeQueue }

// enter sends TAKE or ENTER, each time with a new id.
func (s step) enter() Do {
	entry := s.granting().attempt(false)
	if s.wider() {
		return Do{State: Entering, Attempt: s.last(), Write: queue.Enter(entry, s.Ticket, s.Config.Scope, s.Config.NoWait)}
	}
	return Do{State: Taking, Attempt: s.last(), Rider: queue.Take(entry, s.Config.NoWait)}
}

// replied continues after the reply to a request.
func (s step) replied(r Replied) Do {
	failed := r.Reply >= ReplyFailed
	switch s.State {
	case Taking, Entering:
		return s.entered(r)
	case Removing, Resetting:
		return s.removed(r)
	case Confirming:
		return s.granting().confirmed(r)
	case Claiming, TakingOver:
		s.last().unknown = r.Reply == ReplyUnknown
	}
	switch {
	case s.State == Asking && r.Reply != ReplyApplied:
		return s.policing().notAsked(failed)
	case failed:
		return s.pause()
	case r.Record.Problem != nil && (s.State == Claiming || s.State == TakingOver || s.State == Accepting):
		return s.unreadable(r.Record)
	case s.State == Sweeping:
		return s.looking().swept(r)
	case s.State == Evicting && s.turn.evict:
		s.turn.evict = false
		return s.enter()
	case s.State == Claiming && r.Reply != ReplyApplied:
		return s.looking().refused(r.Record)
	case s.State == Accepting && r.Reply != ReplyApplied:
		return s.granting().accepted(r.Record)
	case s.State == TakingOver && r.Reply != ReplyApplied:
		if err := s.granting().hides(r.Record); err != nil {
			return s.fail(WhyError, err)
		}
	}
	s.Snapshot.Saw(r.Record, s.Now())
	return s.proceed()
}

// pause is followed by TAKE, ENTER or CONFIRM again. After any other request a look follows, which shows what came of
// it.
func (s step) pause() Do {
	switch s.State {
	case Taking, Entering, Confirming:
		s.turn.repeat = s.State
	case Evicting, Checking:
		s.turn.repeat = Looking
		if s.turn.evict || s.State == Checking {
			s.turn.repeat, s.turn.evict = Taking, false
		}
	default:
		s.turn.repeat = Looking
	}
	return Do{State: Pausing}
}

func (s step) again() Do {
	switch s.turn.repeat {
	case Taking, Entering:
		return s.enter()
	case Confirming:
		return s.granting().confirm()
	}
	return s.looking().look()
}

// unreadable ends a wait whose request was applied, and has returned a record that cannot be read: what was granted is
// not known.
func (s step) unreadable(rec queue.Record) Do {
	s.last().unknown = true
	return s.fail(WhyError, rec.Problem)
}

// entered continues after the reply to TAKE or ENTER.
func (s step) entered(r Replied) Do {
	rec := r.Record
	own, _ := s.mine(rec)
	switch {
	case r.Reply >= ReplyFailed:
		s.last().unknown = r.Reply == ReplyUnknown
		return s.pause()
	case rec.Problem != nil:
		return s.unreadable(rec)
	case r.Reply != ReplyApplied:
		if err := rec.Refuses(s.Config.Items, s.Config.Mode, s.Config.Scope); err != nil {
			return s.fail(WhyError, err)
		}
	}
	if r.Reply == ReplyRefused && own == nil {
		s.Snapshot = queue.SnapshotOf(rec, s.Now())
		if s.Config.NoWait {
			return s.makeRoom()
		}
		return s.enter() // another client has seeded the record
	}
	s.Snapshot = queue.SnapshotOf(rec, s.Now())
	if !s.wider() {
		if r.Reply == ReplyApplied {
			s.Ticket, s.turn.ticketed = rec.TicketNumber.Minus(uint64(max(s.Config.Turns, 1)-1)), true
		}
		return s.proceed()
	}
	for i := range s.all[s.turn.entered:] {
		s.all[s.turn.entered+i].unknown = false // it is in the record, or no ENTER of the ticket will ever be applied
	}
	if own != nil || rec.Floor().Less(s.Ticket) {
		s.worthless = 0
		return s.proceed()
	}
	if s.worthless++; s.Config.NoWait && s.worthless > quickTries {
		return s.fail(WhyBusy, nil)
	}
	return s.policing().newTicket(WhyNewTicket)
}

// makeRoom evicts expired holders of a record that refused a caller which will not wait. The lock is busy if another
// attempt cannot succeed. A record that another client seeded first may have room.
func (s step) makeRoom() Do {
	d := s.looking().decide(s.Snapshot.Record.Floor(), nil)
	do, overdue := s.granting().check()
	if !overdue || len(d.ExpiredHolders) > 0 {
		do = s.room(d, d.ExpiredHolders)
	}
	do.Decision = &d
	return do
}

// room enters once more if the record has room without what is gone.
func (s step) room(d queue.Decision, gone []queue.Holder) Do {
	switch {
	case len(gone) > 0:
		s.turn.evict = true
		return Do{State: Evicting, Holders: gone}
	case s.Snapshot.Record.Room(s.Config.Mode, d.ExpiredHolders):
		return s.enter()
	case d.Stuck != nil:
		return s.fail(WhyError, d.Stuck)
	}
	return s.fail(WhyBusy, nil)
}

// proceed continues after the record was seen: by the grant, the removal of what is no grant, or what the queue
// requires.
func (s step) proceed() Do {
	switch {
	case s.turn.lost:
		return s.policing().newTicket(WhyOvertaken)
	case s.turn.joined:
		return s.looking().act()
	}
	if do, settled := s.granting().adopt(); settled {
		return do
	}
	if do, ends := s.policing().answered(); ends {
		return do
	}
	switch {
	case s.Config.Resume != nil:
		return s.looking().resume()
	case !s.turn.ticketed: // an own id was in the record, too late to be used
		return s.fail(WhyNewTicket, nil)
	case s.Ticket.Compare(s.Snapshot.Record.Floor()) <= 0: // the same
		return s.policing().newTicket(WhyNewTicket)
	case s.limited():
		return s.policing().count()
	}
	return Do{State: Joining}
}

func (w *Wait) fail(why Why, err error) Do { return Do{State: Ended, Why: why, Err: err} }

// leave removes the ids that may be in the record without an owner. If it has left, it removes the same once more.
func (s step) leave() Do {
	if s.State != Left {
		s.leaving, s.left = true, s.Unknown()
	}
	if len(s.left) > 0 {
		return remove(s.left...)
	}
	return Do{State: Left}
}

// remove sends CLEAN UP.
func remove(ids ...string) Do { return Do{State: Removing, IDs: ids, Write: queue.Remove(ids...)} }

// reset sends RESET after a removal. If the record is of a wider scope, the table's TTL must not delete it.
func (s step) reset() Do {
	var forget time.Time
	_, latest, known := s.At(s.Now())
	if rec := s.Snapshot.Record; known && s.Config.Forget > 0 && rec.Scope == ticket.ScopeQueue {
		forget = latest.Add(s.Config.Forget)
	}
	return Do{State: Resetting, Write: queue.Reset(s.Snapshot.Record.FirstServed(), forget)}
}

// removed continues after the reply to CLEAN UP, or to the RESET after it.
func (s step) removed(r Replied) Do {
	rec, known := r.Record, r.Reply < ReplyFailed
	switch {
	case s.State == Resetting && known:
		s.Snapshot.Saw(rec, s.Now())
	case s.State == Removing && known:
		s.cleaned(s.Snapshot.ReadAt, s.leaving)
		s.Snapshot.Saw(rec, s.Now())
		if (r.Reply == ReplyApplied || len(rec.Holders) == 0) && rec.CanIdle() { // refused: perhaps by a copy of itself
			return s.reset()
		}
	}
	if s.leaving {
		return Do{State: Left}
	}
	return s.proceed()
}

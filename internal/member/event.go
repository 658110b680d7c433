package member

import (
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Clock says what packages heartbeat and waitpolicy say of the time of a step. The times that it returns are local, but
// for those of leases.
type Clock interface {
	Now() time.Time // local and monotonic
	// At returns the bounds of DynamoDB's time at a local time, and Middle the best guess of it now.
	At(local time.Time) (earliest, latest time.Time, known bool)
	Middle() time.Time
	// Begin returns the lease of an entry, or of a row, that begins with a request which is sent now, and DynamoDB's time.
	Begin(k *Kind, row bool) (queue.Lease, time.Time)
	// Keeps does so for a place that is kept, and returns its end on the local clock as well.
	Keeps(k *Kind) (l queue.Lease, since, ends time.Time)
	// Usable reports whether a grant with that lease, which counts from sent, has not ended. By name, it is that of a row.
	Usable(k *Kind, l queue.Lease, sent time.Time, named bool) bool
	// Ends returns when a lease that counts from sent ends for its owner; zero: never.
	Ends(k *Kind, sent time.Time, row bool) time.Time
	// Leases returns what is left of the leases of a snapshot.
	Leases(s queue.Snapshot) queue.Leases
	// Early reports whether a lease that ends at until, and counts from sent, ends for others before it does for its
	// owner: the host was suspended.
	Early(k *Kind, until, sent time.Time) bool
	// Names reports whether a row that was read at that time may still be named.
	Names(readAt time.Time) bool
	// ID returns the prefix of the ids of a block: it was never used before.
	ID(block int32) string
	// Bell returns where the block, and then its holder, can be rung. It is asked once.
	Bell(block int32) string

	// The rest is for speed.

	// Beats returns when a lease is renewed after the request that was sent then, by name or as a row if it is named;
	// zero: never.
	Beats(t Timer, k *Kind, sent time.Time, named, failed bool) time.Time
	Rests(block int32, w *machine.Wait) time.Time            // when the first of the line looks
	Guesses(block int32, w *machine.Wait, woken bool) bool   // whether it sends CLAIM in place of a look
	Reads(block int32) time.Time                             // when a holder reads the next row; zero: it does not
	Pauses(t Timer, failed int, err error) (time.Time, bool) // after so many failures in succession; false: it is given up
	After(d time.Duration) time.Time
	// Stepped receives each step of a wait.
	Stepped(block int32, w *machine.Wait, from machine.Doing, e machine.Event, do *machine.Do)
}

// An Event is what has happened: one of the types below.
type Event interface{ event() }

type (
	// Wants says that callers want the lock: several if they have come during a step.
	Wants struct {
		Callers []int32
		Kind    *Kind
	}
	// GivesUp says that a caller waits no longer.
	GivesUp struct{ Caller int32 }
	// Releases says that a caller releases the lock, or what is left of it. With Update, the write has its update, with a
	// condition if it Asks. It is Unused if the caller has not had it: then it keeps nothing closed.
	Releases struct {
		Caller       int32
		Result       *queue.Result
		Update, Asks bool
		Unused       bool
	}
	// Uses is another call of the holder.
	Uses struct {
		Caller int32
		Use    Use
		N      int32 // of the call; its Report has it
		Data   string
		Record queue.Record             // of Judges
		Left   machine.TransactionState // of Leaves
	}
	// Forgets says that no call follows of a holder whose lock was not released, and whose lease has ended.
	Forgets struct{ Caller int32 }
	// Saved says that a caller has the handle that Placed has given it, whose Kind Saves.
	Saved struct{ Caller int32 }
	// Stops says that the holder waits no longer for a call of Uses; without N, for the one that is under way.
	Stops struct{ Caller, N int32 }
	// Answer is the one answer to each Send, Number and Look.
	Answer struct {
		Of          int
		Reply       machine.Reply
		Record      queue.Record
		Number      ticket.Number
		Row         string // id of the row, of a Send of one that was made before
		Seen        *queue.Snapshot
		Transaction machine.TransactionEvent
		Err         error
	}
	// Due says that the time of a timer has come.
	Due struct{ Timer Timer }
	// Rung says that another process has ended a turn.
	Rung struct{}
)

func (Wants) event()    {}
func (GivesUp) event()  {}
func (Releases) event() {}
func (Uses) event()     {}
func (Forgets) event()  {}
func (Saved) event()    {}
func (Stops) event()    {}
func (Answer) event()   {}
func (Due) event()      {}
func (Rung) event()     {}

// An Effect is what is to be done: one of the types below.
type Effect interface{ effect() }

type (
	// Send is a request. The driver repeats it as its Write says, and gives one Answer.
	Send struct {
		Of     int
		Caller int32         // of Users and Tx
		Take   *ticket.Rider // TAKE, with the counter's increment; else Writes
		Write  clause.Write
		Row    ticket.Number  // that the write is of; zero: it is of the record
		Keeps  bool           // it keeps the row of a wait that has ended: it is repeated as a removal is
		Sweep  []queue.Waiter // SWEEP, one write each
		Evicts []queue.Holder // that an EVICT removes
		Leased []string       // that a CLEAN UP removes, and a lease ends otherwise
		Say    string         // the id, for stories
		Limit  time.Time      // after which it is given up; zero: never
		Users  bool           // with the update of the caller
		// a transaction with the items of the caller, and a new token if Renew. Without a Write it has the last one
		Tx    bool
		Renew bool
		Blind bool // the record that it leaves is not needed
		Show  bool // no write: it is answered once the transaction that was made is visible
	}
	// Number takes a number of a wider counter.
	Number struct{ Of int }
	// Look reads the record, and the rows below a ticket.
	Look struct {
		Of           int
		Below, Floor ticket.Number // of a ticket right after the floor no row is read
		// the look also shows whether the row of that ticket is there, and the next; zero: it does not
		Own           ticket.Number
		Turns         int
		Later, Record bool // the rows behind Below too; the record alone
		Next          bool // the row with the ticket Below alone
	}
	// Placed says that a caller has a place in the queue, which another process may resume by the handle: before its row
	// is put, or of a Kind that Puts once that is in the table.
	Placed struct {
		Caller int32
		queue.Handle
	}
	// Give gives the lock to a caller. The driver reads the clock before the caller goes on: it has the lock until Ends.
	Give struct {
		Caller    int32
		ID        string
		Ticket    ticket.Number
		Ends      time.Time // zero: never
		Slot      *int      // number of the permit; nil: none
		Sent      time.Time // of the request that granted it to the block
		Unsettled bool      // a transaction of an earlier turn may not be visible yet
		Result    queue.Result
	}
	// Refuse ends a wait.
	Refuse struct {
		Caller int32
		Block  int32 // that has waited; zero: it had none
		GaveUp bool
		// Kept is the handle of the place that stays in the queue until Until, or for longer if that was not answered;
		// without an ID, none does.
		Kept   queue.Handle
		Until  time.Time
		Why    machine.Why
		By     ticket.Number
		Result queue.Result
		Orphan ticket.Number // of a grant that fails closed, which may be in the record without an owner; zero: there is none
		Err    error
	}
	// Report says what has become of the lock, or of a use of it.
	Report struct {
		Caller  int32
		News    News
		Use     Use                      // of Done, Failed and Unsure
		N       int32                    // the same
		Result  machine.HoldResult       // of the end of a call that releases the lock, and of Declined
		Follows bool                     // of Released: a later turn has the lock, with the same entry
		Open    bool                     // of Declined: the update may have been made
		Fence   clause.Write             // of Done, to Fences and Joins
		Made    machine.Made             // of Done, to Judges
		Left    machine.TransactionState // of the end of Transacts
		Ends    time.Time                // of Renewed
		Accepts bool                     // of Renewed: a grant by name
		Mark    *queue.Revocation        // of Asked
		Hidden  error                    // of Unreleased: the problem of an entry that no lease ends
		Err     error
	}
	// Ring says that others are to hear of the end of a turn. Row is that of the next waiter; nil: it is not known, and it
	// has the ticket Next, if that is not zero.
	Ring struct {
		Row  *queue.Waiter
		Next ticket.Number
	}
)

func (Send) effect()   {}
func (Number) effect() {}
func (Look) effect()   {}
func (Placed) effect() {}
func (Give) effect()   {}
func (Refuse) effect() {}
func (Report) effect() {}
func (Ring) effect()   {}

// News is what a caller hears of its lock.
type News uint8

// The news.
const (
	Lost       News = iota
	Released        // now, or by an earlier call
	Cleared         // it was lost, and nothing of it is left
	Unknown         // the table does not show whether it was released
	Unreleased      // it may still be in the table: Releases may follow
	Declined        // an update was not made, or that is not known: the lock is held
	Asked           // the holder is asked to give way
	Renewed         // the lease
	Done            // a use
	Failed          // a use: it was not made
	Unsure          // whether a use was made
)

package queue

import (
	"time"

	"github.com/queuelock/queuelock/internal/clause"
)

// HoldEventKind is the kind of a HoldEvent.
type HoldEventKind int

// The kinds.
const (
	HoldAnswered    HoldEventKind = iota // a request of the operation has the Reply
	HoldGaveUp                           // after HoldPause or HoldWait: the call is given up, because of Err
	HoldRelease                          // the caller calls Release
	HoldUpdate                           // the caller calls UpdateAndRelease; Asks
	HoldReady                            // after HoldSettle: Err if a transaction is still under way; Delivered
	HoldShown                            // after HoldShow: Err if it is not visible yet
	HoldOffered                          // after HoldOffer: Next
	HoldWaited                           // after HoldPause or HoldWait
	HoldBeat                             // a heartbeat is due; Until, Since
	HoldSetData                          // the caller calls SetData; Data
	HoldDowngrade                        // the caller calls Downgrade, and the last transaction was settled
	HoldTransact                         // the caller calls Transact
	HoldContradicts                      // Record has refused a write that only the holder may make
	HoldEnded                            // the lease has ended; Err is why
)

// HoldEvent is what has happened.
type HoldEvent struct {
	Kind      HoldEventKind
	Op        HoldOp
	Reply     Reply
	Record    Record    // that the request left, or that refused it
	Err       error     // of a request without either
	Delivered bool      // the lock was given to the caller that asked for it
	Deadline  time.Time // at which the lease ends for the holder; zero: it does not end
	Asks      bool      // the caller's update has a condition
	Next      *Next     // the waiter to pass the lock to; nil: none is known
	Named     bool      // it may be another client's: it is named by its row
	Data      []byte
	// The new end of the lease, and the time of the grant, on DynamoDB's clock; zero if that is not known.
	Until, Since time.Time
	Suspended    bool // the end of the renewed lease is too early: the host was suspended after the heartbeat was dated
}

// HoldOp is an operation. An answer has that of its request.
type HoldOp int

// The operations.
const (
	HoldOpEnd    HoldOp = iota // Release or UpdateAndRelease, one at a time
	HoldOpBeat                 // a heartbeat, one at a time
	HoldOpChange               // SetData or Downgrade
)

// HoldAction is what to do next.
type HoldAction int

// The actions.
const (
	HoldSend   HoldAction = iota // send Write
	HoldRead                     // read the record
	HoldSettle                   // let no transaction begin until the operation is over, wait for the one under way, and settle it
	HoldShow                     // wait until the last transaction, which was made, is visible
	HoldOffer                    // look for a waiter to pass the lock to
	HoldPause                    // before a request is repeated that has failed with Err, if it may succeed later
	HoldWait                     // until At
	HoldDone                     // the operation is over; see Result
)

// HoldDo says what to do next.
type HoldDo struct {
	Do    HoldAction
	Op    HoldOp
	Write clause.Write
	Blind bool      // the record that Write leaves is not needed
	Hint  bool      // Write probably ends the turn, and others may wait
	Limit time.Time // after which the request is given up; zero: when the caller gives up
	At    time.Time

	HoldTime HoldTime // of HoldOffer: the recent ones, this turn included

	Result HoldResult
	Open   bool  // a request of UpdateAndRelease may have been applied, or may yet be
	Leave  bool  // the waiter's row is not needed any more
	Err    error // of the last request; of PhaseLost and PhaseCleared, why
	Hidden error // the problem of an entry that was not removed, and that no lease ends
	After  HoldAfter
	Reset  bool // RESET would be applied
}

// HoldResult is the result of an operation.
type HoldResult int

// The results.
const (
	HoldMade        HoldResult = iota // of Release: the phase is final
	HoldFailed                        // no answer
	HoldOutlasted                     // a transaction is still under way
	HoldEarlier                       // an earlier call has released the lock, and this one was not applied
	HoldDeclined                      // the caller's condition was false
	HoldLost                          // the lock is lost: its holder was evicted
	HoldTooLate                       // the lock is lost: its lease ended before a release got through
	HoldUnreadable                    // the lock is lost: its entry could not be read
	HoldOverwritten                   // the lock is not in its record, and the marks do not say how it ended
	HoldReleasing                     // of a write that only the holder may make: the lock was released, or is being released
	HoldOutrun                        // a later heartbeat was applied first
	HoldTooEarly                      // the renewed lease ends too early
)

// HoldAfter is what other waiters learn after the end of a turn.
type HoldAfter int

// The values of HoldAfter.
const (
	AfterNothing HoldAfter = iota
	AfterPassed            // the lock was passed to the waiter that was offered
	AfterNamed             // the same, of a waiter that was named by its row
	AfterWake              // those of this process are woken
	AfterHint              // and those of others get a hint
)

package machine

import (
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/queue"
)

// HoldEvent is what has happened to a Hold.
type HoldEvent struct {
	Kind   HoldEventKind
	Reply  Reply
	Record queue.Record // that the request left, or that refused it
	Err    error        // of a request without either; of what else was asked for, why it was not done

	Deadline  time.Time     // of the lease; zero: it has no end
	Delivered bool          // the lock was given to the caller that asked for it
	Asks      bool          // the caller's update has a condition
	Next      *queue.Next   // the waiter that was looked for; nil: none is known
	Followed  bool          // the next turn of the block has begun
	Result    *queue.Result // that Release is to leave in the record; nil: none
	TooEarly  bool          // the lease ends too early: the host was suspended after the end was computed
}

// HoldEventKind is the kind of a [HoldEvent].
type HoldEventKind int

// The kinds.
const (
	HoldAnswered HoldEventKind = iota // the call that releases the lock has done what it was asked for, or Err is why not
	HoldRelease                       // the caller calls Release
	HoldUpdate                        // the caller calls UpdateAndRelease
	HoldBeaten                        // the answer to a heartbeat
	HoldChanged                       // the answer to another write that only the holder may make
	HoldEnded                         // the lease has ended, because of Err
	HoldAdvanced                      // the answer to ADVANCE
)

// HoldTimes are the time at which something happened, and what is known of DynamoDB's clock then.
type HoldTimes struct {
	Local            time.Time
	Earliest, Latest time.Time // that it can be on DynamoDB's clock; zero: that is not known
	Began            time.Time // the latest time at which the Hold began, on DynamoDB's clock
}

// HoldDo is what to do next.
type HoldDo struct {
	Do    HoldAction
	Write clause.Write
	Blind bool      // the record that Write leaves is not needed
	Ring  bool      // Write probably ends the turn, and others may wait: the next is rung
	Limit time.Time // after which a request is given up; zero: when the caller gives up
	At    time.Time // of HoldWait

	Alone bool // of HoldOffer: no other ticket is known to be outstanding

	Result   HoldResult
	Err      error // of the last request, or of the loss
	Open     bool  // a request of UpdateAndRelease may have been applied, or may yet be
	Hidden   error // the problem of an entry that was not removed, and that no lease ends
	Accepted bool  // a grant by name, so that the waiter's row is not needed any more
	After    HoldAfter
	Reset    bool // RESET would be applied
}

// HoldAction is what to do next.
type HoldAction uint8

// The actions.
const (
	HoldSend HoldAction = iota // send Write
	HoldRead                   // read the record
	// let no transaction begin until the call is over, wait for the one under way, and settle it
	HoldSettle
	HoldShow // wait until the last transaction, which was made, is visible
	// pass the lock on in memory, to the next turn of its block; Followed says whether there is one
	HoldFollow
	HoldOffer // look for a waiter to pass the lock to
	HoldPause // before a request is repeated that has failed with Err, if it may succeed later
	HoldWait  // until At
	HoldDone  // it is over; see Result
)

// HoldResult is the result of a call or a heartbeat. That of Release is the phase, if it is final.
type HoldResult int

// The results.
const (
	HoldMade        HoldResult = iota // or released before
	HoldFailed                        // not, or that is not known
	HoldEarlier                       // not: an earlier call has released the lock
	HoldDeclined                      // not: the caller's condition was false
	HoldLost                          // not: the record does not hold the lock
	HoldUnreachable                   // the lock is lost because of Err
	HoldOverwritten                   // the lock is not in its record, and the marks do not say how it ended
)

// HoldAfter is what other waiters learn after the end of a turn.
type HoldAfter int

// The values of HoldAfter.
const (
	AfterNothing HoldAfter = iota
	AfterPassed            // the lock was passed to Next
	AfterWake              // those of this process are woken
)

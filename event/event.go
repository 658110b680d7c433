// Package event defines the events that a Client of package queuelock reports to Config.Observer.
//
// # What it promises
//
// One goroutine calls the [Observer], with the events in the order in which they happened in this process. It is never
// on the path that decides: an Observer that blocks delays no lock, no renewal and no release. Its first
// panic is logged as an error, and the next event follows.
//
// # What it does not promise
//
// That every event arrives. While the Observer blocks, of more than 4096 events the oldest are dropped, and [Dropped]
// says how many: first those of all other types, then Swept and Revoked, Evicted, and [Lost] at last. Client.Close
// waits for the Observer for one second.
//
// # Order
//
//	Ticketed ──► Queued ──► Moved … ──► Granted ──► Renewed … ──► Released or Lost
//	    ▲           overtaken │    └──► NotAcquired
//	    └─────────────────────┘
//
// A lock that is granted at once is not [Queued]. [NotAcquired] may come first, as of a NoWait at a busy lock. If the
// wait ends just as the lock is granted, [Granted], Released and NotAcquired follow each other. [Throttled] may come at
// any time, and [Revoked] once while the lock is held. [Evicted] and [Swept] are about other clients. Where calls wait
// as a block, these and Throttled have the origin of its first call, also after that has ended.
package event

import (
	"context"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Observer receives the events of a Client.
type Observer interface{ Observe(Event) }

// Func is a function as an [Observer].
type Func func(Event)

// Observe calls f.
func (f Func) Observe(e Event) { f(e) }

// Event is one of the types below: use a type switch.
type Event interface {
	// From returns what all events have.
	From() Origin
}

// Origin is what all events have: when, and for which acquire.
type Origin struct {
	Time time.Time // on the local clock
	// Context has the values of the context of the call, and never ends.
	Context context.Context
	// Acquire is the number of the call of Acquire, AcquireAll, LockItem or Resume in this process, from 1. Zero: the
	// event is of no such call.
	Acquire        uint64
	Entity, Reason string // of the lock's Key
	Mode           Mode   // Exclusive if Acquire is zero
	Owner          string // of the client
	Ticket         ticket.Number
}

// From returns the Origin.
func (o Origin) From() Origin { return o }

// Mode is how a lock is held.
type Mode int

// The modes.
const (
	Exclusive Mode = iota
	Shared
	Semaphore
)

func (m Mode) String() string {
	if m < Exclusive || m > Semaphore {
		return fmt.Sprintf("event.Mode(%d)", int(m))
	}
	return [...]string{"exclusive", "shared", "semaphore"}[m]
}

// Ticketed says that a ticket was issued.
type Ticketed struct {
	Origin
	Again bool // in place of an earlier one of this acquire, which was overtaken
}

// Queued says that the acquire begins to wait with a ticket.
type Queued struct {
	Origin
	Ahead   int           // waiters ahead: each ticket of a block is one
	Serving *queue.Holder // of the lowest ticket; nil if none is known
}

// Moved says that the place in the queue or the holder has changed.
type Moved Queued

// Granted says that the lock was granted.
type Granted struct {
	Origin
	Waited time.Duration // since the call began
	// Handover is the time since the last sign of the turn before: a look that showed it, a bell after it, or its end
	// in this process. Without bells it is an upper bound of the time for which the lock was idle. Zero: it is not
	// known, or there was no wait.
	Handover time.Duration
}

// NotAcquired says that a call returns an error, or that one of package once has got its result without the lock.
type NotAcquired struct {
	Origin
	Waited time.Duration // since the call began
	Err    error
}

// Renewed says that the lease was renewed.
type Renewed struct {
	Origin
	Lag    time.Duration // by which the answer came later than HeartbeatInterval after the renewal before
	Margin time.Duration // left of the lease before; both are zero with FailClosed, and Lag with NoHeartbeat
}

// Revoked says that the holder was asked to give way, when it learns of that for the first time.
type Revoked struct {
	Origin
	By, Why      string
	At, Deadline time.Time // on DynamoDB's clock; zero if unknown, or if there is none
}

// Released says that the lock has ended by a release.
type Released struct {
	Origin
	Held time.Duration // from the grant to the call
	Took time.Duration // by the call
	Err  error         // that the table does not show whether it was released; else nil
}

// Lost says that the lock was lost.
type Lost struct {
	Origin
	Held  time.Duration // since the grant
	Cause heartbeat.Cause
	Err   error // of the last renewal, or nil
}

// Evicted says that this client evicted holders.
type Evicted struct {
	Origin
	Count  int           // of holders
	Holder ticket.Number // of the first; zero if it is not known
	Owner  string        // of the first
	By     By
}

// By is why a holder was evicted.
type By int

// The reasons: the lease had ended, or an operator called Evict.
const (
	ByExpiry By = iota
	ByOperator
	ByOperatorForce // of a holder with a lease
)

func (b By) String() string {
	if b < ByExpiry || b > ByOperatorForce {
		return fmt.Sprintf("event.By(%d)", int(b))
	}
	return [...]string{"expiry", "operator", "operator_force"}[b]
}

// Swept says that this client found rows of waiters whose leases had ended.
type Swept struct {
	Origin
	Expired, Removed int // others may remove them at the same time
}

// Throttled says that DynamoDB throttled an attempt of a request for a lock or of Sweep, the SDK's own attempts
// included. It is tried again as after any failure. The Ticket is zero. With ScopeTable the counter may be throttled.
type Throttled struct {
	Origin
	Operation string // as DynamoDB names it
	Limit     Limit
}

// Dropped says how many events were lost before the next one, because the [Observer] was slow.
type Dropped struct {
	Origin
	Count int
}

package turns

import (
	"time"

	"github.com/queuelock/queuelock/ticket"
)

// Instant is a reading of the host's clock, in nanoseconds. Zero is never.
type Instant int64

// Sub returns the time from o to i.
func (i Instant) Sub(o Instant) time.Duration { return time.Duration(i - o) }

// Add returns the instant d after i.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Kind says what a Record reports.
type Kind string

// The kinds of records, in the order in which a turn makes them.
const (
	Ready    Kind = "ready"    // the process runs and has its assignment
	Asked    Kind = "asked"    // before Acquire is called
	Took     Kind = "took"     // a number was taken; At is before that request was sent
	Queued   Kind = "queued"   // the row is present; At is after the answer
	Renewed  Kind = "renewed"  // the row was renewed; At is before the request was sent
	Denied   Kind = "denied"   // Acquire returned an error
	Granted  Kind = "granted"  // Acquire returned the lock; At is after that
	Writing  Kind = "writing"  // before a transaction is sent
	Wrote    Kind = "wrote"    // after it was answered, or given up
	Ended    Kind = "ended"    // before Release is called, or when the lock was lost
	Released Kind = "released" // after Release has returned
	Done     Kind = "done"     // all turns are over, and the client is closed
	Failed   Kind = "failed"   // the process gives up
)

// Record is one line that a worker writes, as JSON.
type Record struct {
	Kind   Kind          `json:"kind"`
	At     Instant       `json:"at"`
	Sent   Instant       `json:"sent,omitempty"` // with queued: before the request was sent
	Entity string        `json:"entity,omitempty"`
	Ticket ticket.Number `json:"ticket,omitzero"`
	Caller int           `json:"caller,omitempty"` // number of the goroutine that takes the turn, if the process has several

	// Waits, with asked: the turn waits in the queue, if it has to.
	Waits bool `json:"waits,omitempty"`

	// Believed is when the lock was last asked whether it is held, and said that
	// it is; zero: it never did. Doubted is when it was first asked and said that
	// it is not. Both are before the question. With granted and ended.
	Believed Instant `json:"believed,omitempty"`
	Doubted  Instant `json:"doubted,omitempty"`

	// Followed, with released: a later turn of the block has begun in memory.
	Followed bool `json:"followed,omitempty"`

	Write *Write `json:"write,omitempty"` // with writing and wrote

	// Error is of denied, wrote, ended, released and failed. Odd says that no
	// injected fault explains it.
	Error string `json:"error,omitempty"`
	Odd   bool   `json:"odd,omitempty"`

	// Usage is what the process has used so far, if it counts.
	Usage Usage `json:"usage,omitzero"`
}

// Write is a transaction on a ledger.
type Write struct {
	ID      string  `json:"id"`
	Probe   bool    `json:"probe,omitempty"` // it changes no turn
	Seq     int     `json:"seq,omitempty"`
	Stale   bool    `json:"stale,omitempty"` // it is sent although the lock says that it is lost
	Late    bool    `json:"late,omitempty"`  // it is sent after the lock was released
	Bare    bool    `json:"bare,omitempty"`  // it has no fence: a planted mistake
	Outcome Outcome `json:"outcome,omitempty"`
}

// Outcome is what a transaction did, as far as its sender knows.
type Outcome string

// The outcomes.
const (
	Applied Outcome = "applied" // the answer says so
	Refused Outcome = "refused" // the fence refused it, or the lock did before it was sent
	Unknown Outcome = "unknown" // no answer, or none that says
)

// Usage counts requests to DynamoDB as a client sees them.
type Usage struct {
	// Requests are attempts that were sent, repetitions by the SDK included.
	Requests int `json:"requests"`
	// WriteUnits and ReadUnits are the capacity units that answers reported. A
	// write refused by its condition reports none and counts as one unit. A
	// request without an answer counts as one unit.
	WriteUnits float64 `json:"write_units"`
	ReadUnits  float64 `json:"read_units"`
}

// Add returns the sum of both.
func (u Usage) Add(o Usage) Usage {
	return Usage{Requests: u.Requests + o.Requests, WriteUnits: u.WriteUnits + o.WriteUnits, ReadUnits: u.ReadUnits + o.ReadUnits}
}

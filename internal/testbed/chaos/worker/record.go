package worker

import "time"

// Instant is a reading of the host's clock, in nanoseconds. Zero is never.
type Instant int64

// Sub is the time from o to i.
func (i Instant) Sub(o Instant) time.Duration { return time.Duration(i - o) }

// Add is the instant d after i.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Kind says what a Record reports.
type Kind string

// The kinds of records, in the order in which a turn makes them.
const (
	Ready    Kind = "ready"    // the process runs and has its assignment
	Asked    Kind = "asked"    // before Acquire is called
	Denied   Kind = "denied"   // Acquire returned an error
	Granted  Kind = "granted"  // Acquire returned the lock, and it was asked whether it is held
	Writing  Kind = "writing"  // before a transaction is sent
	Wrote    Kind = "wrote"    // after it was answered, or given up
	Ended    Kind = "ended"    // before Release is called
	Released Kind = "released" // after Release has returned
	Done     Kind = "done"     // the client is closed
	Failed   Kind = "failed"   // the process gives up
)

// Outcome is what came of a transaction, as its sender can tell.
type Outcome string

// The outcomes.
const (
	Applied Outcome = "applied" // the answer says so
	Refused Outcome = "refused" // the fence refused it, or the lock did before it was sent
	Unknown Outcome = "unknown" // no answer, or none that says
)

// Record is one line that a worker writes, as JSON.
type Record struct {
	Kind   Kind    `json:"kind"`
	At     Instant `json:"at"`
	Entity string  `json:"entity,omitempty"`
	Ticket uint64  `json:"ticket,omitempty"`

	// Waits, with asked: the attempt waits in the queue, if it has to.
	Waits bool `json:"waits,omitempty"`

	// Believed is when the lock was last asked whether it is held, and said
	// that it is; zero: it never did. Doubted is when it was first asked and
	// said that it is not. Both are before the question. With granted and
	// ended.
	Believed Instant `json:"believed,omitempty"`
	Doubted  Instant `json:"doubted,omitempty"`

	Write *Write `json:"write,omitempty"` // with writing and wrote

	// Error is of denied, wrote, ended, released and failed; Odd says that it
	// is none of those that faults explain.
	Error string `json:"error,omitempty"`
	Odd   bool   `json:"odd,omitempty"`
}

// Write is a transaction on the ledger.
type Write struct {
	ID      string  `json:"id"`
	Probe   bool    `json:"probe,omitempty"` // it changes no turn
	Seq     int     `json:"seq,omitempty"`
	Stale   bool    `json:"stale,omitempty"` // it is sent although the lock says that it is lost
	Bare    bool    `json:"bare,omitempty"`  // it has no fence: a planted mistake
	Outcome Outcome `json:"outcome,omitempty"`
}

// Assignment is what a worker is to do: the first line on its standard input.
type Assignment struct {
	Name      string
	Table     string
	Entities  []string
	Home      int // index of the entity for which it asks most of the time
	Seed      uint64
	TTL       time.Duration
	WaiterTTL time.Duration
	// LongestTurn bounds a turn's work; it is at least a twentieth of that.
	LongestTurn time.Duration
	// Unfenced is a planted mistake: the worker does not ask whether it still
	// holds the lock, and writes without the fence.
	Unfenced bool
}

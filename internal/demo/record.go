package demo

import (
	"time"

	"github.com/queuelock/queuelock/ticket"
)

// Instant is a reading of the host's clock, in nanoseconds. Zero is never.
type Instant int64

// Sub is the time from o to i.
func (i Instant) Sub(o Instant) time.Duration { return time.Duration(i - o) }

// Add is the instant d after i.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Kind says what a Record reports.
type Kind string

// The kinds of records, in the order in which a round makes them.
const (
	Ready    Kind = "ready"    // the process runs and has its assignment
	Asked    Kind = "asked"    // before Acquire is called
	Took     Kind = "took"     // a number was taken; At is before that request was sent
	Queued   Kind = "queued"   // the row stands; At is after the answer
	Renewed  Kind = "renewed"  // the row was renewed; At is before the request was sent
	Granted  Kind = "granted"  // after Acquire has returned
	Ended    Kind = "ended"    // before Release is called, or when the lock was lost
	Released Kind = "released" // after Release has returned
	Done     Kind = "done"     // all rounds are over, and the client is closed
	Failed   Kind = "failed"   // the process gives up
)

// Record is one line that a worker writes, as JSON.
type Record struct {
	Kind   Kind          `json:"kind"`
	At     Instant       `json:"at"`
	Sent   Instant       `json:"sent,omitempty"` // with queued: before the request was sent
	Round  int           `json:"round,omitempty"`
	Ticket ticket.Number `json:"ticket,omitzero"`
	Lost   bool          `json:"lost,omitempty"`  // with ended: the lock was lost
	Error  string        `json:"error,omitempty"` // with failed
	// Usage is what the process has used up to now.
	Usage Usage `json:"usage"`
}

// Usage counts requests to DynamoDB as a client sees them.
type Usage struct {
	// Requests are attempts that were sent, repetitions by the SDK included.
	Requests int `json:"requests"`
	// WriteUnits and ReadUnits are the capacity units that answers reported.
	// An answer that refuses a write by its condition reports none, and counts
	// as the one unit that it costs (items are less than 1 KB). What a request
	// cost whose answer was not awaited is not known, and not in it.
	WriteUnits float64 `json:"write_units"`
	ReadUnits  float64 `json:"read_units"`
}

// Add is the sum of both.
func (u Usage) Add(o Usage) Usage {
	return Usage{Requests: u.Requests + o.Requests, WriteUnits: u.WriteUnits + o.WriteUnits, ReadUnits: u.ReadUnits + o.ReadUnits}
}

// Assignment is what a worker is to do: the first line on its standard input.
type Assignment struct {
	Table, Entity string
	Owner         string
	First, Last   int // rounds
	Hold          time.Duration
	TTL           time.Duration
	WaiterTTL     time.Duration
	// Doomed is the round in whose turn the worker never comes to an end: it is
	// to be killed there. Zero: none.
	Doomed int
}

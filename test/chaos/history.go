package chaos

import (
	"time"

	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/workload/crew"
	"github.com/queuelock/queuelock/internal/workload/turns"
	"github.com/queuelock/queuelock/test/chaos/ledger"
	"github.com/queuelock/queuelock/ticket"
)

// Instant is a reading of the clock that all processes of the host share.
type Instant = turns.Instant

// Write is a transaction on a ledger.
type Write struct {
	turns.Write
	Worker, Entity string
	Ticket         ticket.Number
	Sent, Answered Instant // Answered is zero if its sender died first
	Error          string
}

// Span is a time in which a worker or the engine was not running: from when it was surely
// paused to before it was resumed.
type Span struct {
	Worker   string // empty: the engine
	From, To Instant
}

// Fault is what was done to a request.
type Fault struct {
	At        Instant
	Entity    string // that it was about
	Operation string
	Kind      fault.Kind
	Late      bool // of a copy: it is forwarded now
}

// Error is an error that no fault explains.
type Error struct{ Worker, What string }

// History is all that happened in a run.
type History struct {
	TTL, WaiterTTL time.Duration
	Late           time.Duration // the longest delay of a duplicate
	Entities       []string
	Began, Ended   Instant // of the faults
	Restarted      bool    // the only faults were restarts of an engine that keeps client request tokens

	Turns   []turns.Turn
	Writes  []Write
	Stops   []Span
	Downs   []Span
	Faults  []Fault
	Errors  []Error
	Orphans []string // what was left in the table when all had left
	Ledgers map[string]ledger.Contents
}

// add takes in a record of a write, or of an error that no fault explains. Turns
// are taken from the crew in the end.
func (h *History) add(p *crew.Process, r turns.Record) {
	switch {
	case r.Write == nil:
	case r.Kind == turns.Writing:
		h.Writes = append(h.Writes, Write{Write: *r.Write, Worker: p.Worker, Entity: r.Entity, Ticket: r.Ticket, Sent: r.At})
		h.Writes[len(h.Writes)-1].Outcome = turns.Unknown
	case r.Kind == turns.Wrote:
		// The latest comes first: few are under way.
		for i := len(h.Writes) - 1; i >= 0; i-- {
			if w := &h.Writes[i]; w.ID == r.Write.ID {
				w.Outcome, w.Answered, w.Error = r.Write.Outcome, r.At, r.Error
				break
			}
		}
	}
	if r.Odd {
		h.Errors = append(h.Errors, Error{p.Worker, string(r.Kind) + ": " + r.Error})
	}
}

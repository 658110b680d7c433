package chaos

import (
	"time"

	"github.com/queuelock/queuelock/internal/testbed/chaos/ledger"
	"github.com/queuelock/queuelock/internal/testbed/chaos/worker"
	"github.com/queuelock/queuelock/internal/testbed/faultproxy"
)

// Instant is a reading of the clock that all processes of the host share.
type Instant = worker.Instant

// Attempt is one Acquire.
type Attempt struct {
	Worker, Entity string
	Asked          Instant
	Over           Instant // when it returned, or its process was gone; zero: not known
	Waits          bool    // in the queue, if it has to
}

// Turn is one lock that was granted.
type Turn struct {
	Worker, Entity string
	Ticket         uint64
	Asked, Granted Instant
	// From and Believed are when the lock was first and last asked whether it
	// is held, and said that it is; zero: it never did, or nobody knows.
	From, Believed Instant
	// Doubted is when it was first asked and said that it is not.
	Doubted Instant
	Ended   Instant // before Release; zero: the process died in it
}

// Write is a transaction on a ledger.
type Write struct {
	worker.Write
	Worker, Entity string
	Ticket         uint64
	Sent, Answered Instant // Answered is zero if its sender died first
	Error          string
}

// Kill is the SIGKILL of a worker. At is before it was sent.
type Kill struct {
	Worker string
	At     Instant
}

// Span is a time in which a worker or the engine was not running: from when it
// surely stood still to before it was set going again.
type Span struct {
	Worker   string // empty: the engine
	From, To Instant
}

// Fault is what was done to a request.
type Fault struct {
	At     Instant
	Entity string // that it was about
	Entry  faultproxy.Entry
}

// Error is an error that no fault explains.
type Error struct{ Worker, What string }

// History is all that happened in a run.
type History struct {
	TTL, WaiterTTL time.Duration
	Late           time.Duration // after how long a duplicate comes at the latest
	Entities       []string
	Began, Ended   Instant // of the faults

	Attempts []Attempt
	Turns    []Turn
	Writes   []Write
	Kills    []Kill
	Stops    []Span
	Downs    []Span
	Faults   []Fault
	Errors   []Error
	Ghosts   []string // what was left in the table when all had left
	Ledgers  map[string]ledger.Contents
}

// track is where in its round a process is.
type track struct {
	attempt, turn int // the indices of the one under way, plus one; zero: none
	writes        map[string]int
}

// add takes a record in.
func (h *History) add(p *process, r worker.Record) {
	t := &p.track
	switch r.Kind {
	case worker.Asked:
		h.Attempts = append(h.Attempts, Attempt{Worker: p.name, Entity: r.Entity, Asked: r.At, Waits: r.Waits})
		t.attempt = len(h.Attempts)
	case worker.Denied:
		h.over(p, r.At)
	case worker.Granted:
		asked := h.over(p, r.At)
		h.Turns = append(h.Turns, Turn{
			Worker: p.name, Entity: r.Entity, Ticket: r.Ticket, Asked: asked, Granted: r.At,
			From: r.Believed, Believed: r.Believed, Doubted: r.Doubted,
		})
		t.turn = len(h.Turns)
	case worker.Writing:
		if t.writes == nil {
			t.writes = map[string]int{}
		}
		h.Writes = append(h.Writes, Write{Write: *r.Write, Worker: p.name, Entity: r.Entity, Ticket: r.Ticket, Sent: r.At})
		h.Writes[len(h.Writes)-1].Outcome = worker.Unknown
		t.writes[r.Write.ID] = len(h.Writes)
	case worker.Wrote:
		if r.Write == nil {
			break
		}
		if i := t.writes[r.Write.ID]; i > 0 {
			w := &h.Writes[i-1]
			w.Outcome, w.Answered, w.Error = r.Write.Outcome, r.At, r.Error
		}
	case worker.Ended:
		if t.turn > 0 {
			turn := &h.Turns[t.turn-1]
			turn.Believed, turn.Doubted, turn.Ended = max(turn.Believed, r.Believed), r.Doubted, r.At
			t.turn = 0
		}
	case worker.Done:
		p.done = true
	case worker.Failed:
		p.failure = r.Error
	}
	if r.Odd {
		h.Errors = append(h.Errors, Error{p.name, string(r.Kind) + ": " + r.Error})
	}
}

// over ends the attempt that is under way, and returns when it began.
func (h *History) over(p *process, at Instant) (asked Instant) {
	i := p.track.attempt
	if i == 0 {
		return 0
	}
	h.Attempts[i-1].Over, p.track.attempt = at, 0
	return h.Attempts[i-1].Asked
}

// holding is the turn that a process has not ended, or nil.
func (h *History) holding(p *process) *Turn {
	if p.track.turn == 0 {
		return nil
	}
	return &h.Turns[p.track.turn-1]
}

package turns

import (
	"time"

	"github.com/queuelock/queuelock/ticket"
)

// Track makes turns of the records of one process.
type Track struct {
	Worker string
	Turns  []*Turn // in order
	Usage  Usage

	rowLease time.Duration
	taken    map[ticket.Number]taking
}

// taking is a number that was taken.
type taking struct {
	turn *Turn
	sent Instant
}

// NewTrack makes the Track of a worker whose rows have a lease of that length.
func NewTrack(worker string, rowLease time.Duration) *Track {
	return &Track{Worker: worker, rowLease: rowLease, taken: map[ticket.Number]taking{}}
}

// Current returns the latest turn, or nil.
func (t *Track) Current() *Turn {
	if len(t.Turns) == 0 {
		return nil
	}
	return t.Turns[len(t.Turns)-1]
}

// Holding returns the turn that the process holds a lock in, or nil.
func (t *Track) Holding() *Turn {
	if turn := t.Current(); turn != nil && turn.Holding() {
		return turn
	}
	return nil
}

// Waiting returns the turn that the process waits in, or nil.
func (t *Track) Waiting() *Turn {
	if turn := t.Current(); turn != nil && turn.Waiting() {
		return turn
	}
	return nil
}

// Add takes in the next record. It returns the turn that the record belongs to,
// or nil.
func (t *Track) Add(r Record) *Turn {
	t.Usage = r.Usage
	turn := t.Current()
	switch r.Kind {
	case Asked:
		turn = &Turn{Worker: t.Worker, Entity: r.Entity, Asked: r.At, Took: r.At, Waits: r.Waits}
		t.Turns = append(t.Turns, turn)
	case Took:
		t.taken[r.Ticket] = taking{turn, r.At}
	case Queued, Renewed:
		// By its ticket, because the answer may be later than the grant.
		if turn = t.taken[r.Ticket].turn; turn != nil {
			turn.place(r, t.rowLease)
		}
	case Denied, Granted, Ended:
		if turn != nil {
			t.pass(turn, r)
		}
	}
	return turn
}

// pass takes in a step of the turn that is under way.
func (t *Track) pass(turn *Turn, r Record) {
	switch r.Kind {
	case Denied:
		turn.Denied = r.At
	case Granted:
		turn.Granted, turn.Ticket = r.At, r.Ticket
		turn.From, turn.Until, turn.Doubted = r.Believed, r.Believed, r.Doubted
		if taken, ok := t.taken[r.Ticket]; ok {
			turn.Took = taken.sent
		}
	case Ended:
		turn.Until, turn.Doubted, turn.Ended = max(turn.Until, r.Believed), r.Doubted, r.At
	}
}

// place takes in the answer to a row's put or renewal.
func (t *Turn) place(r Record, lease time.Duration) {
	if r.Kind == Queued {
		t.Places = append(t.Places, Place{Ticket: r.Ticket, Stood: r.At, Until: r.Sent.Add(lease)})
		return
	}
	for i := len(t.Places) - 1; i >= 0; i-- {
		if p := &t.Places[i]; p.Ticket == r.Ticket {
			p.Until = max(p.Until, r.At.Add(lease))
			return
		}
	}
}

// Died ends the turn that is under way, because the process is gone. killed is
// zero if it was not killed.
func (t *Track) Died(gone, killed Instant) {
	if turn := t.Current(); turn != nil && (turn.Waiting() || turn.Holding()) {
		turn.Gone, turn.KilledAt = gone, killed
	}
}

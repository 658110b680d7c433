package turns

import (
	"slices"
	"time"

	"github.com/queuelock/queuelock/ticket"
)

// Track makes turns of the records of one process.
type Track struct {
	Worker string
	Turns  []*Turn // in order
	Usage  Usage

	latest   []*Turn // by caller; nil: it has not asked yet
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

// UnderWay returns the turns in which the process holds a lock or waits for one: at most one of each caller.
func (t *Track) UnderWay() (all []*Turn) {
	for _, turn := range t.latest {
		if turn != nil && (turn.Holding() || turn.Waiting()) {
			all = append(all, turn)
		}
	}
	return all
}

// Holding returns a turn that the process holds a lock in, or nil.
func (t *Track) Holding() *Turn { return t.first((*Turn).Holding) }

// Waiting returns a turn that the process waits in, or nil.
func (t *Track) Waiting() *Turn { return t.first((*Turn).Waiting) }

func (t *Track) first(is func(*Turn) bool) *Turn {
	all := t.UnderWay()
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}

// Add takes in the next record. It returns the turn that the record belongs to,
// or nil.
func (t *Track) Add(r Record) *Turn {
	t.Usage = r.Usage
	for len(t.latest) <= r.Caller {
		t.latest = append(t.latest, nil)
	}
	turn := t.latest[r.Caller]
	switch r.Kind {
	case Asked:
		turn = &Turn{Worker: t.Worker, Entity: r.Entity, Asked: r.At, Took: r.At, Waits: r.Waits}
		t.Turns = append(t.Turns, turn)
		t.latest[r.Caller] = turn
	case Took:
		t.taken[r.Ticket] = taking{turn, r.At}
	case Queued, Renewed:
		// By its ticket, because the answer may be later than the grant.
		if turn = t.taken[r.Ticket].turn; turn != nil {
			turn.place(r, t.rowLease)
		}
	case Denied, Granted, Ended, Released:
		if turn != nil {
			t.pass(turn, r)
		}
	}
	return turn
}

// pass takes in a step of a turn.
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
	case Released:
		turn.Followed = r.Followed
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

// Died ends the turns that are under way, because the process is gone. killed is
// zero if it was not killed.
func (t *Track) Died(gone, killed Instant) {
	for _, turn := range t.UnderWay() {
		turn.Gone, turn.KilledAt = gone, killed
	}
}

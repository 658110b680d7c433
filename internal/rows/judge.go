package rows

import (
	"time"

	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Action is what a waiter does next about its turn.
type Action int

// The actions, in the order in which they are considered. The order matters:
// one's own id counts before the floor, because a grant raises the floor to
// one's own ticket.
const (
	Served    Action = iota // one of my ids is in the record
	Overtaken               // my ticket can never be granted: leave the row, take anew
	TakeAnew                // the queue is off the claiming path: take anew
	Wait                    // a live row is ahead, or somebody is being served
	Claim                   // it is my turn to try
)

// Decision is what a Snapshot means for one ticket.
type Decision struct {
	Do Action

	Me serving.Holder // if Served

	Ahead int // live rows ahead
	// Turns is how many turns those ahead make at the least: rows that share
	// take theirs together, and with holders that share.
	Turns int
	// Joins says that one's own turn begins with the last of them, or, without
	// any, with the present one: all of them share.
	Joins       bool
	Holders     int              // live holders
	DeadRows    []Row            // to sweep: expired, ahead or below the floor
	DeadHolders []serving.Holder // to evict, in the way or not

	// ClearIn is how long it takes at the least until everything that is in
	// the way has expired, should none of it move any more.
	ClearIn time.Duration

	// Blocked is what is wrong with a row ahead, or with a holder whose entry
	// cannot be read, if there is one.
	Blocked error
	// Stuck is Blocked if nothing else is in the way: the lease of such a holder
	// is not known, so only its owner or an operator can end its turn.
	Stuck error
}

// Decide says what a snapshot means for ticket t, whose owner would hold in that
// mode and used ids so far.
// Leases are judged, and remembered, by the observer. It makes no request: the
// dead are for the caller to sweep, and count as gone; if one of them turns
// out to live, judge a new snapshot.
func (s Snapshot) Decide(q table.Queue, t ticket.Number, mode serving.Mode, ids []string, observer *lease.Observer) Decision {
	var j Decision
	floor := s.Record.Floor()
	readable := 0
	for _, h := range s.Record.Holders {
		left := observer.See(h.LeaseID(q), h.Lease, s.ReadAt)
		if left <= 0 {
			j.DeadHolders = append(j.DeadHolders, h)
			continue
		}
		j.Holders++
		j.ClearIn = max(j.ClearIn, left)
		if h.Unreadable() {
			j.Blocked = h.Problem
		} else {
			readable++
		}
	}
	unreadable := j.Blocked
	sharing := j.Holders > 0 && s.Record.Shared
	for _, row := range s.Rows { // in the order of tickets
		left := observer.See(row.LeaseID(q), row.Lease, s.ReadAt)
		switch {
		case left <= 0:
			j.DeadRows = append(j.DeadRows, row)
		case floor.Less(row.Ticket) && row.Ticket.Less(t):
			j.Ahead++
			if !sharing || !row.Shared() {
				j.Turns++
			}
			sharing = row.Shared()
			j.ClearIn = max(j.ClearIn, left)
			if row.Problem != nil {
				j.Blocked = row.Problem
			}
		}
	}
	j.Joins = sharing && mode.Shared
	if j.Ahead == 0 && readable == 0 && !mode.Room(s.Record, j.Holders) {
		j.Stuck = unreadable
	}
	me, mine := s.Record.Mine(ids...)
	switch {
	case mine:
		j.Do, j.Me = Served, me
	case t.Compare(floor) <= 0, s.Record.Present && s.Record.TicketNumber.Less(t):
		// The second: the record was deleted and made anew. Its counter did not
		// issue this ticket.
		j.Do = Overtaken
	case !s.Record.Present:
		j.Do = TakeAnew
	case j.Ahead > 0 || !mode.Room(s.Record, j.Holders):
		j.Do = Wait
	default:
		j.Do = Claim
	}
	return j
}

package queue

import (
	"time"

	"github.com/queuelock/queuelock/ticket"
)

// Action is what a waiter does next about its turn.
type Action int

// The actions, in the order in which they are considered. The waiter's own id counts
// before the floor, because its grant raises the floor to its ticket.
const (
	ActionServed    Action = iota // one of the waiter's ids is in the record
	ActionOvertaken               // the ticket can never be granted: take a new one
	ActionNewTicket               // holders is absent: take a new ticket
	ActionWait                    // a live row is ahead, or the holders leave no room
	ActionClaim                   // the turn may have come
)

// Leases are the shortest remaining times of the leases of a [Snapshot], in the order of its
// holders and rows. Zero or less: it has ended.
type Leases struct{ Holders, Rows []time.Duration }

// Decision is what a [Snapshot] means for one ticket.
type Decision struct {
	Do Action

	Ahead   int // live rows ahead
	Waiters int // of these: each ticket of a block is one
	// Turns is the least number of turns that the rows ahead need. Adjacent rows that share the lock have one turn
	// together, and no turn of their own behind holders that share it.
	Turns int
	// Joins reports that the waiter shares the last of these turns, or the present one if there are none.
	Joins          bool
	Holders        int      // live holders
	ExpiredRows    []Waiter // to sweep: all of the snapshot
	ExpiredHolders []Holder // to evict, in the way or not

	// ClearIn is the shortest time until everything in the way has expired, if it is not renewed.
	ClearIn time.Duration

	// Blocked is the problem of a row ahead or a holder that cannot be read.
	Blocked error
	// Stuck is Blocked if nothing else is in the way. The lease of such a holder is not
	// known, so only its owner or an operator can end its turn.
	Stuck error
}

// Decide returns what the snapshot means for a waiter with ticket t, that mode, and ids
// that it has used so far. What has expired counts as gone, and
// the caller removes it. If that is refused, the caller decides again by a new snapshot.
func (s Snapshot) Decide(leases Leases, t ticket.Number, mode Mode, ids []string) Decision {
	var d Decision
	for i, h := range s.Record.Holders {
		if !h.Accepted() {
			leases.Holders[i] = s.Lasts(i, leases, t)
		}
	}
	readable := d.countHolders(s.Record.Holders, leases.Holders)
	unreadable := d.Blocked
	sharing := d.countRows(s, leases.Rows, t)
	room := s.Record.Room(mode, d.ExpiredHolders)
	d.Joins = sharing && mode.Shared
	if d.Ahead == 0 && readable == 0 && !room {
		d.Stuck = unreadable
	}
	floor := s.Record.Floor()
	_, served := s.Record.Mine(ids...)
	switch {
	case served:
		d.Do = ActionServed
	case t.Compare(floor) <= 0, s.Record.Present && s.Record.TicketNumber.Less(t):
		// The second: the record was deleted and seeded again. Its counter did not issue this ticket.
		d.Do = ActionOvertaken
	case !s.Record.Present:
		d.Do = ActionNewTicket
	case d.Ahead > 0 || !room:
		d.Do = ActionWait
	default:
		d.Do = ActionClaim
	}
	return d
}

// countHolders counts the holders. It returns how many of the live ones can be read.
func (d *Decision) countHolders(holders []Holder, left []time.Duration) (readable int) {
	for i, h := range holders {
		if left[i] <= 0 {
			d.ExpiredHolders = append(d.ExpiredHolders, h)
			continue
		}
		d.Holders++
		d.ClearIn = max(d.ClearIn, left[i])
		if h.Unreadable() {
			d.Blocked = h.Problem
		} else {
			readable++
		}
	}
	return readable
}

// countRows counts the live rows between the floor and t. It returns whether the last of
// them shares, or the holders if there is none.
func (d *Decision) countRows(s Snapshot, left []time.Duration, t ticket.Number) (sharing bool) {
	floor := s.Record.Floor()
	sharing = d.Holders > 0 && s.Record.Shared
	for i, row := range s.Rows {
		switch {
		case left[i] <= 0:
			d.ExpiredRows = append(d.ExpiredRows, row)
		case floor.Less(row.Ticket) && row.Ticket.Less(t):
			d.Ahead++
			d.Waiters += row.turns()
			if !sharing || !row.Shared {
				d.Turns++
			}
			sharing = row.Shared
			d.ClearIn = max(d.ClearIn, left[i])
			if row.Problem != nil {
				d.Blocked = row.Problem
			}
		}
	}
	return sharing
}

package rows

import (
	"cmp"
	"time"

	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Action is what a waiter does next about its turn.
type Action int

// The actions, in the order in which they are considered. The waiter's own id counts
// before the floor, because its grant raises the floor to its ticket.
const (
	Served    Action = iota // one of the waiter's ids is in the record
	Overtaken               // the ticket can never be granted: take a new one
	NewTicket               // holders is absent: take a new ticket
	Wait                    // a live row is ahead, or the holders leave no room
	Claim                   // the turn may have come
)

// Decision is what a Snapshot means for one ticket.
type Decision struct {
	Do             Action
	Me             serving.Holder   // if Served
	Holders        int              // live holders
	Ahead          int              // live rows ahead
	Turns          int              // the fewest turns of the rows ahead; those that share have one together
	Joins          bool             // the waiter shares the last of these turns, or the present one
	ExpiredRows    []Row            // to sweep: ahead or below the floor
	ExpiredHolders []serving.Holder // to evict, in the way or not
	ClearIn        time.Duration    // the shortest time until all in the way has expired, if not renewed
	Blocked        error            // the problem of a row ahead or a holder that cannot be read
	// Stuck is Blocked if nothing else is in the way. The lease of such a holder is not
	// known, so only its owner or an operator can end its turn.
	Stuck error
}

// Decide returns what the snapshot means for a waiter with ticket t, that mode, and ids
// that it has used so far. It shows all leases to the observer, and makes no request. What
// has expired counts as gone, and the caller removes it. If that is refused, the caller
// decides again by a new snapshot.
func (s Snapshot) Decide(q table.Queue, observer *lease.Observer, t ticket.Number, mode serving.Mode,
	ids []string) Decision {
	var d Decision
	var mine bool
	readable := d.countHolders(s, q, observer)
	unreadable := d.Blocked
	d.Joins = d.countRows(s, q, observer, t) && mode.Shared
	room := mode.Room(s.Record, d.Holders)
	if d.Ahead == 0 && readable == 0 && !room {
		d.Stuck = unreadable
	}
	switch d.Me, mine = s.Record.Mine(ids...); {
	case mine:
		d.Do = Served
	case t.Compare(s.Record.Floor()) <= 0, s.Record.Present && s.Record.TicketNumber.Less(t):
		// The second: the record was deleted and seeded again. Its counter did not issue
		// this ticket.
		d.Do = Overtaken
	case !s.Record.Present:
		d.Do = NewTicket
	case d.Ahead > 0 || !room:
		d.Do = Wait
	default:
		d.Do = Claim
	}
	return d
}

// countHolders counts the holders. It returns how many of the live ones can be read.
func (d *Decision) countHolders(s Snapshot, q table.Queue, observer *lease.Observer) (readable int) {
	for _, h := range s.Record.Holders {
		left := observer.See(h.LeaseID(q), h.Lease, s.ReadAt)
		if left <= 0 {
			d.ExpiredHolders = append(d.ExpiredHolders, h)
			continue
		}
		d.Holders++
		d.ClearIn = max(d.ClearIn, left)
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
func (d *Decision) countRows(s Snapshot, q table.Queue, observer *lease.Observer, t ticket.Number) (sharing bool) {
	floor := s.Record.Floor()
	sharing = d.Holders > 0 && s.Record.Shared
	for _, row := range s.Rows {
		left := observer.See(row.LeaseID(q), row.Lease, s.ReadAt)
		switch {
		case left <= 0:
			d.ExpiredRows = append(d.ExpiredRows, row)
		case floor.Less(row.Ticket) && row.Ticket.Less(t):
			d.Ahead++
			if !sharing || !row.Shared() {
				d.Turns++
			}
			sharing = row.Shared()
			d.ClearIn = max(d.ClearIn, left)
			d.Blocked = cmp.Or(row.Problem, d.Blocked)
		}
	}
	return sharing
}

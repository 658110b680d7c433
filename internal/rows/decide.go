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
	Served    Action = iota // one of the waiter's ids is in the record
	Overtaken               // the ticket can never be granted: leave the row, take a new one
	NewTicket               // the queue is off the claiming path: take a new ticket
	Wait                    // a live row is ahead, or the lock is held
	Claim                   // the turn may have come: try
)

// Leases says how long each lease of a Snapshot lives on at least, in the order
// of its holders and rows. Zero or less: it has ended.
type Leases struct{ Holders, Rows []time.Duration }

// Observe has the observer record the leases that the snapshot shows, and
// returns how long each lives on. It makes no request.
func (s Snapshot) Observe(q table.Queue, observer *lease.Observer) Leases {
	var l Leases
	for _, h := range s.Record.Holders {
		l.Holders = append(l.Holders, observer.See(h.LeaseID(q), h.Lease, s.ReadAt))
	}
	for _, row := range s.Rows {
		l.Rows = append(l.Rows, observer.See(row.LeaseID(q), row.Lease, s.ReadAt))
	}
	return l
}

// Decision is what a Snapshot means for one ticket.
type Decision struct {
	Do Action

	Me serving.Holder // if Served

	Ahead int // live rows ahead
	// Turns is how many turns the rows ahead make at least: rows that share
	// take theirs together, and with holders that share.
	Turns int
	// Joins says that one's own turn begins with the last of them, or, without
	// any, with the present one: all of them share.
	Joins          bool
	Holders        int              // live holders
	ExpiredRows    []Row            // to sweep: ahead or below the floor
	ExpiredHolders []serving.Holder // to evict, in the way or not

	// ClearIn is how long it takes at least until everything that is in the way
	// has expired, if none of it is renewed.
	ClearIn time.Duration

	// Blocked is what is wrong with a row ahead, or with a holder whose entry
	// cannot be read, if there is one.
	Blocked error
	// Stuck is Blocked if nothing else is in the way: the lease of such a holder
	// is not known, so only its owner or an operator can end its turn.
	Stuck error
}

// Decide returns what the snapshot means for ticket t, if the owner would hold in
// that mode, used ids so far, and the leases live on as Observe says. What has
// expired is for the caller to remove, and counts as gone. If one of those has
// been renewed meanwhile, decide again by a new snapshot.
func (s Snapshot) Decide(leases Leases, t ticket.Number, mode serving.Mode, ids []string) Decision {
	var d Decision
	readable := d.countHolders(s.Record.Holders, leases.Holders)
	unreadable := d.Blocked
	sharing := d.countRows(s, leases.Rows, t)
	room := mode.Room(s.Record, d.Holders)
	d.Joins = sharing && mode.Shared
	if d.Ahead == 0 && readable == 0 && !room {
		d.Stuck = unreadable
	}
	floor := s.Record.Floor()
	me, mine := s.Record.Mine(ids...)
	switch {
	case mine:
		d.Do, d.Me = Served, me
	case t.Compare(floor) <= 0, s.Record.Present && s.Record.TicketNumber.Less(t):
		// The second: the record was deleted and made again. Its counter did not
		// issue this ticket.
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

// countHolders returns how many of the live holders can be read.
func (d *Decision) countHolders(holders []serving.Holder, left []time.Duration) (readable int) {
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

// countRows counts the live rows between the floor and t, which come in the order
// of their tickets. It returns whether the last of them shares, or without any the
// holders.
func (d *Decision) countRows(s Snapshot, left []time.Duration, t ticket.Number) (sharing bool) {
	floor := s.Record.Floor()
	sharing = d.Holders > 0 && s.Record.Shared
	for i, row := range s.Rows {
		switch {
		case left[i] <= 0:
			d.ExpiredRows = append(d.ExpiredRows, row)
		case floor.Less(row.Ticket) && row.Ticket.Less(t):
			d.Ahead++
			if !sharing || !row.Shared() {
				d.Turns++
			}
			sharing = row.Shared()
			d.ClearIn = max(d.ClearIn, left[i])
			if row.Problem != nil {
				d.Blocked = row.Problem
			}
		}
	}
	return sharing
}

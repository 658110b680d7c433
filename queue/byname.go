package queue

import (
	"slices"
	"time"

	"github.com/queuelock/queuelock/ticket"
)

// A grant by name: as a holder releases the lock, it grants it to the row with the next ticket, which it has read. The
// entry has the lease of that row. Its waiter sees the grant with a look, keeps the row (Place.Hold), and accepts the
// grant by the first heartbeat of its Hold. If it looks so late that the lease is over, or nearly, it accepts first
// (Accepting).
//
// Until it is accepted, the entry ends with the row, and not with its own lease: a live waiter loses no turn because it
// looked late. As long as the row lives, no other waiter could be granted the lock without names either. A row that is
// missing shows that its waiter left before it saw the grant, or that its lease has ended.
//
// Two alternatives were built, and not kept. With a lease of its own for the unaccepted entry, a live waiter that
// sleeps for longer loses its place, so limits are needed of who may be named, and of who may sleep. An accept write
// before each use takes as many requests, one after the other, as a claim.

// GrantByName returns the grant that the holder before writes for the waiter of the row. Its entry has the lease of
// the row as it was read. since is the best guess of DynamoDB's clock, or zero. ok is false for a row that may not be
// named, and for one that this library does not write, such as one with the id of the holder's entry.
func (w Waiter) GrantByName(holder string, since time.Time) (next Next, ok bool) {
	if w.EntryID == "" || w.Problem != nil || w.Lease.Until.IsZero() {
		return Next{}, false
	}
	if w.EntryID == holder || len(w.EntryID) > maxID || len(w.Owner) > MaxOwner || w.Shared {
		return Next{}, false
	}
	return Next{Ticket: w.Ticket, Entry: Entry{
		ID: w.EntryID, Owner: w.Owner, Since: since, Named: true,
		Lease: Lease{TTL: w.Lease.TTL, Until: w.Lease.Until}, Turns: w.Turns, Bell: w.Bell,
	}}, true
}

// Accepted reports whether the holder has written to its entry itself, if a release has named it. It may have written
// to one that cannot be read.
func (h Holder) Accepted() bool { return !h.Named || h.Lease.Beat > 0 || h.Problem != nil }

// Unaccepted returns the id of the holder that has not accepted its grant; empty if there is none. Locks that several
// hold are not granted by name.
func (r Record) Unaccepted() string {
	for _, h := range r.Holders {
		if !h.Accepted() {
			return h.ID
		}
	}
	return ""
}

// Lasts returns for how long a holder that has not accepted its grant keeps the lock: as long as its row. left are the
// leases of the snapshot. The holder keeps the row until it has accepted the grant, or ended its turn. So if the row is
// missing, its waiter has left before it saw the grant, or its lease has ended. Only a look that was sent after an
// answer with the entry proves that: the row may have been put and named while another one was under way.
func (s Snapshot) Lasts(i int, left Leases, t ticket.Number) time.Duration {
	h := s.Record.Holders[i]
	k := slices.IndexFunc(s.Rows, func(row Waiter) bool { return row.Ticket == h.Ticket })
	switch {
	case k >= 0:
		return max(left.Holders[i], left.Rows[k])
	case s.Abandoned(h, t) && h.ID == s.Suspect:
		return 0
	}
	return max(left.Holders[i], 1) // a look shows the row
}

// Abandoned reports whether the snapshot, a look for ticket t, lacks the row of a holder that has not accepted its
// grant.
func (s Snapshot) Abandoned(h Holder, t ticket.Number) bool {
	return !h.Accepted() && s.Whole && h.Ticket.Less(t) &&
		!slices.ContainsFunc(s.Rows, func(row Waiter) bool { return row.Ticket == h.Ticket })
}

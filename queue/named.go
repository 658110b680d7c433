package queue

import (
	"slices"
	"time"
)

// A grant by name: as a holder releases the lock, it grants it to the row with the next ticket, which it has read. The entry
// has the lease of that row. Its waiter sees the grant with a look, keeps the row (Place.Hold), and accepts the grant by the
// first heartbeat of its Hold. So a row that is missing shows that its waiter left before it saw the grant.
//
// Two alternatives were built, and not kept. With a short lease from the release on, in which a look accepts the grant, a live
// waiter that pauses for longer loses its turn, and one that has left leaves the lock idle until the end of that lease. An
// accept write before the waiter relies on the grant takes as many requests, one after the other, as a claim.

const (
	// AcceptAfter is when a holder accepts a grant by name, at the latest.
	AcceptAfter = 2 * time.Second
	// acceptedWithin is when a grant by name has usually been accepted. After that a caller that will not wait looks
	// whether its waiter has left.
	acceptedWithin = AcceptAfter + time.Second
)

// GrantByName returns the grant by which the holder with the ticket before hands over to the row's waiter: its entry has the
// lease of the row as it was read, and ends with it. ok is false unless half of that lease is left: the waiter needs
// some of it to see the entry. latest and middle are the latest time and the best guess of DynamoDB's clock, zero if
// unknown. ok is also false for a row that this library does not write, such as one with the id of the holder's entry.
func (w Waiter) GrantByName(holder string, latest, middle time.Time) (next Next, ok bool) {
	if w.EntryID == "" || w.Problem != nil || latest.IsZero() || w.Lease.Until.Sub(latest) < w.Lease.TTL/2 {
		return Next{}, false
	}
	if w.EntryID == holder || len(w.EntryID) > MaxID || len(w.Owner) > MaxOwner || w.Shared {
		return Next{}, false
	}
	return Next{Ticket: w.Ticket, Entry: Entry{
		ID: w.EntryID, Owner: w.Owner, Since: middle, Named: true,
		Lease: Lease{TTL: w.Lease.TTL, Until: w.Lease.Until}, Turns: w.Turns,
	}}, true
}

// dated gives an attempt by name the lease of its entry, which ends with the row as it was read. It returns false for an entry
// of an earlier ticket, and one with an end that was not the row's.
func (w *Wait) dated(c Clock, a *Attempt, h Holder) bool {
	sent, known := c.RowSent(h.Lease.Until)
	if !known || h.Ticket != w.Ticket || !w.turn.joined {
		return false
	}
	a.Sent, a.Lease = sent, h.Lease
	return true
}

// kept continues with a grant by name whose row stays, or gives it up: its row is being deleted. A row that stays is let go by
// the end of the lock alone, so nothing but the grant follows, even if the lease has ended meanwhile.
func (w *Wait) kept(c Clock, stays bool) Do {
	a, h := w.mine(w.Snapshot.Record)
	if stays {
		return w.grant(c, a, h)
	}
	a.given, a.unknown = true, true
	return w.act(c)
}

// Accepted reports whether the holder has written to its entry itself, if a release has named it. It may have written
// to one that cannot be read.
func (h Holder) Accepted() bool { return !h.Named || h.Lease.Beat > 0 || h.Problem != nil }

// unaccepted returns the id of the holder that has not accepted its grant; empty if there is none. Locks that several hold are
// not granted by name.
func (r Record) unaccepted() string {
	for _, h := range r.Holders {
		if !h.Accepted() {
			return h.ID
		}
	}
	return ""
}

// Abandoned reports whether a holder ahead, which a release has named, shows no sign of life: it has not accepted the
// grant, and its row is not there. It keeps the row until it has accepted the grant or ended its turn, so its waiter has
// left before it saw the grant. Only a look that was sent after an answer with the entry proves that: the row may have
// been put and named while this one was under way.
func (s Snapshot) Abandoned(h Holder) bool {
	return !h.Accepted() && s.Whole &&
		!slices.ContainsFunc(s.Rows, func(row Waiter) bool { return row.Ticket == h.Ticket })
}

// doubts reports whether the snapshot shows no sign of life of a holder. If it is the suspect, that is proof: the look was
// sent after an answer with its entry.
func (w *Wait) doubts(h Holder) bool {
	return h.Ticket.Less(w.Ticket) && w.Snapshot.Abandoned(h)
}

// check looks for a caller that will not wait whether the waiter has left whose grant should have been accepted for long. It
// returns false if there is none.
func (w *Wait) check(c Clock) (do Do, overdue bool) {
	earliest, _, known := c.At(c.Now())
	for _, h := range w.Snapshot.Record.Holders {
		next, err := h.Ticket.Next()
		if known && !h.Accepted() && !h.Since.IsZero() && earliest.Sub(h.Since) > acceptedWithin && err == nil {
			w.suspect = h.ID
			return Do{State: Checking, Floor: next}, true
		}
	}
	return do, false
}

// checked continues after the look of a caller that will not wait.
func (w *Wait) checked(c Clock, s Snapshot) Do {
	var gone []Holder
	if h, ok := s.Record.Mine(w.suspect); ok && s.Abandoned(h) {
		gone = []Holder{h}
	}
	return w.room(c, w.decide(c, w.Snapshot.Record.Floor(), nil), gone)
}

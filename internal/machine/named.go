package machine

import (
	"slices"
	"time"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

const (
	// AcceptAfter is when a holder accepts a grant by name, at the latest.
	AcceptAfter = 2 * time.Second
	// acceptedWithin is when a grant by name has usually been accepted. After that a caller that will not wait looks
	// whether its waiter has left.
	acceptedWithin = AcceptAfter + time.Second
)

// dated gives an attempt by name the lease of its entry: that of the row as it was read, or of the accept. It returns false if
// the waiter does not know when it wrote that end.
func (w *Wait) dated(c Clock, a *Attempt, h queue.Holder) bool {
	if h.Accepted() {
		return h.Lease.Until.UnixMilli() == a.Lease.Until.UnixMilli()
	}
	sent, known := c.RowSent(h.Lease.Until)
	if known {
		a.Sent, a.Lease = sent, h.Lease
	}
	return known
}

// acceptable reports whether the entry is a grant by name of the present ticket.
func (w *Wait) acceptable(h queue.Holder) bool {
	return h.Named && h.Ticket == w.Ticket && w.turn.joined && !h.Unreadable()
}

// accept sends the first heartbeat of a grant by name that was seen too late to be used without. The grant counts once that is
// applied, with a whole lease. It is refused if others have removed the entry.
func (w *Wait) accept(c Clock, a *Attempt, h queue.Holder) (do Do, ok bool) {
	a.Sent = c.Now()
	lease, since := c.Begin()
	if lease.Until.IsZero() { // others would end it by its present end
		return do, false
	}
	if lease.Until.Before(h.Lease.Until) {
		lease.Until = h.Lease.Until
	}
	r := queue.Renewal{Until: lease.Until, TTL: lease.TTL}
	if h.Since.IsZero() {
		r.Since = since
	}
	if w.Config.Turns > 1 {
		r.Turn = h.Ticket
	}
	a.Lease, a.unknown = lease, true
	return Do{State: Accepting, Attempt: a, Holder: &h, Write: r.Heartbeat(a.ID, h.Ticket)}, true
}

// accepted continues after a refused accept. If the entry is gone it never comes back.
func (w *Wait) accepted(c Clock, rec queue.Record) Do {
	a, _ := w.mine(w.Snapshot.Record)
	w.Snapshot.Saw(rec, c.Now())
	if still, _ := w.mine(rec); still != nil {
		return w.pause()
	}
	a.unknown = false
	return w.proceed(c)
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

// check looks for a caller that will not wait whether the waiter has left, or its lease has ended, whose grant should have been
// accepted for long. It returns false if there is none.
func (w *Wait) check(c Clock) (do Do, overdue bool) {
	earliest, _, known := c.At(c.Now())
	for _, h := range w.Snapshot.Record.Holders {
		recent := known && !h.Since.IsZero() && earliest.Sub(h.Since) <= acceptedWithin
		if next, err := h.Ticket.Next(); !h.Accepted() && !recent && err == nil {
			w.suspect = h.ID
			return Do{State: Checking, Floor: next}, true
		}
	}
	return do, false
}

// checked continues after the look of a caller that will not wait.
func (w *Wait) checked(c Clock, s queue.Snapshot) Do {
	var gone []queue.Holder
	s.Suspect = w.suspect
	if i := slices.IndexFunc(s.Record.Holders, func(h queue.Holder) bool { return h.ID == w.suspect }); i >= 0 {
		if h := s.Record.Holders[i]; !h.Accepted() && s.Lasts(i, c.Leases(s), ticket.Max) <= 0 {
			gone = []queue.Holder{h}
		}
	}
	return w.room(c, w.decide(c, w.Snapshot.Record.Floor(), nil), gone)
}

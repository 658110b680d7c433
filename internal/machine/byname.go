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

// dated gives an attempt by name the lease of its entry: that of the row as it was read, or of the accept. It returns
// false if the waiter does not know when it wrote that end.
func (s granting) dated(a *Attempt, h queue.Holder) bool {
	if h.Accepted() {
		return h.Lease.Until.UnixMilli() == a.Lease.Until.UnixMilli()
	}
	sent, known := s.RowSent(h.Lease.Until)
	if known {
		a.Sent, a.Lease = sent, h.Lease
	}
	return known
}

// acceptable reports whether the entry is a grant by name of the present ticket.
func (s granting) acceptable(h queue.Holder) bool {
	return h.Named && h.Ticket == s.Ticket && s.turn.joined && !h.Unreadable()
}

// accept sends the first heartbeat of a grant by name that was seen too late to be used without. The grant counts once
// that is applied, with a whole lease. It is refused if others have removed the entry.
func (s granting) accept(a *Attempt, h queue.Holder) (do Do, ok bool) {
	a.Sent = s.Now()
	lease, since := s.Begin()
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
	if s.Config.Turns > 1 {
		r.Turn = h.Ticket
	}
	a.Lease, a.unknown = lease, true
	return Do{State: Accepting, Attempt: a, Holder: &h, Write: r.Heartbeat(a.ID, h.Ticket)}, true
}

// accepted continues after a refused accept. If the entry is gone it never comes back.
func (s granting) accepted(rec queue.Record) Do {
	a, _ := s.mine(s.Snapshot.Record)
	s.Snapshot.Saw(rec, s.Now())
	if still, _ := s.mine(rec); still != nil {
		return s.pause()
	}
	a.unknown = false
	return s.proceed()
}

// kept continues with a grant by name whose row stays, or gives it up: its row is being deleted. A row that stays is
// let go by the end of the lock alone, so nothing but the grant follows, even if the lease has ended meanwhile.
func (s granting) kept(stays bool) Do {
	a, h := s.mine(s.Snapshot.Record)
	if stays {
		return s.grant(a, h)
	}
	a.given, a.unknown = true, true
	return s.looking().act()
}

// check looks for a caller that will not wait whether the waiter has left, or its lease has ended, whose grant should
// have been accepted for long. It returns false if there is none.
func (s granting) check() (do Do, overdue bool) {
	earliest, _, known := s.At(s.Now())
	for _, h := range s.Snapshot.Record.Holders {
		recent := known && !h.Since.IsZero() && earliest.Sub(h.Since) <= acceptedWithin
		if next, err := h.Ticket.Next(); !h.Accepted() && !recent && err == nil {
			s.suspect = h.ID
			return Do{State: Checking, Floor: next}, true
		}
	}
	return do, false
}

// checked continues after the look of a caller that will not wait.
func (s granting) checked(shown queue.Snapshot) Do {
	var gone []queue.Holder
	shown.Suspect = s.suspect
	if i := slices.IndexFunc(shown.Record.Holders, func(h queue.Holder) bool { return h.ID == s.suspect }); i >= 0 {
		if h := shown.Record.Holders[i]; !h.Accepted() && shown.Lasts(i, s.Leases(shown), ticket.Max) <= 0 {
			gone = []queue.Holder{h}
		}
	}
	return s.room(s.looking().decide(s.Snapshot.Record.Floor(), nil), gone)
}

package machine

import (
	"slices"
	"strconv"
	"time"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Attempt is one request that may put its id into the record.
type Attempt struct {
	ID      string // never used before
	Sent    time.Time
	Lease   queue.Lease
	Claimed bool
	Passed  bool // a release makes it: the PASS of the ticket before
	Resumed bool // it takes over the lock of a process that has ended

	unknown    bool          // it was not answered: the id may be in the record, or get there
	given      bool          // it was given up: the id is never adopted again
	confirming ticket.Number // of the CONFIRM that was sent for it; zero: none
	removed    time.Time     // ReadAt of the snapshot for which a removal was tried last
}

// delayed reports whether the entry must not be removed before its time: the earlier holder may have requests
// under way, and its lock delay keeps the queue closed, or its AtLeast does.
func (a *Attempt) delayed() bool { return a.Resumed && (a.Lease.Delay > 0 || a.Lease.AtLeast > 0) }

// mayStay reports whether the attempt may be in the record without a lease that would end it.
func (a *Attempt) mayStay() bool { return a.unknown && !a.confirming.IsZero() }

// Attempts are those of one wait: what may be in the record without an owner when it ends.
type Attempts struct{ all []Attempt }

func (l *Attempts) add(a Attempt) { l.all = append(l.all, a) }

func (l *Attempts) last() *Attempt { return &l.all[len(l.all)-1] }

// requests returns how many of them the wait has sent.
func (l *Attempts) requests() (n int) {
	for i := range l.all {
		if !l.all[i].Passed {
			n++
		}
	}
	return n
}

// Before reports whether the last one was sent before that time.
func (l *Attempts) Before(t time.Time) bool { return len(l.all) > 0 && l.last().Sent.Before(t) }

// ids returns the ids that may be adopted.
func (l *Attempts) ids() (ids []string) {
	for i := range l.all {
		if !l.all[i].given {
			ids = append(ids, l.all[i].ID)
		}
	}
	return ids
}

// mine returns the attempt whose entry is in the record, and the entry; nil if there is none.
func (l *Attempts) mine(rec queue.Record) (*Attempt, queue.Holder) {
	h, ok := rec.Mine(l.ids()...)
	if !ok {
		return nil, queue.Holder{}
	}
	return &l.all[slices.IndexFunc(l.all, func(a Attempt) bool { return a.ID == h.ID })], h
}

// leftover returns an attempt that was given up and whose entry a snapshot shows, for which no removal was tried since;
// nil if there is none. A late request can put an entry there again after it was removed.
func (l *Attempts) leftover(s queue.Snapshot) *Attempt {
	for i := range l.all {
		if a := &l.all[i]; a.shown(s) && a.removed.Before(s.ReadAt) {
			return a
		}
	}
	return nil
}

// Shown reports whether a snapshot shows an entry that is to be removed.
func (l *Attempts) Shown(s queue.Snapshot) bool {
	return slices.ContainsFunc(l.all, func(a Attempt) bool { return a.shown(s) })
}

// shown reports whether a snapshot shows the entry of an attempt that was given up, and that may be removed.
func (a *Attempt) shown(s queue.Snapshot) bool {
	_, shown := s.Record.Mine(a.ID)
	return shown && a.given && !a.delayed()
}

// cleaned notes that the ids which were to be removed after a snapshot of that time are not in the record. all: those
// of the others neither.
func (l *Attempts) cleaned(at time.Time, all bool) {
	for i := range l.all {
		if a := &l.all[i]; all || !a.removed.IsZero() && a.removed.Equal(at) {
			a.unknown = false
		}
	}
}

// Unknown returns the ids that may be in the record without an owner, at most as many as one request can remove.
// Ids that were to be confirmed come last, as no lease ends them.
func (l *Attempts) Unknown() []string {
	var leased, endless []string
	for _, a := range l.all {
		switch {
		case !a.unknown:
		case !a.confirming.IsZero():
			endless = append(endless, a.ID)
		case !a.delayed():
			leased = append(leased, a.ID)
		}
	}
	// A waiter stops long before it has that many. The last are the likeliest to be still under way.
	ids := slices.Concat(leased, endless)
	return ids[max(0, len(ids)-queue.MaxEvicted):]
}

// Orphans returns the ids, and a ticket, of grants that fail closed and that no lease ends, if they are in the record.
func (l *Attempts) Orphans() (ids []string, t ticket.Number) {
	for _, a := range l.all {
		if a.mayStay() {
			ids, t = append(ids, a.ID), a.confirming
		}
	}
	return ids, t
}

// attempt returns the entry of a new attempt, which is sent now.
func (s granting) attempt(claimed bool) queue.Entry {
	s.add(Attempt{ID: s.Config.ID + "-" + strconv.Itoa(s.requests()), Claimed: claimed})
	return s.entry(s.last())
}

// entry begins the attempt and returns the entry to write.
func (s granting) entry(a *Attempt) queue.Entry {
	entry := queue.Entry{ID: a.ID, Owner: s.Config.Owner, Mode: s.Config.Mode, Data: s.Config.Data, Turns: s.Config.Turns,
		Group: s.Config.Policy.Group}
	if mode := s.Config.Mode; !mode.Shared && mode.Permits <= maxRung {
		entry.Bell = s.Config.Bell
	}
	a.Sent = s.Now() // before the lease begins, so that it ends earlier for its owner
	entry.Lease, entry.Since = s.Begin()
	a.Lease = entry.Lease
	return entry
}

// PassID is the id of the entry by which the lock is passed to the ticket. The holder before makes at most one PASS
// that is applied, whether its client was offered that or has read the id in the row.
func (w *Wait) PassID() string { return w.Config.ID + "-n" + w.Ticket.String() }

// MayOffer reports whether a release of this client may call Passing. It may once: a copy of the request may be late,
// and the lease of its entry must be that of the attempt.
func (w *Wait) MayOffer() bool {
	return w.turn.pass > 0 && w.all[w.turn.pass-1].Sent.IsZero()
}

// Passing returns the entry that a release writes which passes the lock to the wait.
func (w *Wait) Passing(c Clock) queue.Entry { return granting{step{w, c}}.entry(&w.all[w.turn.pass-1]) }

// Retaking returns the entry by which a release of this client takes tickets for the wait, which has sent nothing yet,
// from that ticket on, and grants it the lock (RETAKE). [Passed] follows, and [Wait.Begin] unless that was applied.
func (w *Wait) Retaking(c Clock, t ticket.Number) queue.Entry {
	w.Ticket = t
	w.add(Attempt{ID: w.PassID() + "t", Passed: true}) // a later PASS to the same ticket has another id
	w.turn = turn{ticketed: true, pass: len(w.all)}
	return granting{step{w, c}}.entry(w.last())
}

// passed continues after a PASS of this client, whose record shows the grant if it was applied.
func (s granting) passed(r Passed) Do {
	a := &s.all[s.turn.pass-1]
	// refused: by a copy of itself
	if _, mine := r.Record.Mine(a.ID); mine && (r.Reply == ReplyApplied || r.Reply == ReplyRefused) {
		s.Snapshot = queue.SnapshotOf(r.Record, s.Now())
		return s.proceed()
	}
	a.unknown = a.unknown || r.Reply == ReplyApplied || r.Reply == ReplyUnknown
	if s.State == Idle {
		return Do{State: Idle}
	}
	return s.looking().look()
}

// adopt takes own ids in the record as the grant, or removes them. The entry of an attempt is a grant, or is removed if
// its lease is over, as after a lost answer or a pause of the process; by name, it is accepted then. A resumed wait
// takes over the entry of the process before.
func (s granting) adopt() (do Do, settled bool) {
	var late *queue.Holder
	if a, h := s.mine(s.Snapshot.Record); a != nil {
		switch usable := s.usable(a, h); {
		case usable && !h.Accepted():
			return Do{State: Keeping}, true
		case usable:
			return s.grant(a, h), true
		case s.acceptable(h):
			if do, ok := s.accept(a, h); ok {
				return do, true
			}
		}
		a.given, a.unknown, late = true, true, &h
	}
	if a := s.leftover(s.Snapshot); a != nil {
		a.removed, a.unknown = s.Snapshot.ReadAt, true
		do = remove(a.ID)
		do.Late = late
		return do, true
	}
	return s.takeOver()
}

// usable reports whether the attempt's entry is a grant whose lease has not ended by the local clock.
func (s granting) usable(a *Attempt, h queue.Holder) bool {
	if h.Named && !(s.acceptable(h) && s.dated(a, h)) {
		return false
	}
	return !h.Unreadable() && s.Usable(a.Lease, a.Sent, !h.Accepted())
}

// grant ends the wait with a lock that is held, or confirms it first.
func (s granting) grant(a *Attempt, h queue.Holder) Do {
	if s.Config.FailClosed {
		a.unknown = true
		return s.confirm()
	}
	a.unknown = false
	return Do{State: Granted, Attempt: a, Holder: &h}
}

// confirm sends CONFIRM.
func (s granting) confirm() Do {
	a, h := s.mine(s.Snapshot.Record)
	earliest, latest, _ := s.At(a.Sent)
	since := earliest.Add(latest.Sub(earliest) / 2) // zero if it is not known
	if a.Lease.AtLeast > 0 {
		since = latest
	}
	return Do{State: Confirming, Attempt: a, Holder: &h, Write: queue.Confirm(a.ID, h.Ticket, since)}
}

// confirmed continues after the reply to CONFIRM. If the grant is gone it never comes back, but a late request can put
// its entry there again.
func (s granting) confirmed(r Replied) Do {
	a, h := s.mine(s.Snapshot.Record)
	a.confirming = h.Ticket
	switch r.Reply {
	case ReplyApplied, ReplyMade:
		if r.Record.Problem != nil { // the id is removed as the wait is left
			return s.fail(WhyError, r.Record.Problem)
		}
		s.Snapshot.Record = r.Record
		me, _ := r.Record.Mine(a.ID)
		a.unknown = false
		return Do{State: Granted, Attempt: a, Holder: &me}
	case ReplyRefusedForGood:
	default:
		return s.pause()
	}
	s.Snapshot.Record, s.turn.lost = r.Record, true
	a.given, a.confirming = true, ticket.Number{}
	if _, a.unknown = r.Record.Mine(a.ID); !a.unknown {
		if own, _ := s.mine(r.Record); own != nil { // of a late request
			return s.looking().act()
		}
		return s.policing().newTicket(WhyOvertaken)
	}
	a.removed = s.Snapshot.ReadAt
	return remove(a.ID)
}

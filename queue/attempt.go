package queue

import (
	"slices"
	"strconv"
	"time"

	"github.com/queuelock/queuelock/ticket"
)

// Attempt is one request that may put its id into the record.
type Attempt struct {
	ID      string // never used before
	Sent    time.Time
	Lease   Lease
	Claimed bool
	Passed  bool // a release makes it: the PASS of the ticket before
	Resumed bool // it takes over the lock of a process that has ended

	unknown    bool          // it was not answered: the id may be in the record, or get there
	given      bool          // it was given up: the id is never adopted again
	confirming ticket.Number // of the CONFIRM that was sent for it; zero: none
	removed    time.Time     // ReadAt of the snapshot for which a removal was tried last
}

// delayed reports whether the entry must not be removed before its time: the earlier holder may have requests
// under way, and its lock delay keeps the queue closed.
func (a *Attempt) delayed() bool { return a.Resumed && a.Lease.Delay > 0 }

// mayStay reports whether the attempt may be in the record without a lease that would end it.
func (a *Attempt) mayStay() bool { return a.unknown && !a.confirming.IsZero() }

// attempt returns the entry of a new attempt, which is sent now.
func (w *Wait) attempt(c Clock, claimed bool) Entry {
	sent := 0
	for _, a := range w.attempts {
		if !a.Passed {
			sent++
		}
	}
	w.attempts = append(w.attempts, Attempt{ID: w.Config.ID + "-" + strconv.Itoa(sent), Claimed: claimed})
	return w.entry(c, w.last())
}

func (w *Wait) last() *Attempt { return &w.attempts[len(w.attempts)-1] }

// entry begins the attempt and returns the entry to write.
func (w *Wait) entry(c Clock, a *Attempt) Entry {
	entry := Entry{ID: a.ID, Owner: w.Config.Owner, Mode: w.Config.Mode, Data: w.Config.Data}
	a.Sent = c.Now() // before the lease begins, so that it ends earlier for its owner
	entry.Lease, entry.Since = c.Begin()
	a.Lease = entry.Lease
	return entry
}

// PassID is the id of the entry by which the lock is passed to the ticket. The holder before makes at most one PASS that is
// applied, whether its client was offered that or has read the id in the row.
func (w *Wait) PassID() string { return w.Config.ID + "-n" + w.Ticket.String() }

// MayOffer reports whether a release of this client may call Passing. It may once: a copy of the request may be late, and the
// lease of its entry must be that of the attempt.
func (w *Wait) MayOffer() bool {
	return w.turn.pass > 0 && w.attempts[w.turn.pass-1].Sent.IsZero()
}

// Passing returns the entry that a release writes which passes the lock to the wait.
func (w *Wait) Passing(c Clock) Entry { return w.entry(c, &w.attempts[w.turn.pass-1]) }

// passed continues after a PASS of this client, whose record shows the grant if it was applied.
func (w *Wait) passed(c Clock, r Passed) Do {
	a := &w.attempts[w.turn.pass-1]
	if _, mine := r.Record.Mine(a.ID); mine && (r.Reply == ReplyApplied || r.Reply == ReplyRefused) { // refused: by a copy of itself
		w.Snapshot = SnapshotOf(r.Record, c.Now())
		return w.act(c)
	}
	a.unknown = a.unknown || r.Reply == ReplyApplied || r.Reply == ReplyUnknown
	return w.look()
}

// mine returns the number of the attempt whose entry is in the record, and the entry. It is below zero if there is none.
func (w *Wait) mine(rec Record) (int, Holder) {
	h, ok := rec.Mine(w.ids()...)
	if !ok {
		return -1, Holder{}
	}
	return slices.IndexFunc(w.attempts, func(a Attempt) bool { return a.ID == h.ID }), h
}

// ids returns the ids that may be adopted.
func (w *Wait) ids() (ids []string) {
	for _, a := range w.attempts {
		if !a.given {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// Before reports whether the last attempt was sent before that time.
func (w *Wait) Before(t time.Time) bool { return len(w.attempts) > 0 && w.last().Sent.Before(t) }

// Unknown returns the ids that may be in the record without an owner, at most as many as one request can remove.
// Ids that were to be confirmed come last, as no lease ends them.
func (w *Wait) Unknown() []string {
	var leased, endless []string
	for _, a := range w.attempts {
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
	return ids[max(0, len(ids)-MaxEvicted):]
}

// Orphans returns the ids, and a ticket, of grants that fail closed and that no lease ends, if they are in the record.
func (w *Wait) Orphans() (ids []string, t ticket.Number) {
	for _, a := range w.attempts {
		if a.mayStay() {
			ids, t = append(ids, a.ID), a.confirming
		}
	}
	return ids, t
}

// settle deals with own ids in the record. The entry of an attempt is a grant, or is removed if its lease is over, as after a
// lost answer or a pause of the process. A resumed wait takes over the entry of the process before.
func (w *Wait) settle(c Clock) (do Do, settled bool) {
	var late *Holder
	if i, h := w.mine(w.Snapshot.Record); i >= 0 {
		a := &w.attempts[i]
		switch usable := w.usable(c, a, h); {
		case usable && h.Named:
			return Do{State: Keeping}, true
		case usable:
			return w.grant(c, a, h), true
		}
		a.given, a.unknown, late = true, true, &h
	}
	for i := range w.attempts {
		a := &w.attempts[i]
		if !w.remains(a) || !a.removed.Before(w.Snapshot.ReadAt) {
			continue
		}
		a.removed, a.unknown = w.Snapshot.ReadAt, true
		do = remove(a.ID)
		do.Late = late
		return do, true
	}
	return w.takeOver(c)
}

// usable reports whether the attempt's entry is a grant whose lease has not ended by the local clock.
func (w *Wait) usable(c Clock, a *Attempt, h Holder) bool {
	if h.Named && !w.dated(c, a, h) {
		return false
	}
	return !h.Unreadable() && c.Usable(a.Lease, a.Sent, h.Named)
}

// remains reports whether the snapshot shows an entry that is to be removed: of an attempt that was given up. A late
// request can put it there again after it was removed.
func (w *Wait) remains(a *Attempt) bool {
	_, shown := w.Snapshot.Record.Mine(a.ID)
	return shown && a.given && !a.delayed()
}

// MustRemove reports whether the snapshot shows an entry that is to be removed. That is tried once for each snapshot.
func (w *Wait) MustRemove() bool {
	for i := range w.attempts {
		if w.remains(&w.attempts[i]) {
			return true
		}
	}
	return false
}

// clean notes that the ids that were to be removed are not in the record.
func (w *Wait) clean() {
	for i := range w.attempts {
		if a := &w.attempts[i]; w.leaving || !a.removed.IsZero() && a.removed.Equal(w.Snapshot.ReadAt) {
			a.unknown = false
		}
	}
}

// grant ends the wait with a lock that is held, or confirms it first.
func (w *Wait) grant(c Clock, a *Attempt, h Holder) Do {
	if w.Config.FailClosed {
		a.unknown = true
		return w.confirm(c)
	}
	a.unknown = false
	return Do{State: Granted, Attempt: a, Holder: &h}
}

// confirm sends CONFIRM.
func (w *Wait) confirm(c Clock) Do {
	i, h := w.mine(w.Snapshot.Record)
	a := &w.attempts[i]
	earliest, latest, _ := c.At(a.Sent)
	since := earliest.Add(latest.Sub(earliest) / 2) // zero if it is not known
	return Do{State: Confirming, Attempt: a, Holder: &h, Write: Confirm(a.ID, h.Ticket, since)}
}

// confirmed continues after the reply to CONFIRM. If the grant is gone it never comes back, but a late request can put its
// entry there again.
func (w *Wait) confirmed(r Replied) Do {
	i, h := w.mine(w.Snapshot.Record)
	a := &w.attempts[i]
	a.confirming = h.Ticket
	switch r.Reply {
	case ReplyApplied, ReplyMade:
		if r.Record.Problem != nil { // the id is removed as the wait is left
			return w.fail(WhyError, r.Record.Problem)
		}
		w.Snapshot.Record = r.Record
		me, _ := r.Record.Mine(a.ID)
		a.unknown = false
		return Do{State: Granted, Attempt: a, Holder: &me}
	case ReplyLost:
	default:
		return w.pause()
	}
	w.Snapshot.Record, w.turn.lost = r.Record, true
	a.given, a.confirming = true, ticket.Number{}
	if _, a.unknown = r.Record.Mine(a.ID); !a.unknown {
		return w.fail(WhyOvertaken, nil)
	}
	a.removed = w.Snapshot.ReadAt
	return remove(a.ID)
}

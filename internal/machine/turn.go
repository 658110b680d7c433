package machine

import (
	"slices"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Next reports whether no waiter can be ahead: the floor, or the block that holds, is right below the ticket.
func (w *Wait) Next() bool {
	rec := w.Snapshot.Record
	return rec.Present && rec.Reach() == w.Ticket.Previous()
}

// Open reports whether the record that is known has no holder.
func (w *Wait) Open() bool { return len(w.Snapshot.Record.Holders) == 0 }

// look reads the queue. The first look, or claim, runs beside the ENQUEUE.
func (s looking) look() Do {
	if s.awaitsRow(Looking) {
		return Do{State: Putting}
	}
	floor := s.Snapshot.Record.Reach()
	if s.suspect = s.Snapshot.Record.Unaccepted(); s.suspect != "" {
		floor = ticket.Number{} // the row of that holder is of interest too
	}
	return Do{State: Looking, Floor: floor, Later: s.grouped()}
}

// awaitsRow notes which request follows, and reports whether the row must be in the table before it.
func (s looking) awaitsRow(then Doing) bool {
	t := &s.turn
	awaits := t.joined && t.asked && !t.put && !s.Config.NoWait
	t.asked, t.then = t.asked || t.joined, then
	return awaits
}

// seen continues after a look.
func (s looking) seen(shown queue.Snapshot) Do {
	if s.State == Checking {
		return s.granting().checked(shown)
	}
	s.Snapshot = shown
	s.Snapshot.Suspect = s.suspect
	if !s.turn.joined { // resumed, or it counts first
		s.turn.looked = true
		if err := s.Fits(shown.Record); err != nil {
			return s.fail(WhyError, err)
		}
	}
	return s.proceed()
}

// act does what the snapshot requires: one request, or a rest.
func (s looking) act() Do {
	if do, settled := s.granting().adopt(); settled {
		return do
	}
	if do, ends := s.policing().answered(); ends {
		return do
	}
	d := s.decide(s.Ticket, nil)
	do := s.follow(d)
	do.Decision = &d
	return do
}

// follow does what was decided: it removes what has expired, and claims if nothing else is in the way.
func (s looking) follow(d queue.Decision) Do {
	if do, ends := s.policing().gives(d); ends {
		return do
	}
	switch {
	case len(d.ExpiredRows) > 0:
		s.turn.sweeping = d.ExpiredRows
		return Do{State: Sweeping, Rows: d.ExpiredRows}
	case len(d.ExpiredHolders) > 0:
		return Do{State: Evicting, Holders: d.ExpiredHolders}
	case d.Do == queue.ActionOvertaken:
		return s.fail(WhyOvertaken, nil)
	case d.Do == queue.ActionNewTicket:
		return s.fail(WhyNewTicket, nil)
	case d.Do == queue.ActionClaim:
		return s.claim()
	case d.Stuck != nil:
		return s.fail(WhyError, d.Stuck)
	case slices.ContainsFunc(s.Snapshot.Record.Holders, func(h queue.Holder) bool {
		return s.Snapshot.Abandoned(h, s.Ticket)
	}):
		return s.lookAgain()
	case s.Config.NoWait:
		return s.fail(WhyBusy, nil)
	}
	return s.policing().ask()
}

// lookAgain looks because the queue has moved.
func (s looking) lookAgain() Do {
	if s.turn.rounds++; s.Config.NoWait && s.turn.rounds > quickTries {
		return s.fail(WhyBusy, nil)
	}
	return s.look()
}

// claim sends CLAIM with a new id.
func (s looking) claim() Do {
	if s.awaitsRow(Claiming) {
		return Do{State: Putting}
	}
	entry := s.granting().attempt(true)
	return Do{State: Claiming, Attempt: s.last(), Write: s.Snapshot.Record.Claim(entry, s.Ticket)}
}

// refused continues after a CLAIM that was refused.
func (s looking) refused(rec queue.Record) Do {
	if err := s.Fits(rec); err != nil {
		return s.fail(WhyError, err) // the record was deleted and seeded again
	}
	served := s.Snapshot.Record.Granted.Less(rec.Granted)
	s.Snapshot.Saw(rec, s.Now())
	s.Snapshot.Rows = nil
	again := s.decide(s.Ticket, s.ids())
	switch {
	case s.grouped():
	case again.Do != queue.ActionClaim:
		return s.act()
	case s.Config.Mode.Permits > 0 && served && len(again.ExpiredHolders) == 0:
		return s.claim() // with another number. Nothing but the grant of a lower ticket has refused it
	}
	return s.lookAgain() // the queue has moved since
}

// swept continues after a sweep. If a row was not as it was read, the queue has moved.
func (s looking) swept(r Replied) Do {
	if r.Reply != ReplyApplied {
		return s.lookAgain()
	}
	s.Snapshot.Rows = slices.DeleteFunc(slices.Clone(s.Snapshot.Rows), func(row queue.Waiter) bool {
		return slices.ContainsFunc(s.turn.sweeping, func(o queue.Waiter) bool {
			return o.Ticket == row.Ticket && o.ID == row.ID
		})
	})
	s.turn.sweeping = nil
	return s.act()
}

// decide judges the leases of the snapshot and decides what it means for a ticket.
func (s looking) decide(t ticket.Number, ids []string) queue.Decision {
	return s.Snapshot.Decide(s.Leases(s.Snapshot), t, s.Config.Mode, ids)
}

// Fits returns a [*MismatchError] if the record is of another kind of queue.
func (w *Wait) Fits(rec queue.Record) error {
	return rec.Fits(w.Config.Items, w.Config.Scope, w.Config.Mode)
}

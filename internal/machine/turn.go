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
func (w *Wait) look() Do {
	if w.awaitsRow(Looking) {
		return Do{State: Putting}
	}
	floor := w.Snapshot.Record.Reach()
	if w.suspect = w.Snapshot.Record.Unaccepted(); w.suspect != "" {
		floor = ticket.Number{} // the row of that holder is of interest too
	}
	return Do{State: Looking, Floor: floor, Later: w.grouped()}
}

// awaitsRow notes which request follows, and reports whether the row must be in the table before it.
func (w *Wait) awaitsRow(then Doing) bool {
	t := &w.turn
	awaits := t.joined && t.asked && !t.put && !w.Config.NoWait
	t.asked, t.then = t.asked || t.joined, then
	return awaits
}

// seen continues after a look.
func (w *Wait) seen(c Clock, s queue.Snapshot) Do {
	if w.State == Checking {
		return w.checked(c, s)
	}
	w.Snapshot = s
	w.Snapshot.Suspect = w.suspect
	if !w.turn.joined { // resumed, or it counts first
		w.turn.looked = true
		if err := w.Fits(s.Record); err != nil {
			return w.fail(WhyError, err)
		}
	}
	return w.proceed(c)
}

// act does what the snapshot requires: one request, or a rest.
func (w *Wait) act(c Clock) Do {
	if do, settled := w.adopt(c); settled {
		return do
	}
	if do, ends := w.answered(c); ends {
		return do
	}
	d := w.decide(c, w.Ticket, nil)
	do := w.follow(c, d)
	do.Decision = &d
	return do
}

// follow does what was decided: it removes what has expired, and claims if nothing else is in the way.
func (w *Wait) follow(c Clock, d queue.Decision) Do {
	if do, ends := w.gives(c, d); ends {
		return do
	}
	switch {
	case len(d.ExpiredRows) > 0:
		w.turn.sweeping = d.ExpiredRows
		return Do{State: Sweeping, Rows: d.ExpiredRows}
	case len(d.ExpiredHolders) > 0:
		return Do{State: Evicting, Holders: d.ExpiredHolders}
	case d.Do == queue.ActionOvertaken:
		return w.fail(WhyOvertaken, nil)
	case d.Do == queue.ActionNewTicket:
		return w.fail(WhyNewTicket, nil)
	case d.Do == queue.ActionClaim:
		return w.claim(c)
	case d.Stuck != nil:
		return w.fail(WhyError, d.Stuck)
	case slices.ContainsFunc(w.Snapshot.Record.Holders, func(h queue.Holder) bool { return w.Snapshot.Abandoned(h, w.Ticket) }):
		return w.lookAgain()
	case w.Config.NoWait:
		return w.fail(WhyBusy, nil)
	}
	return w.ask(c)
}

// lookAgain looks because the queue has moved.
func (w *Wait) lookAgain() Do {
	if w.turn.rounds++; w.Config.NoWait && w.turn.rounds > quickTries {
		return w.fail(WhyBusy, nil)
	}
	return w.look()
}

// claim sends CLAIM with a new id.
func (w *Wait) claim(c Clock) Do {
	if w.awaitsRow(Claiming) {
		return Do{State: Putting}
	}
	entry := w.attempt(c, true)
	return Do{State: Claiming, Attempt: w.last(), Write: queue.Claim(entry, w.Ticket)}
}

// refused continues after a CLAIM that was refused.
func (w *Wait) refused(c Clock, rec queue.Record) Do {
	if err := w.Fits(rec); err != nil {
		return w.fail(WhyError, err) // the record was deleted and seeded again
	}
	w.Snapshot.Saw(rec, c.Now())
	w.Snapshot.Rows = nil
	if again := w.decide(c, w.Ticket, w.ids()); again.Do == queue.ActionClaim || w.grouped() {
		return w.lookAgain() // the queue has moved since
	}
	return w.act(c)
}

// swept continues after a sweep. If a row was not as it was read, the queue has moved.
func (w *Wait) swept(c Clock, r Replied) Do {
	if r.Reply != ReplyApplied {
		return w.lookAgain()
	}
	w.Snapshot.Rows = slices.DeleteFunc(slices.Clone(w.Snapshot.Rows), func(row queue.Waiter) bool {
		return slices.ContainsFunc(w.turn.sweeping, func(o queue.Waiter) bool { return o.Ticket == row.Ticket && o.ID == row.ID })
	})
	w.turn.sweeping = nil
	return w.act(c)
}

// decide judges the leases of the snapshot and decides what it means for a ticket.
func (w *Wait) decide(c Clock, t ticket.Number, ids []string) queue.Decision {
	return w.Snapshot.Decide(c.Leases(w.Snapshot), t, w.Config.Mode, ids)
}

// Fits returns a [*MismatchError] if the record is of another kind of queue.
func (w *Wait) Fits(rec queue.Record) error {
	return rec.Fits(w.Config.Items, w.Config.Scope, w.Config.Mode)
}

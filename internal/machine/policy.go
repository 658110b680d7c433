package machine

import (
	"fmt"
	"slices"
	"time"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Policy makes a waiter leave the queue before its turn. It is a rule of the waiter, which decides it from a look: the
// conditions of a grant do not know it. If the waiter was granted the lock meanwhile, the grant counts.
type Policy struct {
	// Limited says that the waiter leaves once a look counts Waiters or more live rows ahead. The first look comes before its
	// row, so that a waiter which is refused is in no other's way; the next one after it, so that two that come at once count
	// each other. Waiters is at least 1: without waiting, NoWait is enough.
	Limited bool
	Waiters int
	// Group is that of a waiter which leaves once a look shows a live row of the group with a later ticket, or once a later
	// ticket of the group was granted. Empty: it does not.
	Group string
	// CancelHolder says that a waiter with a Group asks each holder of the group that is in its way to give way, unless one
	// has asked it before. The mark in the record says so: it needs no memory.
	CancelHolder bool
}

// limited reports whether the waiter counts those ahead. One that does not wait is not in the queue.
func (w *Wait) limited() bool { return w.Config.Policy.Limited && !w.Config.NoWait }

// grouped reports whether a later waiter may supersede this one. It claims only by a look that has shown the rows behind it.
func (w *Wait) grouped() bool { return w.Config.Policy.Group != "" && !w.Config.NoWait }

// count continues before the row is put: the waiter looks, and leaves if the queue is full.
func (w *Wait) count(c Clock) Do {
	if !w.turn.looked {
		return w.look()
	}
	d := w.decide(c, w.Ticket, nil)
	do, ends := w.gives(c, d)
	if !ends {
		do = Do{State: Joining}
	}
	do.Decision = &d
	return do
}

// gives returns how the policy ends the wait of a ticket, if it does.
func (w *Wait) gives(c Clock, d queue.Decision) (do Do, ends bool) {
	if by, ok := w.superseded(c); ok {
		return w.supersededBy(by), true
	}
	if w.limited() && d.Do == queue.ActionWait && d.Waiters >= w.Config.Policy.Waiters {
		return w.fail(WhyFull, nil), true
	}
	return do, false
}

// superseded returns the later ticket of the group that the snapshot shows: of a row, of a holder, or of the last grant. That is
// not of the group if its holder has another one. Of a turn that is over the group is not known, and counts as the same, since
// a new ticket would make this waiter the latest.
func (w *Wait) superseded(c Clock) (by ticket.Number, ok bool) {
	if !w.grouped() {
		return by, false
	}
	s, group := &w.Snapshot, w.Config.Policy.Group
	var left []time.Duration
	if len(s.Rows) > 0 {
		left = c.Leases(*s).Rows
	}
	if by, ok = s.SupersededBy(group, w.Ticket, left); ok {
		return by, true
	}
	floor := s.Record.Floor()
	if !w.Ticket.Less(floor) {
		return by, false
	}
	for _, h := range s.Record.Holders {
		if h.Group == group && w.Ticket.Less(h.Ticket) {
			return h.Ticket, true
		}
	}
	return floor, !slices.ContainsFunc(s.Record.Holders, func(h queue.Holder) bool { return h.Ticket == floor && !h.Closed })
}

// ask asks a holder to give way if the policy asks for that, or else rests.
func (w *Wait) ask(c Clock) Do {
	i := slices.IndexFunc(w.Snapshot.Record.Holders, w.cancels)
	if i < 0 {
		return Do{State: Resting}
	}
	h := w.Snapshot.Record.Holders[i]
	_, at := c.Begin()
	why := "superseded by ticket " + w.Ticket.String()
	return Do{State: Asking, Holder: &h, Write: queue.Revoke(h.ID, h.Ticket, queue.Revocation{By: w.Config.Owner, Why: why, At: at})}
}

// cancels reports whether the waiter asks a holder to give way. One that cannot be read might never be found by the request.
func (w *Wait) cancels(h queue.Holder) bool {
	p := w.Config.Policy
	return p.CancelHolder && w.grouped() && h.Group == p.Group && h.Revoked == nil && !h.Closed && h.Problem == nil
}

// notAsked continues after a REVOKE that was not applied, so far as is known. That of a holder which is gone has shown that
// the queue has moved. One that has failed waits for a later look, and never ends the wait.
func (w *Wait) notAsked(failed bool) Do {
	if failed {
		return Do{State: Resting}
	}
	return w.lookAgain()
}

func (w *Wait) supersededBy(by ticket.Number) Do {
	do := w.fail(WhySuperseded, nil)
	do.By = by
	return do
}

// newTicket ends the wait of a ticket that can never be granted.
func (w *Wait) newTicket(c Clock, why Why) Do {
	if by, ok := w.superseded(c); ok {
		return w.supersededBy(by)
	}
	return w.fail(why, nil)
}

// Wanted is the result that the caller of a wait wants, in place of the lock.
type Wanted struct {
	Had     ticket.Number // of the result that the record had when the caller began; zero: none
	Undated bool          // DynamoDB's dates are not to be trusted
}

// Met reports whether the caller may take the result: it was left after the caller had begun, however short its life, or it is
// fresh. An error says that the result cannot be read.
func (o Wanted) Met(r queue.Result, latest time.Time) (bool, error) {
	switch {
	case r.Problem != nil:
		return false, fmt.Errorf("the result of an earlier holder: %w", r.Problem)
	case r.Exists() && r.Ticket != o.Had:
		return true, nil
	}
	return r.Fresh(latest) && !o.Undated, nil
}

// answered ends the wait of a caller for whom the record has a result.
func (w *Wait) answered(c Clock) (do Do, ends bool) {
	if w.Config.Wanted == nil {
		return do, false
	}
	_, latest, _ := c.At(c.Now())
	ok, err := w.Config.Wanted.Met(w.Snapshot.Record.Result, latest)
	switch {
	case err != nil:
		return w.fail(WhyError, err), true
	case ok:
		return w.fail(WhyResult, nil), true
	}
	return do, false
}

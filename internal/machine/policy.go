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
	// Limited says that the waiter leaves once a look counts Waiters or more live rows ahead. The first look comes before
	// its row, so that a waiter which is refused is in no other's way; the next one after it, so that two that come at
	// once count each other. Waiters is at least 1: without waiting, NoWait is enough.
	Limited bool
	Waiters int
	// Group is that of a waiter which leaves once a look shows a live row of the group with a later ticket, or once a
	// later ticket of the group was granted. Empty: it does not.
	Group string
	// CancelHolder says that a waiter with a Group asks each holder of the group that is in its way to give way, unless
	// one has asked it before. The mark in the record says so: it needs no memory.
	CancelHolder bool
}

// limited reports whether the waiter counts those ahead. One that does not wait is not in the queue.
func (w *Wait) limited() bool { return w.Config.Policy.Limited && !w.Config.NoWait }

// grouped reports whether a later waiter may supersede this one. It claims only by a look that has shown the rows
// behind it.
func (w *Wait) grouped() bool { return w.Config.Policy.Group != "" && !w.Config.NoWait }

// count continues before the row is put: the waiter looks, and leaves if the queue is full.
func (s policing) count() Do {
	if !s.turn.looked {
		return s.looking().look()
	}
	d := s.looking().decide(s.Ticket, nil)
	do, ends := s.gives(d)
	if !ends {
		do = Do{State: Joining}
	}
	do.Decision = &d
	return do
}

// gives returns how the policy ends the wait of a ticket, if it does.
func (s policing) gives(d queue.Decision) (do Do, ends bool) {
	if by, ok := s.superseded(); ok {
		return s.supersededBy(by), true
	}
	if s.limited() && d.Do == queue.ActionWait && d.Waiters >= s.Config.Policy.Waiters {
		return s.fail(WhyFull, nil), true
	}
	return do, false
}

// superseded returns the later ticket of the group that the snapshot shows: of a row, of a holder, or of the last
// grant. That is not of the group if its holder has another one. Of a turn that is over the group is not known, and
// counts as the same, since a new ticket would make this waiter the latest.
func (s policing) superseded() (by ticket.Number, ok bool) {
	if !s.grouped() {
		return by, false
	}
	shown, group := &s.Snapshot, s.Config.Policy.Group
	var left []time.Duration
	if len(shown.Rows) > 0 {
		left = s.Leases(*shown).Rows
	}
	if by, ok = shown.SupersededBy(group, s.Ticket, left); ok {
		return by, true
	}
	floor := shown.Record.Floor()
	if !s.Ticket.Less(floor) {
		return by, false
	}
	for _, h := range shown.Record.Holders {
		if h.Group == group && s.Ticket.Less(h.Ticket) {
			return h.Ticket, true
		}
	}
	return floor, !slices.ContainsFunc(shown.Record.Holders, func(h queue.Holder) bool {
		return h.Ticket == floor && !h.Closed
	})
}

// ask asks a holder to give way if the policy asks for that, or else rests.
func (s policing) ask() Do {
	i := slices.IndexFunc(s.Snapshot.Record.Holders, s.cancels)
	if i < 0 {
		return Do{State: Resting}
	}
	h := s.Snapshot.Record.Holders[i]
	_, at := s.Begin()
	why := "superseded by ticket " + s.Ticket.String()
	return Do{State: Asking, Holder: &h, Write: queue.Revoke(h.ID, h.Ticket,
		queue.Revocation{By: s.Config.Owner, Why: why, At: at})}
}

// cancels reports whether the waiter asks a holder to give way. One that cannot be read might never be found by the
// request.
func (s policing) cancels(h queue.Holder) bool {
	p := s.Config.Policy
	return p.CancelHolder && s.grouped() && h.Group == p.Group && h.Revoked == nil && !h.Closed && h.Problem == nil
}

// notAsked continues after a REVOKE that was not applied, so far as is known. That of a holder which is gone has shown
// that the queue has moved. One that has failed waits for a later look, and never ends the wait.
func (s policing) notAsked(failed bool) Do {
	if failed {
		return Do{State: Resting}
	}
	return s.looking().lookAgain()
}

func (w *Wait) supersededBy(by ticket.Number) Do {
	do := w.fail(WhySuperseded, nil)
	do.By = by
	return do
}

// newTicket ends the wait of a ticket that can never be granted.
func (s policing) newTicket(why Why) Do {
	if by, ok := s.superseded(); ok {
		return s.supersededBy(by)
	}
	return s.fail(why, nil)
}

// Wanted is the result that the caller of a wait wants, in place of the lock.
type Wanted struct {
	Had     ticket.Number // of the result that the record had when the caller began; zero: none
	Undated bool          // DynamoDB's dates are not to be trusted
}

// Met reports whether the caller may take the result: it was left after the caller had begun, however short its life,
// or it is fresh. An error says that the result cannot be read.
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
func (s policing) answered() (do Do, ends bool) {
	if s.Config.Wanted == nil {
		return do, false
	}
	_, latest, _ := s.At(s.Now())
	ok, err := s.Config.Wanted.Met(s.Snapshot.Record.Result, latest)
	switch {
	case err != nil:
		return s.fail(WhyError, err), true
	case ok:
		return s.fail(WhyResult, nil), true
	}
	return do, false
}

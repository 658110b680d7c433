package machine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// resume joins if the ticket can still be granted.
func (s looking) resume() Do {
	rec := s.Snapshot.Record
	if rec.Present && rec.Floor().Less(s.Ticket) && !s.Config.Resume.Held {
		return Do{State: Joining}
	}
	why := "it was released, evicted, overtaken, or resumed by another process"
	if slices.ContainsFunc(rec.Holders, func(h queue.Holder) bool { return h.Ticket == s.Ticket && !h.Closed }) {
		why = "another process holds the lock with this ticket, as after an earlier Resume"
	}
	return s.fail(WhyGone, errors.New(why))
}

// takeOver replaces a holder that the handle names by an own id: a CLAIM of a process that has ended may still arrive.
func (s granting) takeOver() (do Do, found bool) {
	if s.Config.Resume == nil {
		return do, false
	}
	old, found, why, err := holderOf(s.Config.Resume, s.Snapshot.Record)
	switch {
	case !found:
		return do, false
	case err != nil:
		return s.fail(why, err), true
	}
	s.Config.Mode.Shared = old.Shared
	entry := s.attempt(true)
	a := s.last()
	a.Resumed = true
	entry.Lease.Delay = max(entry.Lease.Delay, old.Lease.Delay) // for requests that are under way
	entry.Lease, entry.Revoked = entry.Lease.Keeps(old.Lease, entry.Since), old.Revoked
	entry.Slot = old.Slot
	if old.Shared { // readers would join a closed queue
		entry.Lease.AtLeast, entry.Lease.NotBefore = 0, time.Time{}
	}
	a.Lease = entry.Lease
	if len(entry.Data) == 0 {
		entry.Data = old.Data
	}
	entry.Group = cmp.Or(entry.Group, old.Group)
	mark := queue.Eviction{ID: old.ID, Ticket: old.Ticket, Made: old.Made}
	_, mark.At, _ = s.At(s.Now()) // no transaction of the holder began later
	return Do{State: TakingOver, Attempt: a, Write: queue.Resume(entry, s.Config.Resume.Ticket, old, mark),
		Holders: []queue.Holder{old}}, true
}

// holderOf returns the holder in the record that a handle names. The error is the reason why it cannot be resumed.
func holderOf(h *queue.Handle, rec queue.Record) (holder queue.Holder, found bool, why Why, err error) {
	for _, holder := range rec.Holders {
		switch {
		case !h.Names(holder.ID), holder.Closed:
			continue
		case holder.Unreadable():
			return holder, true, WhyError, holder.Problem
		case !mayServe(holder, h.Ticket):
			continue
		case holder.Lease.FailClosed && !holder.Lease.Endless():
			why, err = WhyGone, errors.New("the lock fails closed, and its process ended before it was confirmed")
		case holder.Lease.FailClosed:
			// A process that resumed it and gave up would open the queue.
			err = fmt.Errorf("ticket %s is held without a lease, and is not resumed: an operator must evict it", holder.Ticket)
		}
		return holder, true, why, err
	}
	return queue.Holder{}, false, why, nil
}

// mayServe reports whether a turn of the holder's block may be the present one.
func mayServe(h queue.Holder, turn ticket.Number) bool {
	return h.Ticket.Compare(turn) <= 0 && turn.Compare(h.Last()) <= 0 && h.Reached.Compare(turn) <= 0
}

// hides returns what is wrong with a record that refuses to replace an entry as it was read.
func (s granting) hides(rec queue.Record) error {
	old, found, _, err := holderOf(s.Config.Resume, s.Snapshot.Record)
	again, present := rec.Mine(old.ID)
	if !found || err != nil || !present || !again.Unchanged(old) {
		return nil
	}
	q := s.Config.Items
	return &clause.MalformedError{
		Item: fmt.Sprintf("serving record of %q", q), Attribute: q.Attr(attr.Holders) + "." + old.ID,
		Problem: fmt.Sprintf("holds alone with ticket %s, and the record says otherwise: it cannot be resumed", old.Ticket),
	}
}

package waiter

import (
	"fmt"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/dbclock"
	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/ticket"
)

// attempt is one request that may put its id into the record.
type attempt struct {
	id      string
	sent    time.Time
	lease   lease.Lease
	claimed bool
	unknown bool // it was not answered: the id may be in the record, or get there
	given   bool // it was given up: the id is never adopted again
	resumed bool // it takes over what a process that has ended held

	confirming ticket.Number // a CONFIRM was sent for it, with that ticket; zero: none
}

// delayed reports whether the attempt's entry, if it is in the record, must not be
// removed before its time: the holder before may have requests under way, and its
// lock delay keeps other holders from meeting them.
func (a *attempt) delayed() bool { return a.resumed && a.lease.Delay > 0 }

// usable reports whether the attempt's entry, as a record shows it now, is a grant
// that the waiter can still use: the lease has not ended, by its own clock.
func (a *attempt) usable(entry serving.Holder, terms lease.Terms, clock *dbclock.Clock, now time.Time) bool {
	return !entry.Unreadable() && now.Before(terms.Deadline(a.sent)) && terms.OwnerEndsFirst(clock, a.lease.Until, a.sent, now)
}

// grant returns what the attempt was granted with that ticket, in that record.
func (a *attempt) grant(t ticket.Number, rec serving.Record) Grant {
	return Grant{ID: a.id, Ticket: t, Sent: a.sent, Lease: a.lease, Claimed: a.claimed, Resumed: a.resumed, Record: rec}
}

// attempts are the requests of one acquire that may put an id into the record, each
// with an id of its own.
type attempts struct {
	prefix string // of the ids, never used before
	all    []*attempt
}

// add makes an attempt with an id that was never used, and the entry to write.
func (as *attempts) add(e Entry, clock *dbclock.Clock, claimed bool) (*attempt, serving.Entry) {
	a := &attempt{id: fmt.Sprintf("%s-%d", as.prefix, len(as.all)), sent: time.Now(), claimed: claimed}
	as.all = append(as.all, a)
	entry := serving.Entry{ID: a.id, Owner: e.Owner, Mode: e.Mode, Data: e.Data}
	entry.Lease, entry.Since = e.Terms.Begin(clock, a.sent)
	a.lease = entry.Lease
	return a, entry
}

// ids returns the ids that may be adopted.
func (as *attempts) ids() []string {
	var ids []string
	for _, a := range as.all {
		if !a.given {
			ids = append(ids, a.id)
		}
	}
	return ids
}

// find returns the attempt whose entry is in the record, and the entry; nil if there
// is none.
func (as *attempts) find(rec serving.Record) (*attempt, serving.Holder) {
	entry, ok := rec.Mine(as.ids()...)
	if !ok {
		return nil, serving.Holder{}
	}
	return as.of(entry.ID), entry
}

// of returns the attempt with that id.
func (as *attempts) of(id string) *attempt {
	for _, a := range as.all {
		if a.id == id {
			return a
		}
	}
	return nil
}

// unknown returns the ids that may be in the record without an owner, at most as
// many as one request can remove. One that took over a lock with a lock delay is
// left to the delay. Those that were to be confirmed come last: no lease ends them.
func (as *attempts) unknown() []string {
	var leased, endless []string
	for _, a := range as.all {
		switch {
		case !a.unknown:
		case !a.confirming.IsZero():
			endless = append(endless, a.id)
		case !a.delayed():
			leased = append(leased, a.id)
		}
	}
	// A waiter stops long before it has that many requests unanswered. Those
	// sent last are the likeliest to be still under way.
	ids := slices.Concat(leased, endless)
	return ids[max(0, len(ids)-serving.MaxEvicted):]
}

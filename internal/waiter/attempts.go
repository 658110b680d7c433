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
	resumed bool // it takes over the lock of a process that has ended

	confirming ticket.Number // of the CONFIRM that was sent for it; zero: none
}

// delayed reports whether the attempt's entry must not be removed before its time: the
// earlier holder may have requests under way, and its lock delay keeps the queue closed.
func (a *attempt) delayed() bool { return a.resumed && a.lease.Delay > 0 }

// usable reports whether the attempt's entry is a grant that can still be used: its lease
// has not ended by the local clock.
func (a *attempt) usable(entry serving.Holder, terms lease.Terms, clock *dbclock.Clock, now time.Time) bool {
	return !entry.Unreadable() && now.Before(terms.Deadline(a.sent)) && terms.OwnerEndsFirst(clock, a.lease.Until, a.sent, now)
}

// attempts are the attempts of one acquire. Each has an id of its own.
type attempts struct {
	prefix string // of the ids; never used before
	all    []*attempt
}

// add returns an attempt with an id that was never used, and the entry to write.
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

// unknown returns the ids that may be in the record without an owner, at most as many as
// one request can remove. Ids that were to be confirmed come last, as no lease ends them.
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
	// A waiter stops long before it has that many. The last are the likeliest to be still
	// under way.
	ids := slices.Concat(leased, endless)
	return ids[max(0, len(ids)-serving.MaxEvicted):]
}

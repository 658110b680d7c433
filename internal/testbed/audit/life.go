package audit

import (
	"time"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// life is a lease as it is in the table.
type life struct {
	id    string
	owner string
	beat  string
	until time.Time     // zero without dates
	ends  time.Time     // a full lease after it was last renewed: a client that has observed it for as long may end it
	delay time.Duration // for which others wait beyond until; part of ends

	endless bool // it has no lease: no other client may end it
	group   string
	closed  bool // it is no turn any more, and keeps the queue closed
	named   bool // a release has granted the lock to a waiter's row, and its waiter has not written to the entry
}

// alive says that a lease has not ended, by its end or else by how long ago it
// was renewed.
func (l life) alive(now time.Time) bool {
	if l.endless {
		return true
	}
	if l.until.IsZero() {
		return now.Before(l.ends)
	}
	return now.Before(l.until.Add(l.delay))
}

// lives reads the lease with that id. A lease that was removed, and put there once more
// by a duplicate request, is as old as it was, as an observer may have seen nothing of
// that.
func (a *Audit) lives(id string, it value.Item) life {
	before := a.leases[id]
	_, leased := it["ttl"]
	l := life{
		id: id, owner: it["owner"].Text, beat: text(it["beat"]), until: millis(it["until"]), ends: before.ends,
		delay: length(it["delay"]), group: it["group"].Text, endless: it["failClosed"].Bool && !leased,
		named: it["named"].Bool && text(it["beat"]) == "0", closed: it["closed"].Bool,
	}
	if least := length(it["atLeast"]); least > 0 { // from the grant on
		if since := millis(it["since"]); !since.IsZero() && !l.until.IsZero() {
			least = since.Add(least).Sub(l.until)
		}
		l.delay = max(l.delay, least)
	}
	if l.owner != before.owner || l.beat != before.beat || l.until != before.until {
		whole := length(it["ttl"]) + l.delay
		l.ends = a.now().Add(whole - whole/1000) // the watcher's clock may be the faster one
	}
	if whole(l.beat).Cmp(whole(before.beat)) < 0 {
		// A late request has put it there as it was before its renewals, of which an observer may have seen nothing.
		l.ends = time.Time{}
	}
	a.leases[id] = l
	return l
}

// Age makes what some owners have in the table older by a duration, in no time:
// edit, whose requests have no actor, lowers the ends of their leases in the table
// and reports whether it did. Its requests are not judged.
func (a *Audit) Age(owns func(owner string) bool, by time.Duration, edit func() bool) bool {
	a.aging.Store(true)
	done := edit()
	a.aging.Store(false)
	if !done {
		return false
	}
	age := func(l life) life {
		if !owns(l.owner) || l.endless {
			return l
		}
		l.ends = l.ends.Add(-by)
		if !l.until.IsZero() {
			l.until = l.until.Add(-by)
		}
		return l
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, l := range a.leases {
		a.leases[id] = age(l)
	}
	for _, q := range a.queues {
		for id, h := range q.holders {
			h.life = age(h.life)
			q.holders[id] = h
		}
		for _, r := range q.rows {
			r.life = age(r.life)
		}
	}
	return true
}

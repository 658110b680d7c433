package audit

import "time"

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

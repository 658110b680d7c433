package audit

import "time"

// Age lets what some owners have in the table grow older by a duration, in no
// time: edit moves the ends of their leases in the table, around the audit, and
// reports whether it did. Nothing is judged. No request is served meanwhile.
func (a *Audit) Age(owns func(owner string) bool, by time.Duration, edit func() bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !edit() {
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
	a.scan()
	return true
}

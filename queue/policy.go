package queue

import (
	"time"

	"github.com/queuelock/queuelock/ticket"
)

// MaxGroup is the largest size of a group, in bytes, and MaxWaiters the largest limit.
const (
	MaxGroup   = 256
	MaxWaiters = 10_000
)

// Full returns the limit of the last waiter that has one, and whether the queue is full by that limit. Waiters whose
// lease has ended do not count.
func (s *State) Full() (limit int, full bool) {
	n := 0
	for _, w := range s.Waiting {
		if !w.Expired() {
			n += w.turns()
		}
		if w.MaxWaiters > 0 {
			limit = w.MaxWaiters
		}
	}
	return limit, limit > 0 && n >= limit
}

// SupersededBy returns the ticket of the waiter that supersedes the one with ticket t, the last of its group.
func (s *State) SupersededBy(t ticket.Number) (by ticket.Number, ok bool) {
	w, ok := first(s.Waiting, func(w Waiter) bool { return w.Ticket == t })
	if !ok {
		return by, false
	}
	return supersedes(s.Waiting, w.Group, t, func(i int) bool { return !s.Waiting[i].Expired() })
}

// SupersededBy returns the last ticket after t of a live row of the group. left are the leases of the rows.
func (s Snapshot) SupersededBy(group string, t ticket.Number, left []time.Duration) (by ticket.Number, ok bool) {
	return supersedes(s.Rows, group, t, func(i int) bool { return left[i] > 0 })
}

// supersedes returns the last ticket after t of a live row of the group. One that cannot be read has none.
func supersedes(rows []Waiter, group string, t ticket.Number, live func(i int) bool) (by ticket.Number, ok bool) {
	for i, row := range rows {
		if group != "" && row.Group == group && row.Problem == nil && t.Less(row.Ticket) && live(i) {
			by, ok = row.Ticket, true
		}
	}
	return by, ok
}

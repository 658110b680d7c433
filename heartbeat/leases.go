package heartbeat

import (
	"time"

	"github.com/queuelock/queuelock/queue"
)

// Leases returns how long the leases of a snapshot remain.
func (o *Observer) Leases(q queue.Items, s queue.Snapshot) queue.Leases {
	var l queue.Leases
	for _, h := range s.Record.Holders {
		l.Holders = append(l.Holders, o.See(h.LeaseID(q), h.Lease, s.ReadAt))
	}
	for _, row := range s.Rows {
		l.Rows = append(l.Rows, o.See(row.LeaseID(q), row.Lease, s.ReadAt))
	}
	return l
}

// Holder returns a holder that was read at a local instant, with its age and its remaining time. now is the time on
// DynamoDB's clock, for the age.
func (o *Observer) Holder(q queue.Items, h queue.Holder, readAt, now time.Time) queue.Holder {
	h.Remaining = o.See(h.LeaseID(q), h.Lease, readAt)
	if !h.Since.IsZero() {
		h.Age = max(0, now.Sub(h.Since))
	}
	return h
}

// Holders is Holder for the holders of a record.
func (o *Observer) Holders(q queue.Items, rec queue.Record, readAt, now time.Time) []queue.Holder {
	var all []queue.Holder
	for _, h := range rec.Holders {
		all = append(all, o.Holder(q, h, readAt, now))
	}
	return all
}

// State returns a snapshot of a whole queue as callers are shown it.
func (o *Observer) State(q queue.Items, s queue.Snapshot) *queue.State {
	rec := s.Record
	state := &queue.State{
		Entity: q.Entity, Reason: q.Reason, Issued: rec.TicketNumber, Scope: rec.Scope, Permits: rec.Permits,
		HoldTime: rec.HoldTime, Result: rec.Result, ReadAt: o.clock.Middle(s.ReadAt),
	}
	if state.ReadAt.IsZero() {
		state.ReadAt = s.ReadAt
	}
	if mark := rec.Marks.Evicted; !mark.Ticket.IsZero() { // else it came with a new record
		state.LastEviction = mark
	}
	state.Serving = o.Holders(q, rec, s.ReadAt, state.ReadAt)
	floor, waiters := rec.Floor(), 0
	for _, row := range s.Rows {
		if row.Ticket.Compare(floor) <= 0 { // its waiter was served or overtaken
			for i := range state.Serving {
				if h := &state.Serving[i]; !h.Accepted() && h.Ticket == row.Ticket { // it lasts as long as the row
					h.Remaining = max(h.Remaining, o.See(row.LeaseID(q), row.Lease, s.ReadAt))
				}
			}
			continue
		}
		row.Position = waiters + 1
		waiters += max(row.Turns, 1)
		row.Remaining = o.See(row.LeaseID(q), row.Lease, s.ReadAt)
		if !row.CreatedAt.IsZero() {
			row.Age = max(0, state.ReadAt.Sub(row.CreatedAt))
		}
		state.Waiting = append(state.Waiting, row)
	}
	return state
}

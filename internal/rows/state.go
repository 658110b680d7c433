package rows

import (
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// State returns a snapshot of the whole queue as callers are shown it.
func (s Snapshot) State(q table.Queue, observer *heartbeat.Observer) *queue.State {
	rec := s.Record
	state := &queue.State{
		Entity: q.Entity, Reason: q.Reason, Issued: rec.TicketNumber, Scope: rec.Scope, Permits: rec.Permits,
		HoldTime: queue.HoldTime(rec.Turn), ReadAt: q.Clock().Middle(s.ReadAt),
	}
	if state.ReadAt.IsZero() {
		state.ReadAt = s.ReadAt
	}
	if mark := rec.Marks.Evicted; !mark.Ticket.IsZero() { // else it came with a new record
		state.LastEviction = queue.Eviction{Ticket: mark.Ticket, ID: mark.ID, At: mark.At}
	}
	state.Serving = rec.Shown(q, observer, s.ReadAt, state.ReadAt)
	floor := rec.Floor()
	for _, row := range s.Rows {
		if row.Ticket.Compare(floor) <= 0 {
			continue // its waiter was served or overtaken
		}
		w := queue.Waiter{
			Position: len(state.Waiting) + 1, Ticket: row.Ticket, ID: row.ID, Beat: row.Lease.Beat, Owner: row.Owner, Shared: row.Shared(), Problem: row.Problem,
			Remaining: observer.See(row.LeaseID(q), row.Lease, s.ReadAt), TTL: row.Lease.TTL,
		}
		if !row.CreatedAt.IsZero() {
			w.Age = max(0, state.ReadAt.Sub(row.CreatedAt))
		}
		state.Waiting = append(state.Waiting, w)
	}
	return state
}

// Package picture translates what was read of a queue into the public types of
// package queue. It is the one place that knows both sides.
package picture

import (
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// State translates a snapshot of the whole queue.
func State(q table.Queue, snapshot rows.Snapshot, observer *heartbeat.Observer) *queue.State {
	rec := snapshot.Record
	s := &queue.State{
		Entity: q.Entity, Reason: q.Reason, Issued: rec.TicketNumber, Scope: rec.Scope, Permits: rec.Permits,
		HoldTime: queue.HoldTime(rec.Turn), ReadAt: q.Clock().Middle(snapshot.ReadAt),
	}
	if s.ReadAt.IsZero() {
		s.ReadAt = snapshot.ReadAt
	}
	if mark := rec.Marks.Evicted; !mark.Ticket.IsZero() { // else it came with a new record
		s.LastEviction = queue.Eviction{Ticket: mark.Ticket, ID: mark.ID, At: mark.At}
	}
	for _, h := range rec.Holders {
		s.Serving = append(s.Serving, Holder(q, h, observer, snapshot.ReadAt, s.ReadAt))
	}
	floor := rec.Floor()
	for _, row := range snapshot.Rows {
		if row.Ticket.Compare(floor) <= 0 {
			continue // its waiter was served or overtaken
		}
		w := queue.Waiter{
			Position: len(s.Waiting) + 1, Ticket: row.Ticket, ID: row.ID, Beat: row.Lease.Beat, Owner: row.Owner, Shared: row.Shared(), Problem: row.Problem,
			Remaining: observer.See(row.LeaseID(q), row.Lease, snapshot.ReadAt), TTL: row.Lease.TTL,
		}
		if !row.CreatedAt.IsZero() {
			w.Age = max(0, s.ReadAt.Sub(row.CreatedAt))
		}
		s.Waiting = append(s.Waiting, w)
	}
	return s
}

// Holder translates a holder that a read showed. readAt is when the read was
// answered on the local clock, and now is the time of its Age on DynamoDB's.
func Holder(q table.Queue, h serving.Holder, observer *heartbeat.Observer, readAt, now time.Time) queue.Holder {
	holder := queue.Holder{
		Ticket: h.Ticket, ID: h.ID, Beat: h.Lease.Beat, Owner: h.Owner, Shared: h.Shared, Since: h.Since,
		Remaining: observer.See(h.LeaseID(q), h.Lease, readAt), TTL: h.Lease.TTL, Delay: h.Lease.Delay,
		FailClosed: h.Lease.Endless(), Data: h.Data, Problem: h.Problem,
	}
	if !h.Since.IsZero() {
		holder.Age = max(0, now.Sub(h.Since))
	}
	return holder
}

// Holders translates holders that were read now.
func Holders(q table.Queue, holders []serving.Holder, observer *heartbeat.Observer) []queue.Holder {
	var all []queue.Holder
	readAt := time.Now()
	now := q.Clock().Middle(readAt)
	for _, h := range holders {
		all = append(all, Holder(q, h, observer, readAt, now))
	}
	return all
}

// Locked reports whether a holder's lease has not ended, by a read that was answered
// at readAt. The observer sees each holder, and watches it from now on.
func Locked(q table.Queue, holders []serving.Holder, observer *heartbeat.Observer, readAt time.Time) bool {
	locked := false
	for _, h := range holders {
		locked = observer.See(h.LeaseID(q), h.Lease, readAt) > 0 || locked
	}
	return locked
}

// Seen translates the first of the holders that a look at seenAt showed, with its
// age and its remaining time as they are now; nil if there was none.
func Seen(q table.Queue, holders []serving.Holder, observer *heartbeat.Observer, seenAt time.Time) *queue.Holder {
	if len(holders) == 0 {
		return nil
	}
	now := time.Now()
	holder := Holder(q, holders[0], observer, seenAt, q.Clock().Middle(now))
	if !holder.FailClosed {
		holder.Remaining -= now.Sub(seenAt)
	}
	return &holder
}

package serving

import (
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// Shown returns the holders as callers are shown them. readAt is when the read was answered on the local clock, by
// which the observer sees them, and now is the time of their ages on DynamoDB's.
func (r Record) Shown(q table.Queue, observer *heartbeat.Observer, readAt, now time.Time) []queue.Holder {
	var all []queue.Holder
	for _, h := range r.Holders {
		all = append(all, h.Shown(q, observer, readAt, now))
	}
	return all
}

// Shown is Record.Shown for one holder.
func (h Holder) Shown(q table.Queue, observer *heartbeat.Observer, readAt, now time.Time) queue.Holder {
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

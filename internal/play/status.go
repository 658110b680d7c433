package play

import (
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Status is what a caller last saw of its queue, by a look of its own or of another one of its client.
type Status struct {
	Ticket  ticket.Number // zero: none was taken
	Ahead   int           // waiters ahead: each ticket of a block is one
	Rows    int           // that these have
	Serving []queue.Holder
	SeenAt  time.Time           // on the local clock
	Looked  bool                // else Ahead is a difference of tickets, some of which were left without a row
	Kept    bool                // this client itself holds the lock, for a block of the caller, and renews the lease
	Blocked error               // problem of a row ahead or a holder that cannot be read
	Failure error               // of the last request, CLEAN UP included, if the table did not answer
	Wait    waitpolicy.Estimate // when Status was called
}

// Served returns the first holder, or nil, with its age and its remaining time as they are now.
func (s Status) Served(q table.Queue, observer *heartbeat.Observer) *queue.Holder {
	if len(s.Serving) == 0 {
		return nil
	}
	now := time.Now()
	holder := observer.Holder(q.Items, s.Serving[0], s.SeenAt, q.Clock().Middle(now))
	switch {
	case s.Kept:
		holder.Remaining = holder.TTL
	case !holder.Endless():
		holder.Remaining -= now.Sub(s.SeenAt)
	}
	return &holder
}

// Progress is a caller's place in its queue and the estimated wait.
type Progress struct {
	Status  Status
	Tickets int // between the floor and the caller's own
	Wait    waitpolicy.Estimate
}

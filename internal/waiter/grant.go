package waiter

import (
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/ticket"
)

// Grant is a place in the record.
type Grant struct {
	ID     string
	Ticket ticket.Number
	// Sent is when the request that was granted was sent: the lease counts
	// from there.
	Sent time.Time
	// Lease is what the entry says of itself. Without Until, the first heartbeat
	// must say it.
	Lease lease.Lease
	// Claimed reports that the grant came after a wait in the queue, and Resumed
	// that it was another process's before, which may have acted under it.
	Claimed, Resumed bool
	// Record is the record with the grant in it.
	Record serving.Record
}

// Handle returns the handle by which another process resumes the lock.
func (g Grant) Handle() Handle {
	return Handle{ID: g.ID[:max(0, strings.LastIndexByte(g.ID, '-'))], Ticket: g.Ticket}
}

package waiter

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/grace"
	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
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

// claimant puts ids of the waiter into the record, finds them there, and takes out
// those that are of no use.
type claimant struct {
	queue    table.Queue
	local    *localqueue.Queues
	log      *slog.Logger
	entry    Entry // its Mode is that of the lock once a Resume has found it
	attempts attempts
	requests *requests
}

func newClaimant(c Config, r *requests) *claimant {
	return &claimant{queue: c.Queue, local: c.Local, log: c.Log, entry: c.Entry, requests: r}
}

// attempt returns a new attempt, and the entry to write.
func (c *claimant) attempt(claimed bool) (*attempt, serving.Entry) {
	return c.attempts.add(c.entry, c.queue.Clock(), claimed)
}

// claim sends CLAIM, with a new id.
func (c *claimant) claim(ctx context.Context, t ticket.Number) (serving.Record, error) {
	a, entry := c.attempt(true)
	extended, cancel := grace.Context(ctx, answerGrace)
	defer cancel()
	rec, err := serving.Claim(extended, c.queue, entry, t)
	a.unknown = err != nil && !errors.Is(err, serving.ErrRefused) && table.Applied(err, true)
	return rec, err
}

// adopt returns the grant of an own id in the record. One whose lease is over, as
// after a lost answer or a pause of the process, is no grant: it is removed, and the
// snapshot is changed to the record without it.
func (c *claimant) adopt(ctx context.Context, snapshot *rows.Snapshot) (Grant, bool) {
	a, entry := c.attempts.find(snapshot.Record)
	if a == nil {
		return Grant{}, false
	}
	if a.usable(entry, c.entry.Terms, c.queue.Clock(), time.Now()) {
		a.unknown, c.requests.failure = false, nil
		return a.grant(entry.Ticket, snapshot.Record), true
	}
	c.log.Warn("queuelock: a grant came too late to be used, or was spoilt", "queue", c.queue.String(), "ticket", entry.Ticket, "problem", entry.Problem)
	a.given, a.unknown = true, true
	if a.delayed() {
		return Grant{}, false // its lease and its lock delay end it
	}
	if without, err := c.remove(ctx, a.id); err == nil {
		snapshot.Saw(without)
		a.unknown = false
	}
	return Grant{}, false
}

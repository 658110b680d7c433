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

// Grant is a lock that was granted.
type Grant struct {
	ID     string
	Ticket ticket.Number
	Sent   time.Time   // of the request that was granted; the lease counts from it
	Lease  lease.Lease // of the entry; without Until until the first heartbeat
	// Claimed reports a grant after a wait in the queue. Resumed reports a lock of another
	// process, which may have acted under it.
	Claimed, Resumed bool
	Record           serving.Record // with the grant
}

// Handle returns the handle by which another process resumes the lock.
func (g Grant) Handle() Handle {
	return Handle{ID: g.ID[:max(0, strings.LastIndexByte(g.ID, '-'))], Ticket: g.Ticket}
}

// claimant puts ids of the waiter into the record, finds them there, and removes those
// that are of no use.
type claimant struct {
	queue    table.Queue
	local    *localqueue.Queues
	log      *slog.Logger
	entry    Entry // with the Mode of the lock once a Resume has found it
	attempts attempts
	requests *requests
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

// adopt returns the grant of an own id in the record. An entry whose lease is over, as
// after a lost answer or a pause of the process, is not a grant: it is removed, and the
// snapshot is changed to the record without it.
func (c *claimant) adopt(ctx context.Context, snapshot *rows.Snapshot) (Grant, bool) {
	a, entry := c.attempts.find(snapshot.Record)
	if a == nil {
		return Grant{}, false
	}
	if a.usable(entry, c.entry.Terms, c.queue.Clock(), time.Now()) {
		a.unknown, c.requests.failure = false, nil
		return Grant{
			ID: a.id, Ticket: entry.Ticket, Sent: a.sent, Lease: a.lease,
			Claimed: a.claimed, Resumed: a.resumed, Record: snapshot.Record,
		}, true
	}
	c.log.Warn("queuelock: a grant came too late to be used, or is malformed", "queue", c.queue.String(), "ticket", entry.Ticket, "problem", entry.Problem)
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

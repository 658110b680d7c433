package waiter

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/ticket"
)

// Grace returns the lease of a fail-closed grant until it is confirmed. It must outlast
// the answer of the grant and a few attempts at CONFIRM, each of which may take
// requestTimeout: otherwise fail-closed waiters would evict each other without end where
// the network is slow. It is no longer, because other waiters wait for it after a crash.
// Two seconds leave room for the uncertainty of DynamoDB's clock, of about a second.
func Grace(requestTimeout time.Duration) time.Duration {
	return min(max(4*requestTimeout, 2*time.Second), lease.Max)
}

// Orphan is a fail-closed grant whose CONFIRM had no answer. It may be in the record and
// has no owner.
type Orphan struct {
	Ticket ticket.Number
	Err    error // why it could not be removed
}

// confirm sends CONFIRM until it is answered. It returns errOvertaken if the grant is
// gone. After any other error its outcome is unknown.
func (c *claimant) confirm(ctx context.Context, grant Grant) (Grant, error) {
	a := c.attempts.of(grant.ID)
	a.unknown = true
	var rec serving.Record
	err := c.requests.send(ctx, c.requests.series(), "confirm", func(ctx context.Context) (err error) {
		a.confirming = grant.Ticket
		rec, err = serving.Confirm(ctx, c.queue, grant.ID, grant.Ticket, lease.Middle(c.queue.Clock(), grant.Sent))
		return err
	})
	switch {
	case err == nil:
		a.unknown = false
		me, _ := rec.Mine(grant.ID)
		grant.Record, grant.Lease = rec, me.Lease
		return grant, nil
	case errors.Is(err, serving.ErrRefused):
		c.log.Warn("queuelock: a fail-closed grant was not confirmed in time", "queue", c.queue.String(), "ticket", grant.Ticket)
		c.unconfirmed(ctx, a, rec)
		return Grant{}, errOvertaken
	}
	return Grant{}, err
}

// unconfirmed gives up an attempt that was evicted before it was confirmed. If a late
// request has put its id into the record again, it is removed.
func (c *claimant) unconfirmed(ctx context.Context, a *attempt, rec serving.Record) {
	a.given, a.confirming = true, ticket.Number{}
	if _, a.unknown = rec.Mine(a.id); a.unknown {
		_, err := c.remove(ctx, a.id)
		a.unknown = err != nil
	}
}

// abandon logs ids that could not be removed from the record. A lease ends them, except an
// Orphan, which it returns.
func (c *claimant) abandon(ids []string, err error) (orphan *Orphan) {
	for _, a := range c.attempts.all {
		if a.unknown && !a.confirming.IsZero() {
			ids = slices.DeleteFunc(ids, func(id string) bool { return id == a.id })
			orphan = &Orphan{Ticket: a.confirming, Err: err}
			c.log.Error("queuelock: a fail-closed grant of unknown outcome could not be removed; if it is in the record, an operator must evict it",
				"queue", c.queue.String(), "ticket", a.confirming, "id", a.id, "error", err)
		}
	}
	if len(ids) > 0 {
		c.log.Warn("queuelock: holder ids of unknown outcome could not be removed; their lease will end them",
			"queue", c.queue.String(), "ids", ids, "ttl", c.entry.Terms.TTL, "error", err)
	}
	return orphan
}

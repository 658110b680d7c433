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

// Grace returns the lease of a fail-closed grant until it is confirmed. It must
// outlast the answer of the request that was granted and a few attempts at the
// confirmation, each of which may take requestTimeout. Otherwise fail-closed
// waiters would evict each other for ever where the network is slow. It is no
// longer than that, because other waiters wait for it if the process crashes in
// between. The table decides whether an eviction or the confirmation comes first.
func Grace(requestTimeout time.Duration) time.Duration {
	return min(max(4*requestTimeout, minGrace), lease.Max)
}

// minGrace leaves room for the uncertainty of DynamoDB's clock, which is known to
// about a second.
const minGrace = 2 * time.Second

// Orphan is a fail-closed grant that was to be confirmed, and was given up
// without an answer: it may be in the record, and has no owner.
type Orphan struct {
	Ticket ticket.Number
	Err    error // why it could not be removed
}

// confirm sends CONFIRM until it is answered. It returns errOvertaken if the grant
// is gone. After any other error the grant is among those of unknown outcome.
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

// unconfirmed gives up an attempt that was evicted before it was confirmed. If its
// id is in the record all the same, a late request has put it there, and it is
// removed.
func (c *claimant) unconfirmed(ctx context.Context, a *attempt, rec serving.Record) {
	a.given, a.confirming = true, ticket.Number{}
	if _, a.unknown = rec.Mine(a.id); a.unknown {
		_, err := c.remove(ctx, a.id)
		a.unknown = err != nil
	}
}

// abandon reports ids that could not be removed from the record. A lease ends
// them, except an Orphan, which it returns.
func (c *claimant) abandon(ids []string, err error) (orphan *Orphan) {
	for _, a := range c.attempts.all {
		if a.unknown && !a.confirming.IsZero() {
			ids = slices.DeleteFunc(ids, func(id string) bool { return id == a.id })
			orphan = &Orphan{Ticket: a.confirming, Err: err}
			c.log.Error("queuelock: a fail-closed grant of unknown outcome could not be removed; if it stands, an operator must evict it",
				"queue", c.queue.String(), "ticket", a.confirming, "id", a.id, "error", err)
		}
	}
	if len(ids) > 0 {
		c.log.Warn("queuelock: holder ids of unknown outcome could not be removed; their lease will end them",
			"queue", c.queue.String(), "ids", ids, "ttl", c.entry.Terms.TTL, "error", err)
	}
	return orphan
}

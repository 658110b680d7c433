package queuelock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/picture"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Evict ends the turn of a holder that fails closed (FailClosed), by the ticket
// that Inspect, or "queuelock status", shows. The next in line is served.
//
// Make sure first that its process is dead, or stopped for good. One that lives
// learns of it with its next heartbeat, up to Config.HeartbeatInterval later, and
// works on until then. Its protected writes (Lock.Condition, Lock.Transact) are
// refused from now on; whatever else it does is not.
//
// nil says that the holder is gone: evicted by this call, or released meanwhile.
// *EvictError says that nothing was done, and matches ErrNotServed if nobody is
// served with that ticket, as after an earlier Evict, or ErrLeased if the holder
// has a lease: so Evict never makes two that believe in theirs. (A lock that
// fails closed has one for the moment between its grant and its confirmation.)
// ErrClosed after Close. Any other error is the table's, or ctx's: the holder may
// be gone. Calling it again is safe, and never evicts another.
//
// Two requests: one read and one conditional write; and, if nobody waits, one
// more in the background, for which Close waits. What fails in passing is tried
// again for as long as ctx lives, at most for 30 s.
func (c *Client) Evict(ctx context.Context, key Key, t ticket.Number) error {
	_, q, err := c.prepare(key, waitpolicy.NoWait, nil)
	if err != nil {
		return err
	}
	ctx, end, err := c.begin(ctx, waitpolicy.Forever)
	if err != nil {
		return err
	}
	defer end()
	key = key.normal()
	var rec serving.Record
	err = passing(ctx, func() error {
		rec, err = serving.Get(ctx, q)
		return err
	})
	if err != nil {
		return fmt.Errorf("queuelock: evict %s: %w", key, err)
	}
	holder, err := c.dismissible(key, q, rec, t)
	for err == nil {
		err = passing(ctx, func() error {
			rec, err = serving.Dismiss(ctx, q, holder)
			return err
		})
		if err != nil && !errors.Is(err, serving.ErrRefused) {
			return fmt.Errorf("queuelock: evict %s ticket %s: it may be gone: %w", key, t, err)
		}
		if _, stands := rec.Mine(holder.ID); err == nil || !stands {
			err = nil
			break
		}
		// It has made a fenced transaction since it was read.
		holder, err = c.dismissible(key, q, rec, t)
	}
	if err != nil {
		return err
	}
	// Refused: it was there, and is gone. Ids do not come back.
	c.cfg.Logger.Warn("queuelock: evicted a fail-closed holder, as an operator wants", "queue", q.String(), "ticket", t, "owner", holder.Owner)
	c.lines.Wake(q)
	if rec.Present && len(rec.Holders) == 0 && rec.Quiet(t) {
		c.background.Run(func() { c.quieten(context.WithoutCancel(ctx), q, t) })
	}
	return nil
}

// dismissible is the holder with that ticket, if Evict may end its turn.
func (c *Client) dismissible(key Key, q table.Queue, rec serving.Record, t ticket.Number) (serving.Holder, error) {
	readAt := time.Now()
	e := &EvictError{Key: key, Ticket: t, Err: ErrNotServed}
	for _, h := range rec.Holders {
		if h.Ticket == t && h.Lease.Endless() {
			return h, nil
		}
		if h.Ticket == t && h.Unreadable() {
			return serving.Holder{}, fmt.Errorf("queuelock: evict %s ticket %s: %w", key, t, h.Problem)
		}
		if h.Ticket == t {
			e.Err = ErrLeased
		}
		e.Serving = append(e.Serving, picture.Holder(q, h, c.observer, readAt, lease.Middle(q.Clock(), readAt)))
	}
	return serving.Holder{}, e
}

// passing makes a request, and again if it failed in passing.
func passing(ctx context.Context, request func() error) error {
	for retries := retry.For(minPatience); ; {
		err := request()
		if err == nil || !table.Transient(err) || !retries.Pause(ctx) {
			return err
		}
	}
}

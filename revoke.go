package queuelock

import (
	"context"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/quote"
	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/sweeper"
)

// Revoked returns a channel that is closed once the holder was asked to give way, by Operator.Revoke or the command
// revoke. That is a request only: the lock is held until Release. The holder learns of it by its next heartbeat, by
// Extend or SetData with NoHeartbeat, and at once by its bell (Config.Wake) from the first call of Revoked on.
func (l *held) Revoked() <-chan struct{} { return l.turn.Revoked() }

// Revocation returns who has asked the holder to give way, and why. ok is false until Revoked is closed. It makes no
// request.
func (l *held) Revocation() (r queue.Revocation, ok bool) { return l.turn.Revocation() }

// Revoke asks a holder, as Inspect has shown it, to give way: see Lock.Revoked. It never asks another one, and a later
// request replaces an earlier one. why is for people, at most 256 bytes of printable characters. deadline, if it is not
// zero, is shown with it: nothing happens then by itself, but an operator may Evict. At most 168 h. Revoke returns nil
// if the holder was asked, and
//
//   - [ErrClosed] after Close.
//   - [*sweeper.EvictError] if the holder is gone, or only its closed queue is left.
//   - any other error if the table failed for 30 s, or ctx ended. The holder may have been asked.
func (o Operator) Revoke(ctx context.Context, key AnyKey, h queue.Holder, why string, deadline time.Duration) error {
	c := o.client
	ctx, q, end, err := c.enter(ctx, key)
	if err != nil {
		return err
	}
	defer end()
	switch bad, printable := quote.Bad(why); {
	case len(why) > queue.MaxWhy:
		return fmt.Errorf("queuelock: Revoke: the reason has %d bytes: at most %d are possible", len(why), queue.MaxWhy)
	case !printable:
		return fmt.Errorf("queuelock: Revoke: the reason has %s: only printable characters are possible", bad)
	case deadline < 0 || deadline > queue.MaxLease:
		return fmt.Errorf("queuelock: Revoke: the deadline is %v: between 0 and %v are possible", deadline, queue.MaxLease)
	}
	r := sweeper.Request{By: c.cfg.Owner, Why: why, Deadline: deadline}
	if err := requests.Sweeper(q, c.observer, minRetryTimeout).Revoke(ctx, h, r, c.local.Ring); err != nil {
		return fmt.Errorf("queuelock: revoke %s ticket %s: %w", keyOf(q), h.Ticket, err)
	}
	return nil
}

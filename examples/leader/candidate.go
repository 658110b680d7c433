package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// candidate is a process that takes part in the elections of a service. Candidates lead
// in the order in which they queued.
type candidate struct {
	service string
	locks   *queuelock.Client
	log     *slog.Logger
	pause   time.Duration // before it queues again, after the table did not answer
}

// run takes part until ctx ends or lead fails. It calls lead in each term of this
// process, with a context that ends with the leadership, before another candidate can
// lead. The term is a fencing token: send it with each write of the leader. It returns
// nil after an orderly end, or the error of lead.
func (c candidate) run(ctx context.Context, lead func(ctx context.Context, term ticket.Number) error) error {
	for ctx.Err() == nil {
		err := c.serve(ctx, lead)
		var lost *queuelock.LostError
		switch {
		case errors.As(err, &lost):
			c.log.Warn("leadership lost", "service", c.service, "term", lost.Ticket, "cause", lost.Cause, "err", lost.Err)
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			return nil // while it waited
		case errors.Is(err, queuelock.ErrUnavailable):
			c.log.Warn("no election", "service", c.service, "err", err)
			select {
			case <-time.After(c.pause):
			case <-ctx.Done():
			}
		default:
			return err
		}
	}
	return nil
}

// serve waits for the leadership and leads for one term.
func (c candidate) serve(ctx context.Context, lead func(context.Context, ticket.Number) error) error {
	c.log.Info("waiting to lead", "service", c.service)
	return c.locks.Do(ctx, queuelock.Key{Entity: c.service, Reason: "leader"}, waitpolicy.Forever,
		func(ctx context.Context, lock *queuelock.Lock) error {
			c.log.Info("leading", "service", c.service, "term", lock.Ticket())
			err := lead(ctx, lock.Ticket())
			if ctx.Err() != nil {
				return nil // Do reports a loss, and ctx an orderly end
			}
			return err
		})
}

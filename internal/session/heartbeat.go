package session

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/queue"
)

// crowd is the number of locks of one client from which on their first heartbeats are spread over
// half of the interval, as those of locks that share an item are: many may be granted at once.
const crowd = 100

// maxRenewals limits the heartbeats of one client that are under way at one time. If the table
// does not answer, those of ten thousand locks would otherwise need as many connections.
const maxRenewals = 1000

// keep starts the heartbeat.
func (s *Session) keep(ctx context.Context) {
	terms, mode := s.config.Terms, s.config.Mode
	first := terms.Interval
	if s.grant.Leave != nil {
		// A grant by name has the rest of a row's lease.
		first = min(terms.Interval, queue.AcceptAfter, s.grant.Lease.TTL/8, time.Until(s.grant.Deadline)/4)
	}
	sent, deadline := s.grant.Sent, s.grant.Deadline
	others := mode.Permits > 1 || mode.Shared || s.client.held() >= crowd
	if others && first == terms.Interval {
		first -= time.Duration(random.Float64(ctx) * float64(first/2))
	}
	renewals := heartbeat.NewRenewals(terms, s.config.Queue.Clock(), s.grant.Lease)
	s.mu.Lock() // the loss may be reported at once
	defer s.mu.Unlock()
	s.keeper = heartbeat.Start(ctx, sent, heartbeat.Config{
		TTL: terms.TTL, Interval: terms.Interval, Margin: terms.Margin, First: first,
		Warnings: s.warnings(), Endless: terms.FailClosed, Spread: heartbeat.Spread,
		Deadline: deadline,
		OnLoss:   s.lose,
	}, func(ctx context.Context) error { return s.renew(ctx, renewals) })
}

// renew is the lock's heartbeat: HEARTBEAT of the protocol, one request.
func (s *Session) renew(ctx context.Context, renewals *heartbeat.Renewals) error {
	renewing := s.client.renewing()
	select {
	case renewing <- struct{}{}:
		defer func() { <-renewing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	q, sent := s.config.Queue, time.Now()
	until := renewals.Next(sent)
	since := s.config.Terms.Since(q.Clock(), s.grant.Sent)
	w := of(s.life, func(h *queue.Hold) clause.Write { return h.Heartbeat(until, since) })
	rec, reply, err := serving.Send(ctx, q, w)
	do := s.step(queue.HoldEvent{
		Kind: queue.HoldBeaten, Reply: reply, Record: rec, Err: err,
		TooEarly: !s.config.Terms.OwnerEndsFirst(q.Clock(), until, sent, time.Now()),
	})
	if do.Accepted {
		s.grant.Leave()
	}
	switch do.Result {
	case queue.HoldMade:
		s.renewed()
		return nil
	case queue.HoldLost:
		return fmt.Errorf("%w: it is not in the serving record", heartbeat.ErrEvicted)
	}
	return do.Err
}

// renewed reports a renewal that was answered, before it moves the deadline.
func (s *Session) renewed() {
	if !s.config.Log.Observed() {
		return
	}
	s.mu.Lock()
	keeper := s.keeper // see keep
	me := s.hold.Entry()
	s.mu.Unlock()
	terms, e := s.config.Terms, event.Renewed{Origin: s.config.Log.Origin(s.grant.Ticket)}
	if !terms.FailClosed {
		e.Margin = time.Until(keeper.Deadline())
		if accepts := s.grant.Leave != nil && me.Lease.Beat <= 1; terms.Interval > 0 && !accepts {
			e.Lag = max(0, terms.TTL-terms.Margin-e.Margin-terms.Interval)
		}
	}
	notify.Send(s.config.Log, e)
}

// Remaining returns the time until the lease expires locally if no further renewal
// succeeds: zero once the session has ended, queue.Forever without a lease.
func (s *Session) Remaining() time.Duration {
	switch {
	case s.Err() != nil:
		return 0
	case s.config.Terms.FailClosed:
		return queue.Forever
	}
	return max(0, time.Until(s.keeper.Deadline()))
}

// Extend renews the lease now. Calls that wait at the same time share one request.
func (s *Session) Extend(ctx context.Context) error {
	if err := s.Err(); err != nil {
		return err
	}
	err := s.keeper.Extend(ctx)
	if err != nil {
		err = fmt.Errorf("queuelock: extend %s: %w", s.config.Name, err)
	}
	return cmp.Or(s.Err(), err)
}

// warnings returns the functions that the keeper calls when a margin is reached.
func (s *Session) warnings() []heartbeat.Warning {
	var all []heartbeat.Warning
	for i, margin := range s.config.Warnings {
		all = append(all, heartbeat.Warning{Margin: margin, Func: func() {
			s.client.Background(func() { s.warn(i) })
		}})
	}
	return all
}

// warn calls the caller's function for a margin, unless Release was called. Before delivery
// it waits, and calls the function if the margin is still reached then.
func (s *Session) warn(margin int) {
	select {
	case <-s.delivery.decided:
	default:
		<-s.delivery.decided
		if s.Err() == nil && s.Remaining() > s.config.Warnings[margin] {
			return
		}
	}
	s.mu.Lock()
	d := s.delivery
	s.mu.Unlock()
	if d.delivered && !d.returned {
		d.warn(margin)
	}
}

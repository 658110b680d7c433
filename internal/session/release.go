package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// Release releases the lock. It cancels the context of the session before it sends a request.
// It returns nil if this call or an earlier one released the lock, and the reason if the lock
// was lost; what is left of it is removed. It returns Client.Unknown's error if the record does
// not show which, and *UnreleasedError if a lock without a lease may still be in the table.
// After any other error Release may be called again. Transient failures are repeated until the
// lease ends, or for Client.Timeout after ctx.
func (s *Session) Release(ctx context.Context) error {
	ctx, cancel := retry.Outlive(ctx, s.client.Timeout)
	defer cancel()
	if err := s.releases.Lock(ctx); err != nil {
		return fmt.Errorf("queuelock: release %s: another Release is still under way: %w", s.config.Name, err)
	}
	defer s.releases.Unlock()
	_ = s.Err() // a lease that has run out is a loss, not a release
	return s.release(ctx, nil)
}

// release plays a call of Release. The turnstile is held.
func (s *Session) release(ctx context.Context, result *queue.Result) error {
	s.mu.Lock()
	s.delivery.decide(&s.delivery.returned)
	s.mu.Unlock()
	do := s.step(queue.HoldEvent{Kind: queue.HoldRelease, Result: result})
	s.keeper.Stop()
	if s.next.timer != nil {
		s.next.timer.Stop()
	}
	c := end{Session: s, policy: releasing.Within(0)}
	do = c.play(ctx, do)
	c.passOn(do)
	st := s.current()
	if st.Phase.Final() {
		return st.result()
	}
	s.leave()
	s.keepForClose()
	return s.unreleased(do, st)
}

// unreleased returns the error of a Release after which the lock may still be in the table.
func (s *Session) unreleased(do queue.HoldDo, st State) error {
	name, err, loss := s.config.Name, do.Err, error(nil)
	if st.Phase.Lost() {
		loss = st.Reason
	}
	outlasted := do.Result == queue.HoldOutlasted
	if outlasted {
		err = fmt.Errorf("queuelock: release %s: a transaction is still under way: %w", name, err)
	}
	switch {
	case s.config.Terms.FailClosed:
		return &UnreleasedError{Queue: s.config.Queue, Ticket: s.grant.Ticket, Err: err, Loss: loss}
	case outlasted && loss != nil:
		return errors.Join(loss, err)
	case outlasted:
		return err
	case do.Hidden != nil:
		return fmt.Errorf("queuelock: release %s: no lease ends it, call Release again: %w: %w", name, cmp.Or(loss, do.Hidden), err)
	}
	return fmt.Errorf("queuelock: release %s: its lease of %v ends it: %w", name, s.config.Terms.TTL, err)
}

// keepForClose lets the client's Close try again, until the lease has ended.
func (s *Session) keepForClose() {
	s.client.list(s) // a loss has taken it off the list
	if s.config.Terms.FailClosed || of(s.life, (*queue.Hold).Hidden) {
		return // nothing else ends it
	}
	time.AfterFunc(time.Until(s.keeper.Deadline())+s.config.Terms.Margin, func() {
		_ = s.releases.Lock(context.Background())
		defer s.releases.Unlock()
		if !of(s.life, (*queue.Hold).Hidden) {
			s.client.unlist(s.grant.ID)
		}
	})
}

// GiveBack releases a lock that its caller will not get. If the lease of a lock with a lock
// delay or an AtLeast has ended, that would keep the queue closed. So remove is called with the
// grant's id, to remove it before end, when other clients may. An error reports that the
// lock may still be in the table.
func (s *Session) GiveBack(ctx context.Context, remove func(ctx context.Context, id string, end time.Time) error) error {
	err, terms := s.Release(ctx), s.config.Terms
	st, stays := s.current(), max(terms.Delay, terms.AtLeast)
	switch {
	case stays == 0 && !st.Phase.Final():
		return err
	case stays == 0, err == nil, st.Loss != nil && st.Loss.Cause == heartbeat.Evicted:
		return nil
	}
	end := s.keeper.Deadline().Add(terms.Margin + stays)
	if err := remove(ctx, s.grant.ID, end); err != nil {
		return fmt.Errorf("queuelock: %s ticket %s was lost before it was returned, and may keep its queue closed for %v: %w", s.config.Name, s.grant.Ticket, stays, err)
	}
	return nil
}

const updateAndRelease = "update and release"

// UpdateAndRelease sends the caller's update of the item with the record, and the release,
// in one request. asks reports that the update has a condition. It returns the item as it is
// afterwards, without the lock's attributes. The session is held until the update is known to
// be made. Returns Client.Unknown's error if the update may have been made, or may yet be, and
// Client.Released also if an earlier call has released the lock. With any other error, such as
// *ConditionError, nothing was written.
func (s *Session) UpdateAndRelease(ctx context.Context, update expression.Expression, asks bool) (clause.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("queuelock: %s: %s: nothing was sent: %w", s.config.Name, updateAndRelease, err)
	}
	if err := s.releases.Lock(ctx); err != nil {
		return nil, fmt.Errorf("queuelock: %s: %s: another release is still under way: %w", s.config.Name, updateAndRelease, err)
	}
	defer s.releases.Unlock()
	if err := cmp.Or(s.Err(), context.Cause(s.client.Closed)); err != nil {
		return nil, err
	}
	held, cancel := s.Within(ctx)
	defer cancel()
	defer context.AfterFunc(s.client.Closed, cancel)()
	c := end{Session: s, users: &update, policy: table.Retryable.Within(0)}
	do := c.play(held, s.step(queue.HoldEvent{Kind: queue.HoldUpdate, Asks: asks}))
	item, err := s.config.Queue.Home.Strip(c.record.Item), do.Err
	switch do.Result {
	case queue.HoldMade:
		c.passOn(do)
		s.keeper.Stop()
		return item, nil
	case queue.HoldEarlier:
		return nil, s.client.Released
	case queue.HoldLost:
		return nil, s.current().Reason
	case queue.HoldDeclined:
		err = &ConditionError{Current: item}
		if !do.Open {
			return nil, err
		}
	case queue.HoldOverwritten: // or the item was deleted
		err = errOverwritten
	}
	if do.Open {
		return nil, s.unknown(err, ctx.Err(), s.Err())
	}
	return nil, s.failed(ctx, updateAndRelease, err)
}

package session

import (
	"cmp"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
)

const updateAndRelease = "update and release"

// UpdateAndRelease sends the caller's update of the item with the record, and the release,
// in one request. asks reports that the update has a condition. It returns the item as it is
// afterwards, without the lock's attributes. The session is held until the update is known to
// be made. Returns Client.Unknown's error if the update may have been made, or may yet be, and
// Client.Released also if an earlier call has released the lock. With any other error, such as
// *ConditionError, nothing was written.
func (s *Session) UpdateAndRelease(ctx context.Context, update expression.Expression, asks bool) (table.Item, error) {
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
	s.move(State{Phase: Updating})
	defer s.move(State{Phase: Held}) // if it is not over
	resume, err := s.settleTransactions(held)
	if resume == nil {
		return nil, s.updateFailed(ctx, false, err)
	}
	defer resume()
	c := s.newCall(updates)
	c.asks = asks
	c.send = func(ctx context.Context, form serving.Form, e serving.Ending) (serving.Record, error) {
		return serving.UpdateAndRelease(ctx, s.config.Queue, form, e, update)
	}
	v, rec, err := c.run(held, table.Retryable)
	if err != nil {
		return nil, s.updateFailed(ctx, c.open || c.unread, err)
	}
	return s.updated(ctx, c, v, rec)
}

// updated ends an UpdateAndRelease whose outcome is known.
func (s *Session) updated(ctx context.Context, c *call, v verdict, rec serving.Record) (table.Item, error) {
	q := s.config.Queue
	switch v {
	case released:
		s.move(s.released())
		s.passOn(c)
		s.keeper.Stop()
		return q.Home.Strip(rec.Item), nil
	case earlier:
		s.move(s.released())
		return nil, s.client.Released
	case declined:
		return nil, &ConditionError{Current: q.Home.Strip(rec.Item)}
	case doubtful:
		return nil, s.updateFailed(ctx, true, &ConditionError{Current: q.Home.Strip(rec.Item)})
	case evicted:
		return nil, s.evicted()
	}
	// The item was deleted, or the marks were replaced.
	_ = s.evicted()
	return nil, s.updateFailed(ctx, true, errOverwritten)
}

// updateFailed returns the error of an UpdateAndRelease that ends with err. open reports
// that a request may have been applied.
func (s *Session) updateFailed(ctx context.Context, open bool, err error) error {
	if open {
		return s.unknown(err, ctx.Err(), s.Err())
	}
	return s.failed(ctx, updateAndRelease, err)
}

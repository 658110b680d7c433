package session

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// A turn of a block has a session of its own. It takes over the lease, the heartbeats' ends and what the hold knows from the one
// before, whose Release gives it on in memory.

// began returns the hold of a session that begins.
func (s *life) began(g queue.Grant) *queue.Hold {
	if s.grant.Before != nil {
		return s.grant.Before.Hold
	}
	hold := queue.NewHold(g, s.grant.Record)
	if s.grant.Ticket != s.grant.First { // the callers before have left
		hold, _ = hold.Follow(s.grant.Ticket)
	}
	return hold
}

// start returns when the turn began, on the local clock.
func (s *life) start() time.Time {
	if s.grant.Before != nil {
		return s.grant.Held
	}
	return s.grant.Sent
}

// renewals returns the ends of the lease.
func (s *Session) renewals() *heartbeat.Renewals {
	if s.grant.Before == nil {
		s.grant.Renewals = heartbeat.NewRenewals(s.config.Terms, s.config.Queue.Clock(), s.grant.Lease)
	}
	return s.grant.Renewals
}

// choose chooses the caller of the next turn of the block.
func (s *life) choose() (turn ticket.Number) {
	if s.grant.Block != nil {
		turn = s.grant.Block.Choose()
	}
	return turn
}

// pass begins the turn of the caller that was chosen, after this one has ended.
func (s *Session) pass(turn ticket.Number) {
	next := *s.grant
	next.Ticket, next.Deadline, next.Handover = turn, s.keeper.Deadline(), 0
	before := &waiter.TurnBefore{Due: s.due(), Ended: time.Now()}
	s.mu.Lock()
	before.Hold, next.Stale = s.hold.Follow(turn)
	s.mu.Unlock()
	next.Before = before
	next.Block.Deliver(&next)
}

// due returns when the next heartbeat of the block is due, or was, if none was answered since.
func (s *life) due() time.Time {
	if before := s.grant.Before; before != nil && s.keeper.Deadline().Equal(s.grant.Deadline) {
		return before.Due
	}
	return s.keeper.Due()
}

// renewLate renews the lease of a block before a turn ends, if its heartbeat is later than what is left of the lease: the end of
// each turn gives up the one under way, and the turns may all be too short for one.
func (s *Session) renewLate(ctx context.Context) {
	if s.grant.Turns > 1 && time.Since(s.due()) > time.Until(s.keeper.Deadline()) {
		_ = s.keeper.Extend(ctx)
	}
}

// over ends the block with the lock, unless a later turn has it.
func (s *life) over(lost bool) {
	if s.grant.Block != nil && !of(s, (*queue.Hold).Followed) {
		s.grant.Block.Over(lost)
	}
}

// Handle returns the handle by which another process resumes the lock: that of no lock, if a later turn of the block has it.
func (s *Session) Handle() queue.Handle {
	h := s.grant.Handle()
	if !of(s.life, (*queue.Hold).Use) {
		h.ID = strings.Repeat("0", len(h.ID))
	}
	return h
}

// ErrAdvanced is why a turn of a block does not begin: the lock is lost.
var ErrAdvanced = errors.New("the lock is lost")

// Advance begins the turn of a grant after one that may have writes under way: they are refused from now on. After an error other
// than ErrAdvanced the lock is held, and that turn must not begin.
func (c *Client) Advance(ctx context.Context, q table.Queue, grant *waiter.Grant) error {
	ctx, cancel := context.WithDeadlineCause(ctx, grant.Deadline, ErrAdvanced)
	defer cancel()
	hold := grant.Before.Hold
	w := hold.Advance()
	answer := queue.HoldEvent{Kind: queue.HoldAdvanced}
	var failed error // the table did not answer
	policy := table.Retryable
	policy.OnRetry = func(err error) {
		if ctx.Err() == nil {
			failed = err
		}
	}
	_ = policy.Do(ctx, func(ctx context.Context) error {
		answer.Record, answer.Reply, answer.Err = serving.Send(ctx, q, w)
		return answer.Err
	})
	ended := ctx.Err()
	if errors.Is(context.Cause(ctx), ErrAdvanced) {
		ended = ErrAdvanced
	} else if ended != nil {
		ended = cmp.Or(failed, ended)
	}
	switch do := hold.Step(queue.HoldTimes{Local: time.Now()}, answer); do.Result {
	case queue.HoldMade:
		return nil
	case queue.HoldLost:
		return ErrAdvanced
	default:
		return cmp.Or(ended, do.Err)
	}
}

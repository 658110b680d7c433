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
	"github.com/queuelock/queuelock/internal/serving"
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
	if st := s.current(); st.Phase.Final() {
		s.keeper.Stop()
		return st.result()
	}
	_ = s.Err() // a lease that has run out is a loss, not a release
	s.mu.Lock()
	s.handover.decide(&s.handover.returned)
	s.mu.Unlock()
	s.move(State{Phase: Releasing, Reason: s.client.Released})
	s.keeper.Stop()
	end, err := s.giveBack(ctx)
	if err != nil {
		s.leave()
		s.keepForClose()
		return err
	}
	s.move(end)
	return s.current().result()
}

func (s *Session) released() State { return State{Phase: Released, Reason: s.client.Released} }

// keepForClose lets the client's Close try again, until the lease has ended.
func (s *Session) keepForClose() {
	s.client.list(s) // a loss has taken it off the list
	if s.config.Terms.FailClosed || s.unreadable != nil {
		return // nothing else ends it
	}
	time.AfterFunc(time.Until(s.keeper.Deadline())+s.config.Terms.Margin, func() {
		_ = s.releases.Lock(context.Background())
		defer s.releases.Unlock()
		if s.unreadable == nil {
			s.client.unlist(s)
		}
	})
}

// giveBack removes the lock from the record and returns the final state. An error reports
// that the lock may still be in the table.
func (s *Session) giveBack(ctx context.Context) (State, error) {
	resume, err := s.settleTransactions(ctx, unsettled)
	if resume == nil {
		return State{}, s.outlasted(err)
	}
	defer resume()
	switch st := s.current(); {
	case st.Phase == Released: // a transaction has shown it
		return st, nil
	case st.Phase.Lost() && s.keepsClosed():
		st.Phase = Cleared
		return s.leaveClosed(ctx, st)
	case st.Phase.Lost():
		// No waiter should wait for its lease. An eviction refuses the call.
		v, rec, err := s.newCall(clears).attempt(ctx)
		st.Phase = Cleared
		if h, _ := rec.Mine(s.grant.ID); v == orphaned && h.Unreadable() || s.unseen(st, err) {
			ctx, cancel := context.WithTimeout(ctx, s.client.Timeout)
			defer cancel()
			return s.clear(ctx, st, st.Reason)
		}
		return s.cleared(ctx, st, v, err)
	case s.keepsClosed() && !s.wasDelivered():
		// A Resume gave up. Requests of the earlier holder may be under way.
		return s.released(), nil
	case s.config.Terms.FailClosed:
		return s.handBack(ctx)
	}
	deadline := s.keeper.Deadline()
	ended := !time.Now().Before(deadline)
	if ended { // an earlier Release failed
		deadline = time.Now().Add(s.client.Timeout)
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if ended && s.keepsClosed() {
		return s.delayed(ctx)
	}
	return s.handBack(ctx)
}

// outlasted returns the error of a Release whose context ended, with err, before a transaction
// of the lock did. The entry of a lost lock may still be in the record.
func (s *Session) outlasted(err error) error {
	err = fmt.Errorf("queuelock: release %s: a transaction is still under way: %w", s.config.Name, err)
	if s.config.Terms.FailClosed {
		return s.unreleased(err)
	}
	if st := s.current(); st.Phase.Lost() {
		return errors.Join(st.Reason, err)
	}
	return err
}

// unreleased returns the error of a lock without a lease that may still be in the table.
func (s *Session) unreleased(err error) error {
	e := &UnreleasedError{Queue: s.config.Queue, Ticket: s.grant.Ticket, Err: err}
	if st := s.current(); st.Phase.Lost() {
		e.Loss = st.Reason
	}
	return e
}

// keepsClosed reports whether the entry must stay after a loss, for its lock delay. A lock
// that was never delivered has no request under way, unless it was resumed.
func (s *Session) keepsClosed() bool {
	return s.config.Terms.Delay > 0 && (s.grant.Resumed || s.wasDelivered())
}

// leaveClosed ends a lost lock with a lock delay, which counts from the end of the lease: the entry keeps the queue
// closed. If it cannot be read, it is removed after the delay.
func (s *Session) leaveClosed(ctx context.Context, end State) (State, error) {
	rec, err := serving.Get(ctx, s.config.Queue)
	if h, _ := rec.Mine(s.grant.ID); !h.Unreadable() && !s.unseen(end, err) {
		return end, nil
	}
	terms := s.config.Terms
	if delay := time.Until(s.keeper.Deadline().Add(terms.Margin + terms.Delay)); delay > 0 && !retry.Sleep(ctx, delay) {
		return s.uncleared(end.Reason, ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, s.client.Timeout)
	defer cancel()
	return s.clear(ctx, end, end.Reason)
}

// unseen reports whether a request that failed with err has not shown an entry which could not be read before.
func (s *Session) unseen(st State, err error) bool {
	_, before := errors.AsType[*clause.MalformedError](st.Reason)
	_, record := errors.AsType[*clause.MalformedError](err)
	return err != nil && !record && (before || s.unreadable != nil)
}

// delayed ends a lock with a lock delay whose lease ended before a release was answered. Its entry keeps the queue
// closed if it is still there. If it cannot be read, it is removed: the caller has released the lock in time.
func (s *Session) delayed(ctx context.Context) (State, error) {
	rec, err := serving.Get(ctx, s.config.Queue)
	h, _ := rec.Mine(s.grant.ID)
	loss := &heartbeat.LossError{Cause: heartbeat.Unreachable, Err: h.Problem}
	switch {
	case err == nil && s.outcome(rec).Released():
		return s.released(), nil
	case h.Unreadable():
		return s.clear(ctx, s.lost(Cleared, loss), h.Problem)
	case s.unreadable != nil && err != nil:
		return s.uncleared(s.unreadable, err)
	}
	terms := s.config.Terms
	loss.Err = fmt.Errorf("its lease of %v ended before a release got through; others may have to wait for its lock delay of %v", terms.TTL, terms.Delay)
	return s.lost(Cleared, loss), nil
}

// releasing is the policy of a request that ends the lock. It waits for new credentials, too.
var releasing = retry.Policy{Retryable: func(err error) bool { return table.Retryable.Retryable(err) || table.Renewable(err) }}

// handBack sends RELEASE until it is answered, or ctx ends.
func (s *Session) handBack(ctx context.Context) (State, error) {
	c := s.newCall(releases)
	v, rec, err := c.run(ctx, releasing)
	_, malformed := errors.AsType[*clause.MalformedError](err)
	_, there := rec.Mine(s.grant.ID)
	switch {
	case malformed && there:
		return s.clear(ctx, s.lost(Cleared, &heartbeat.LossError{Cause: heartbeat.Unreachable, Err: err}), err)
	case err != nil && s.config.Terms.FailClosed:
		return State{}, s.unreleased(err)
	case err != nil:
		return State{}, fmt.Errorf("queuelock: release %s: its lease of %v ends it: %w", s.config.Name, s.config.Terms.TTL, err)
	case v == released:
		s.passOn(c)
		return s.released(), nil
	case v == unknown:
		return State{Phase: Unknown, Reason: s.client.Released, unknown: s.unknown(errOverwritten, nil, nil)}, nil
	}
	return s.cleared(ctx, s.lost(Cleared, &heartbeat.LossError{Cause: heartbeat.Evicted}), v, nil)
}

// cleared returns the end of a lost lock whose release was answered with v or failed with
// err. It removes an entry that a late TAKE has put into the record after the lock had left.
func (s *Session) cleared(ctx context.Context, end State, v verdict, err error) (State, error) {
	switch v {
	case released:
		s.client.Local.Wake(s.config.Queue, true)
	case orphaned:
		err = s.remove(ctx, retry.Policy{})
	}
	if err != nil && s.config.Terms.FailClosed && !errors.Is(err, serving.ErrRefused) {
		return State{}, s.unreleased(err)
	}
	return end, nil
}

// clear removes an entry that cannot be read, and returns end. No other client removes it, and no lease ends it: the lock
// has not ended until the removal is answered. why is the reason of the end, for the error.
func (s *Session) clear(ctx context.Context, end State, why error) (State, error) {
	if err := s.remove(ctx, releasing); err != nil && !errors.Is(err, serving.ErrRefused) {
		return s.uncleared(why, err)
	}
	return end, nil
}

// uncleared returns the error of a Release that has not removed an entry that cannot be read. Close tries again.
func (s *Session) uncleared(why, err error) (State, error) {
	s.unreadable = why
	if s.config.Terms.FailClosed {
		return State{}, s.unreleased(err)
	}
	return State{}, fmt.Errorf("queuelock: release %s: no lease ends it, call Release again: %w: %w", s.config.Name, why, err)
}

// remove removes the entry, and wakes the waiters of the client if that has left no holder.
func (s *Session) remove(ctx context.Context, p retry.Policy) error {
	rec, err := retry.Answer(ctx, p, func(ctx context.Context) (queue.Record, error) {
		return serving.Remove(ctx, s.config.Queue, s.grant.ID)
	})
	if err == nil || errors.Is(err, serving.ErrRefused) && len(rec.Holders) == 0 { // perhaps by a copy of itself
		s.client.Local.Wake(s.config.Queue, true)
	}
	return err
}

// passOn wakes the waiters of this process after a release, and puts an idle queue
// back on the path where the next Acquire is one request.
func (s *Session) passOn(c *call) {
	switch {
	case c.form == queue.FormPass && c.named:
		s.client.Local.Named(s.config.Queue, c.ending.Next.Ticket)
		return
	case c.form == queue.FormPass:
		s.client.Local.Passed(s.config.Queue)
		return
	}
	s.client.Local.Wake(s.config.Queue, !c.hinted && c.form != queue.FormFast && !c.idle)
	if c.idle {
		s.client.Background(func() { s.client.Reset(context.WithoutCancel(s.ctx), s.config.Queue, s.grant.Ticket) })
	}
}

// GiveBack releases a lock that its caller will not get. If the lease of a lock with a lock
// delay has ended, the delay would keep the queue closed. So remove is called with the
// grant's id, to remove it before end, when other clients may. An error reports that the
// lock may still be in the table.
func (s *Session) GiveBack(ctx context.Context, remove func(ctx context.Context, id string, end time.Time) error) error {
	err, terms := s.Release(ctx), s.config.Terms
	st := s.current()
	switch {
	case terms.Delay == 0 && !st.Phase.Final():
		return err
	case terms.Delay == 0, err == nil, st.Loss != nil && st.Loss.Cause == heartbeat.Evicted:
		return nil
	}
	end := s.keeper.Deadline().Add(terms.Margin + terms.Delay)
	if err := remove(ctx, s.grant.ID, end); err != nil {
		return fmt.Errorf("queuelock: %s ticket %s was lost before it was returned, and may keep its queue closed for its lock delay of %v: %w", s.config.Name, s.grant.Ticket, terms.Delay, err)
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
	s.move(State{Phase: Updating})
	defer s.move(State{Phase: Held}) // if it is not over
	resume, err := s.settleTransactions(held, unsettled)
	if resume == nil {
		return nil, s.updateFailed(ctx, false, err)
	}
	defer resume()
	c := s.newCall(updates)
	c.asks = asks
	c.send = func(ctx context.Context, form queue.Form, e queue.Ending) (queue.Record, error) {
		return serving.UpdateAndRelease(ctx, s.config.Queue, form, e, update)
	}
	v, rec, err := c.run(held, table.Retryable)
	if err != nil {
		return nil, s.updateFailed(ctx, c.open, err)
	}
	return s.updated(ctx, c, v, rec)
}

// updated ends an UpdateAndRelease whose outcome is known.
func (s *Session) updated(ctx context.Context, c *call, v verdict, rec queue.Record) (clause.Item, error) {
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

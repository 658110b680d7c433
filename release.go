package queuelock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/grace"
	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Release releases the lock and lets the next waiter in. The lock's context is
// cancelled before anything is sent.
//
// It returns nil if this call or an earlier one released the lock, which was
// held until then. The table says so: each release leaves a mark. Returns
//
//   - an error that matches ErrLost if the lock was lost before. Its entry is
//     removed if it is still there, so that no waiter waits for the lease.
//   - *UnknownOutcomeError if the lock has left the table, and later turns have
//     replaced the mark that would say whether it was released or evicted.
//   - any other error if the table did not answer. The lock may still be in the
//     table, and its lease will end it. Release may be called again.
//
// Transient failures, and credentials that have expired, are retried until the
// lease ends, or for Config.RequestTimeout after ctx has: a deferred Release
// works although ctx has ended. See FailClosed for a lock without a lease.
//
// One request. Two if others have queued unnoticed; after a wait in the queue one
// more in the background if it is empty.
func (l *Lock) Release(ctx context.Context) error {
	ctx, cancel := grace.Context(ctx, l.client.cfg.RequestTimeout)
	defer cancel()
	select {
	case l.gate <- struct{}{}:
		defer func() { <-l.gate }()
	case <-ctx.Done():
		return fmt.Errorf("queuelock: release %s: another Release is still under way: %w", l.key, ctx.Err())
	}
	if l.settled {
		return l.result
	}
	_ = l.Err() // a lease that has run out is a loss, not a release
	l.finish(ErrReleased)
	l.keeper.Stop()

	err := l.giveBack(ctx)
	if !unreleased(err) {
		l.settled, l.result = true, err
		l.client.forget(l)
	} else if l.terms.FailClosed {
		return err // Close tries it again: nothing else ends it
	} else if left := time.Until(l.keeper.Deadline()) + l.terms.Margin; left > 0 {
		// Close need not try it again once the lease has ended it.
		time.AfterFunc(left, func() { l.client.forget(l) })
	} else {
		l.client.forget(l)
	}
	return err
}

// unreleased reports whether the error of a Release says that the lock may still
// be in the table.
func unreleased(err error) bool {
	if _, stands := errors.AsType[*UnreleasedError](err); stands {
		return true
	}
	_, unknown := errors.AsType[*UnknownOutcomeError](err)
	return err != nil && !unknown && !errors.Is(err, ErrLost)
}

// giveBack takes the lock out of the record.
func (l *Lock) giveBack(ctx context.Context) error {
	l.mu.Lock()
	end, parting := l.end, l.parting
	l.mu.Unlock()
	lost := errors.Is(end, ErrLost)
	if parting != partingMade {
		resume, err := l.settleWrites(ctx)
		if resume == nil {
			return fmt.Errorf("queuelock: release %s: a transaction is still under way: %w", l.key, err)
		}
		defer resume()
	}
	switch {
	case parting == partingMade:
		return nil // by an UpdateAndRelease that had no answer
	case lost && l.keepsClosed():
		// A lock delay counts from the end of the lease, and the entry is what
		// keeps the queue closed.
		return end
	case lost:
		return l.clear(ctx, end)
	case l.keepsClosed() && !l.wasGiven():
		// A Resume gave up. Requests of the earlier holder may be under way.
		return nil
	case l.terms.FailClosed:
		err := l.handBack(ctx)
		if unreleased(err) {
			return &UnreleasedError{Key: l.key, Ticket: l.ticket, Err: err}
		}
		return err
	}
	deadline := l.keeper.Deadline()
	if time.Now().Before(deadline) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	} else {
		// An earlier Release failed, and the lease is over.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.client.cfg.RequestTimeout)
		defer cancel()
		if l.keepsClosed() {
			return l.delayed(ctx)
		}
	}
	err := l.handBack(ctx)
	if unreleased(err) {
		return fmt.Errorf("queuelock: release %s: its lease of %v ends it: %w", l.key, l.terms.TTL, err)
	}
	return err
}

// settleWrites waits for a transaction of the lock that is under way, and settles
// one that had no answer: a later holder would not see what it has yet to make
// visible. Where it cannot be settled, it is an error, and the mark of a release
// says so. No transaction begins until resume is called, which is nil if one
// outlasted ctx.
func (l *Lock) settleWrites(ctx context.Context) (resume func(), err error) {
	select {
	case l.writes <- struct{}{}: // also if ctx has ended: a heartbeat may have outlasted it
	default:
		select {
		case l.writes <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	return func() { <-l.writes }, l.settle(ctx)
}

// clear removes what is left of a lost lock, so that no waiter waits for its
// lease, and returns end. It is refused if the lock was evicted; if it fails, the
// lease ends the lock, unless it has none.
func (l *Lock) clear(ctx context.Context, end error) error {
	ending, _ := l.ending()
	rec, err := serving.HandOff(ctx, l.queue, ending)
	if errors.Is(err, serving.ErrRefused) && l.lateCopy(ctx, rec, &ending) {
		rec, err = serving.HandOff(ctx, l.queue, ending)
	}
	if _, orphaned := rec.Mine(l.id); errors.Is(err, serving.ErrRefused) && orphaned {
		// A request for a ticket that was applied twice has put the id there again.
		_, _, err = serving.Remove(ctx, l.queue, l.id)
	}
	switch {
	case err == nil:
		l.client.lines.Wake(l.queue)
	case l.terms.FailClosed && !errors.Is(err, serving.ErrRefused):
		return errors.Join(end, &UnreleasedError{Key: l.key, Ticket: l.ticket, Err: err})
	}
	return end
}

// handBack sends RELEASE until it is answered, for as long as ctx lives. What a
// refusal means, the record says.
func (l *Lock) handBack(ctx context.Context) error {
	ending, seen := l.ending()
	// A lock that came by the queue expects others behind it: the fast form would
	// be refused more often than not, and the lock idle for a round trip. If it
	// was the last, RESET mends that afterwards.
	idle := !l.claimed && len(seen.Holders) == 1 && seen.Quiet(l.ticket)
	for retries := retry.For(0); ; {
		rec, quiet, err := serving.Release(ctx, l.queue, ending, idle, table.Once())
		if err == nil && quiet {
			l.client.background.Run(l.quieten)
		}
		if errors.Is(err, serving.ErrRefused) {
			if l.lateCopy(ctx, rec, &ending) {
				continue
			}
			err = l.refused(ctx, rec, ending)
		}
		if err == nil {
			l.client.lines.Wake(l.queue)
		}
		if _, answered := errors.AsType[*table.Error](err); !answered {
			return err
		}
		if !table.Transient(err) && !table.Renewable(err) || !retries.Pause(ctx) {
			return err
		}
	}
}

// ending is the next release call of the lock, and the record as it was last seen.
// The gate of writes is held.
func (l *Lock) ending() (serving.Ending, serving.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.releases++
	e := serving.Ending{ID: l.id, Ticket: l.ticket, Call: l.releases, Turn: l.seen.Turn.Add(time.Since(l.since))}
	if l.denied != nil {
		e.Unmade = l.made
	}
	switch {
	case l.unsettled != nil:
		e.Open = l.tableTime(time.Now())
	case l.recent(l.marks.Released.Open):
		e.Open = l.marks.Released.Open // the next holder may be granted a moment later
	}
	return e, l.seen
}

// tableTime is a local instant on DynamoDB's clock, or on the host's if that is
// not known.
func (l *Lock) tableTime(local time.Time) time.Time {
	if t := lease.Middle(l.queue.Clock(), local); !t.IsZero() {
		return t
	}
	return local
}

// outcome is what a record says of the lock and its release call.
func (l *Lock) outcome(rec serving.Record, call int64) serving.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	return rec.Outcome(l.id, l.ticket, call, l.seen.Marks)
}

// refused is what a record that refused a release means: nil if the lock was
// released.
func (l *Lock) refused(ctx context.Context, rec serving.Record, ending serving.Ending) error {
	outcome := l.outcome(rec, ending.Call)
	lost := &LostError{Key: l.key, Ticket: l.ticket, Cause: Evicted}
	switch outcome {
	case serving.OutcomeReleased, serving.OutcomeReleasedEarlier, serving.OutcomeReleasedSome:
		return nil
	case serving.OutcomeGone, serving.OutcomeUnknown:
		if l.queue.Home != nil && len(rec.Item) == 0 {
			return nil // the holder may delete its item, and the lock with it
		}
		return &UnknownOutcomeError{Key: l.key, Err: errOverwritten}
	}
	if _, orphaned := rec.Mine(l.id); orphaned {
		return l.clear(ctx, lost)
	}
	return lost
}

// errOverwritten says that the marks on a record prove nothing about a lock.
var errOverwritten = errors.New("the lock is not in its record, and the mark that says how it ended was replaced, or is gone with the record")

// quieten puts the queue back on the path where the next Acquire is one
// request: QUIET of the protocol. Nothing depends on it.
func (l *Lock) quieten() { l.client.quieten(context.WithoutCancel(l.ctx), l.queue, l.ticket) }

// quieten is quieten of a lock that was granted with that ticket.
func (c *Client) quieten(ctx context.Context, q table.Queue, granted ticket.Number) {
	if _, err := serving.Quieten(ctx, q, granted); err != nil && !errors.Is(err, serving.ErrRefused) {
		c.cfg.Logger.Debug("queuelock: an idle queue was not put back on the short path", "queue", q.String(), "error", err)
	}
}

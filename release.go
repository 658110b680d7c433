package queuelock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/linger"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/serving"
	"github.com/queuelock/queuelock/ticket"
)

// Release ends the turn and gives way to the next in line. Its context is
// cancelled before anything is sent.
//
// nil says that the lock was released, by this call or an earlier one, and that
// it was held until then. ErrLost says that it had been lost before; its entry is
// then removed if it is still there, so that nobody need wait for its lease to
// end. Release finds out a loss that was not known yet, too: an operator took the
// lock away, or another process resumed it. Only if an attempt at the release had
// no answer, and the next finds the lock gone, it is nil, though an operator who
// came in between would look the same. It is nil, too, if the item of an ItemLock
// was deleted, as its holder may. Any other error is the
// table's: the lock may still be in the table, its lease will end it, and
// Release may be called again. Transient failures are retried until the lease
// ends, or for Config.RequestTimeout after ctx has: a deferred Release, whose
// ctx has often ended already, still does its work. For a lock that fails
// closed, see FailClosed.
//
// One request. Two if somebody has queued unnoticed since; and after a wait in
// the queue one more in the background, if nobody is left in it.
func (l *Lock) Release(ctx context.Context) error {
	ctx, cancel := linger.Context(ctx, l.client.cfg.RequestTimeout)
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
	_, stands := errors.AsType[*UnreleasedError](err)
	return stands || err != nil && !errors.Is(err, ErrLost)
}

// giveBack takes the lock out of the record.
func (l *Lock) giveBack(ctx context.Context) error {
	if l.terms.FailClosed {
		return l.giveBackUnleased(ctx)
	}
	l.mu.Lock()
	seen, end, parting := l.seen, l.end, l.parting
	l.mu.Unlock()
	if parting == partingMade {
		return nil // by a ReleaseWith that was not answered
	}
	if l.keepsClosed() && !l.wasGiven() && end == ErrReleased {
		// A Resume gave up. Of those who held the lock before, requests may be on
		// their way; its release is for whoever has done its work.
		return nil
	}
	if !time.Now().Before(l.keeper.Deadline()) && !errors.Is(end, ErrLost) {
		// An earlier Release failed, and the lease is over. What is left of it
		// may still stand in somebody's way.
		if l.keepsClosed() {
			return l.delayed()
		}
		_, _, err := serving.Remove(ctx, l.queue, l.id)
		switch {
		case errors.Is(err, serving.ErrRefused):
			return &LostError{Key: l.key, Ticket: l.ticket, Cause: Evicted}
		case err != nil:
			return fmt.Errorf("queuelock: release %s: its lease of %v has ended it: %w", l.key, l.terms.TTL, err)
		}
		l.client.lines.Wake(l.queue)
		return nil
	}
	if errors.Is(end, ErrLost) {
		// Nobody need wait for what is left of the lease. Refused if it was
		// evicted; if it fails, the lease ends it. A lock delay counts from the
		// end of the lease, and what keeps the queue closed is the entry.
		if l.keepsClosed() {
			return end
		}
		if _, _, err := serving.Remove(ctx, l.queue, l.id); err == nil {
			l.client.lines.Wake(l.queue)
		}
		return end
	}
	ctx, cancel := context.WithDeadline(ctx, l.keeper.Deadline())
	defer cancel()
	err := l.handBack(ctx, seen, parting)
	if err != nil && !errors.Is(err, ErrLost) {
		return fmt.Errorf("queuelock: release %s: its lease of %v will end it: %w", l.key, l.terms.TTL, err)
	}
	return err
}

// handBack sends RELEASE until it is answered, for as long as ctx lives. The SDK
// client must not try again by itself, unseen: a refusal says that the lock was
// taken away, unless an attempt of its own was made and not answered.
func (l *Lock) handBack(ctx context.Context, seen serving.Record, parting partingState) error {
	l.unsure = l.unsure || parting == partingUnknown
	turn := seen.Turn.Add(time.Since(l.since))
	// One that came by the queue expects others behind it: the fast form would
	// be refused more often than not, and the lock idle for a round trip. If
	// nobody was there, QUIET mends that afterwards.
	idle := !l.claimed && len(seen.Holders) == 1 && seen.Quiet(l.ticket)
	for retries := retry.For(0); ; {
		rec, quiet, err := serving.Release(ctx, l.queue, l.id, l.ticket, turn, idle, table.Once())
		switch {
		case err == nil, errors.Is(err, serving.ErrRefused) && l.releasedBefore(rec):
			l.client.lines.Wake(l.queue)
			if quiet {
				l.client.background.run(l.quieten)
			}
			return nil
		case errors.Is(err, serving.ErrRefused):
			return &LostError{Key: l.key, Ticket: l.ticket, Cause: Evicted}
		}
		l.unsure = l.unsure || table.Applied(err, true)
		if !table.Transient(err) || !retries.Pause(ctx) {
			return err
		}
	}
}

// releasedBefore reports whether a record that has refused a release, since the
// lock is not in it, says that the lock was released: an attempt had no answer,
// and nothing shows that somebody else has taken the lock away. (An operator who
// has, at that time, is not told from it.) With an item of the caller's own that
// is gone altogether, its lock is: whoever has it may delete it.
func (l *Lock) releasedBefore(rec serving.Record) bool {
	if !l.terms.FailClosed && !time.Now().Before(l.keeper.Deadline()) {
		return false // anybody may have evicted it
	}
	deleted := l.queue.Home != nil && len(rec.Item) == 0
	return deleted || l.unsure && !l.byOthers(rec)
}

// quieten puts the queue back on the path where the next Acquire is one
// request: QUIET of the protocol. Nothing depends on it.
func (l *Lock) quieten() { l.client.quieten(context.WithoutCancel(l.ctx), l.queue, l.ticket) }

// quieten is quieten of a lock that was granted with that ticket.
func (c *Client) quieten(ctx context.Context, q table.Queue, granted ticket.Number) {
	if _, err := serving.Quieten(ctx, q, granted); err != nil && !errors.Is(err, serving.ErrRefused) {
		c.cfg.Logger.Debug("queuelock: an idle queue was not put back on the short path", "queue", q.String(), "error", err)
	}
}

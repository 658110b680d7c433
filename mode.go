package queuelock

import (
	"context"
	"errors"
	"fmt"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
)

// Shared reports whether the lock is held together with others, by the option
// Shared or since Downgrade.
func (l *Lock) Shared() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shared
}

// isAlone reports whether nobody else can hold.
func (l *Lock) isAlone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.alone
}

// Downgrade makes an exclusive lock a shared one, with nobody in between: what
// was written under it can be read on, together with others. Readers that wait
// are admitted from then on, up to the next writer in the queue. The ticket
// stays the same. A write with a Condition or a Transact of before, that is still
// on its way, is refused once one has joined.
//
// nil says that it is shared, by this call or an earlier one. An error that
// matches ErrLost says that the lock was lost, and ErrReleased that it was
// released. A semaphore's permit cannot be downgraded, nor can an item's lock: an
// error, and nothing is sent. Any other error is the table's, or that of ctx: the lock is held, and may be shared
// already, or may yet become so. Calling again is safe.
//
// One request; none if it is known to be shared. Conflicts with transactions,
// throttles and lost answers are retried until ctx or the lock ends.
func (l *Lock) Downgrade(ctx context.Context) error {
	if l.mode.Permits > 0 {
		return fmt.Errorf("queuelock: downgrade %s: it is a semaphore's permit, which has no writers", l.key)
	}
	if l.queue.Home != nil {
		return fmt.Errorf("queuelock: downgrade %s: the lock of an item is not shared", l.key)
	}
	if err := l.Err(); err != nil {
		return err
	}
	if l.Shared() {
		return nil
	}
	held, cancel := l.within(ctx)
	defer cancel()
	// Others may join, who must see what was written under the exclusive lock.
	resume, err := l.settleWrites(held)
	if resume != nil {
		defer resume()
	}
	if err != nil {
		return fmt.Errorf("queuelock: %s: downgrade: %w", l.key, errors.Join(err, ctx.Err(), l.Err()))
	}
	l.mu.Lock()
	l.alone = false
	l.mu.Unlock()
	for retries := retry.For(0); ; {
		rec, err := serving.Downgrade(held, l.queue, l.id, l.ticket)
		switch {
		case err == nil:
			l.saw(rec)
			l.client.lines.Wake(l.queue)
			return nil
		case errors.Is(err, serving.ErrRefused):
			return l.fenced(rec)
		case !table.Transient(err) || !retries.Pause(held):
			return fmt.Errorf("queuelock: %s: downgrade: %w", l.key, errors.Join(err, ctx.Err(), l.Err()))
		}
	}
}

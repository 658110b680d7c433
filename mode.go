package queuelock

import (
	"context"
	"fmt"
)

// Shared reports whether the lock is held together with others, by the option
// Shared or since Downgrade.
func (l *Lock) Shared() bool { return l.session.Shared() }

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
	if l.session.Mode().Permits > 0 {
		return fmt.Errorf("queuelock: downgrade %s: it is a semaphore's permit, which has no writers", l.key)
	}
	if l.session.Queue().Home != nil {
		return fmt.Errorf("queuelock: downgrade %s: the lock of an item is not shared", l.key)
	}
	return l.session.Downgrade(ctx)
}

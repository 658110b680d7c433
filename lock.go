package queuelock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/session"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/ticket"
)

// Lock is an acquired lock. It is held until it is released or lost. Its methods are safe for
// concurrent use.
type Lock struct {
	session *session.Session
	maxData int // of SetData
}

// hold makes the session of a grant and starts its heartbeat.
func (c *Client) hold(ctx context.Context, cfg settings, q table.Queue, grant waiter.Grant) *session.Session {
	var margins []time.Duration
	for _, w := range cfg.warnings {
		margins = append(margins, w.margin)
	}
	terms := session.Config{Name: keyOf(q), Queue: q, Terms: cfg.holderTerms(), Mode: cfg.mode, Warnings: margins}
	return c.sessions.Hold(ctx, terms, grant)
}

// deliver makes the Lock of a session that is returned to the caller.
func (c *Client) deliver(s *session.Session, cfg settings) *Lock {
	l := &Lock{session: s, maxData: cfg.maxData()}
	s.Deliver(func(margin int) { cfg.warnings[margin].call(l) })
	return l
}

// String prints the lock for people: "order-7" (lock) ticket 12.
func (l *Lock) String() string { return fmt.Sprintf("%s ticket %s", l.Key(), l.Ticket()) }

// Key returns what is locked.
func (l *Lock) Key() Key { return keyOf(l.session.Queue()) }

// Ticket returns the lock's number in its queue, which is its fencing token: it is greater than
// those of all earlier holders. It stays after the lock has ended.
func (l *Lock) Ticket() ticket.Number { return l.session.Ticket() }

// Context returns a context with the values of the one given to Acquire, but not its end. It is
// cancelled when the lock is lost or released, with the cause ErrLost or ErrReleased. Its Err
// reads the clock, so a process that was paused past its lease learns of the loss at once.
func (l *Lock) Context() context.Context { return l.session.Context() }

// Done returns a channel that is closed when the lock is lost or released.
func (l *Lock) Done() <-chan struct{} { return l.session.Done() }

// Err returns nil while the lock is held, a *LostError after it was lost, and ErrReleased after it
// was released. It agrees with Release. It reads the clock and makes no request.
func (l *Lock) Err() error { return l.session.Err() }

// Release releases the lock and lets the next waiter in. The lock's context is cancelled before
// anything is sent. Release retries until the lease ends, or for Config.RequestTimeout after ctx
// has, so a deferred Release works. Call it after a loss too: it removes what is left, so that
// other clients need not wait. Returns nil if this or an earlier call released the lock, and
//
//   - an error that matches ErrLost if the lock was lost before.
//   - *UnknownOutcomeError if the table no longer shows whether the lock was released.
//   - *UnreleasedError if a lock that fails closed may still be in the table.
//   - any other error if the table did not answer. The lease ends what may be left.
func (l *Lock) Release(ctx context.Context) error { return publicError(l.session.Release(ctx)) }

// ReleaseWith makes the writes, all or none, only if the lock is still held, and then releases it.
// Items are as for Transact. The next holder sees them. Returns
//
//   - *ReleaseError if the writes were made and the release failed.
//   - any other error as Transact. The lock is then held, unless the error says otherwise.
func (l *Lock) ReleaseWith(ctx context.Context, items ...types.TransactWriteItem) error {
	if err := validItems("ReleaseWith", len(items), maxTransactItems); err != nil {
		return err
	}
	err := l.session.ReleaseWith(ctx, items...)
	if e, ok := err.(*session.ReleaseError); ok {
		return &ReleaseError{Key: l.Key(), Err: publicError(e.Err)}
	}
	return publicError(err)
}

// Remaining returns the time until the lease expires locally if no further renewal succeeds: with
// defaults from 57.94 s down to about 28 s. It is zero once the lock has ended, and the longest
// Duration for a lock that fails closed. It reads the clock and makes no request. A process may be
// paused after the call: use it to decide whether to begin work, not to guard a write.
func (l *Lock) Remaining() time.Duration { return l.session.Remaining() }

// Extend renews the lease now by one request, sent after the call. Concurrent calls share one. The
// next heartbeat counts from it. Of a lock that fails closed it checks that it is held. Returns
//
//   - an error that matches ErrLost or ErrReleased if the lock has ended.
//   - any other error if the renewal failed. The lock is held as before, unless an
//     UpdateAndRelease has released it and its answer is still on the way.
func (l *Lock) Extend(ctx context.Context) error { return l.session.Extend(ctx) }

// Shared reports whether the lock is held together with others, by the option Shared or after
// Downgrade.
func (l *Lock) Shared() bool { return l.session.Shared() }

// Downgrade makes an exclusive lock a shared one, with no other writer in between. It admits the
// readers that wait, up to the next writer. The ticket stays the same. A protected write that is
// still on its way is refused once a reader has joined.
//
// Returns an error at once for a permit or an item's lock. After any error but ErrLost and
// ErrReleased the lock is held and may be shared.
func (l *Lock) Downgrade(ctx context.Context) error {
	switch {
	case l.session.Mode().Permits > 0:
		return fmt.Errorf("queuelock: downgrade %s: it is a semaphore's permit, which has no writers", l.Key())
	case l.session.Queue().Home != nil:
		return fmt.Errorf("queuelock: downgrade %s: the lock of an item is not shared", l.Key())
	}
	return l.session.Downgrade(ctx)
}

// SetData replaces the lock's data while the lock is held; nil removes it. The limits are those of
// WithData. It does not renew the lease. Calls take effect in the order in which they began. After
// any error but ErrLost and ErrReleased the data may have been written.
func (l *Lock) SetData(ctx context.Context, data []byte) error {
	most := l.maxData
	if l.Shared() {
		most = min(most, serving.MaxSharedData) // also since Downgrade
	}
	if err := validData("SetData", data, most); err != nil {
		return fmt.Errorf("queuelock: %w", err)
	}
	return l.session.SetData(ctx, data)
}

// publicError makes the public error of an error of a session.
func publicError(err error) error {
	e, unreleased := err.(*session.UnreleasedError)
	if !unreleased {
		return err
	}
	public := &UnreleasedError{Key: keyOf(e.Queue), Ticket: e.Ticket, Err: e.Err}
	if e.Loss != nil {
		return errors.Join(e.Loss, public)
	}
	return public
}

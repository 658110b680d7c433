package queuelock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/session"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/ticket"
)

// Lock is a lock that was acquired. It is held until Release, or until it is
// lost. Its methods are safe for concurrent use.
type Lock struct {
	session *session.Session
	key     Key
	maxData int // of SetData
}

// hold makes the session of a grant and starts its heartbeat.
func (c *Client) hold(ctx context.Context, key Key, cfg settings, q table.Queue, grant waiter.Grant) *session.Session {
	var margins []time.Duration
	for _, d := range cfg.warnings {
		margins = append(margins, d.margin)
	}
	return c.sessions.Hold(ctx, session.Config{Name: key.normal(), Queue: q, Terms: cfg.holderTerms(), Mode: cfg.mode, Warnings: margins}, grant)
}

// deliver makes the Lock of a session that is returned to the caller.
func (c *Client) deliver(s *session.Session, cfg settings) *Lock {
	l := &Lock{session: s, key: keyOf(s.Queue()), maxData: cfg.maxData()}
	s.Deliver(func(margin int) { cfg.warnings[margin].call(l) })
	return l
}

// keyOf is the key of a lock in that queue.
func keyOf(q table.Queue) Key { return Key{Entity: q.Entity, Reason: q.Reason} }

// lostError is the error of a lock that was lost.
func lostError(q table.Queue, t ticket.Number, loss *heartbeat.LossError) error {
	return &LostError{Key: keyOf(q), Ticket: t, Cause: loss.Cause, Err: loss.Err}
}

// unknownError is the error of an outcome that is not known.
func unknownError(q table.Queue, err, ctx, end error) error {
	return &UnknownOutcomeError{Key: keyOf(q), Err: err, Ctx: ctx, End: end}
}

// publicError makes the error that a caller gets of one that the session returned.
func (l *Lock) publicError(err error) error {
	if e, ok := err.(*session.ReleaseError); ok {
		return &ReleaseError{Key: l.key, Err: publicError(e.Err)}
	}
	return publicError(err)
}

// publicError makes the error that a caller gets of one that a session returned.
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

// String prints the lock for people: "order-7" (lock) ticket 12.
func (l *Lock) String() string { return fmt.Sprintf("%s ticket %s", l.key, l.Ticket()) }

// Key returns what is locked.
func (l *Lock) Key() Key { return l.key }

// Ticket returns the lock's number in its queue, which is its fencing token. It is
// greater than the tokens of all holders before, and less than those of all holders
// after. It stays the same after the lock has ended.
func (l *Lock) Ticket() ticket.Number { return l.session.Ticket() }

// Context carries the values of the context given to Acquire, but not its end. It is
// cancelled when the lock is lost or released, with ErrLost or ErrReleased as its cause.
// Its Err looks at the clock, so a process that was paused past its lease learns of the
// loss at once.
func (l *Lock) Context() context.Context { return l.session.Context() }

// Done is closed when the lock is lost or released.
func (l *Lock) Done() <-chan struct{} { return l.session.Done() }

// Err returns nil while the lock is held, a *LostError after it was lost, and
// ErrReleased after it was released. After Release has reported how the lock ended, Err
// agrees with it. Err looks at the clock, and makes no request.
func (l *Lock) Err() error { return l.session.Err() }

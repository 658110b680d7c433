package queuelock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/serving"
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

// Release releases the lock and lets the next waiter in. The lock's context is
// cancelled before anything is sent.
//
// It returns nil if this call or an earlier one released the lock, which was
// held until then. The table says so: each release leaves a mark. Returns
//
//   - an error that matches ErrLost if the lock was lost before. Its entry is
//     removed if it is still there, unless a transaction of the lock outlasts ctx.
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
func (l *Lock) Release(ctx context.Context) error { return publicError(l.session.Release(ctx)) }

// ReleaseWith makes the writes, all or none, only if the lock is still held, and
// then releases it. Items are as for Transact.
//
// The release is sent after the answer to the writes: DynamoDB makes the items of
// a transaction visible one after another, and only the answer says that all of
// them are. Released with the writes, the lock could be granted to a holder that
// still reads the old values.
//
// It returns nil if the writes were made, once, and the lock was released after
// them. Returns
//
//   - *ReleaseError if the writes were made, and the release failed.
//   - any other error as Transact does. The lock is then held as before, unless
//     the error says otherwise, and must be released.
//
// Two requests. Three if others have queued unnoticed; after a wait in the queue
// one more in the background if it is empty.
func (l *Lock) ReleaseWith(ctx context.Context, items ...types.TransactWriteItem) error {
	if err := validItems("ReleaseWith", items); err != nil {
		return err
	}
	return l.publicError(l.session.ReleaseWith(ctx, items...))
}

// Remaining is for how long the lock is held at the least, should no renewal
// get through any more: the time until the local deadline, at which it would be
// lost. It is zero once the lock is lost or released. It looks at the clock, and
// makes no request.
//
// With defaults it falls from 57.94 s to about 28 s, and each heartbeat raises it
// again. A process that stood still does not know how long it was between this
// call and what it does next: so it is a reason to begin a piece of work, and
// no permission to end it; see Lock.Condition.
//
// A lock that fails closed (FailClosed) has no deadline: it is the longest
// Duration while the lock is held.
func (l *Lock) Remaining() time.Duration { return l.session.Remaining() }

// Extend renews the lease now, before a piece of work that needs more than is
// left: Remaining is then that of a lock just acquired, less the time that the
// request took. The next heartbeat is counted from it.
//
// nil says that the lease was renewed by a request sent after the call began.
// *LostError, which matches ErrLost, says that the lock is lost, perhaps
// unknown until now, and ErrReleased that it was released. Any other error is
// the table's, or ctx's: the lock is held as before, and the heartbeat goes on
// to try. Calling it again is safe. Beside an UpdateAndRelease that was made, and
// has no answer yet, it is an error that matches neither: that call will report
// the release.
//
// One request, after that of a heartbeat under way, if there is one: renewals
// of a lock are made one after the other. Calls that wait at the same time
// share one. It takes at most Config.RequestTimeout for each.
//
// Of a lock that fails closed, which has no lease, it asks the table whether the
// lock is still held.
func (l *Lock) Extend(ctx context.Context) error { return l.session.Extend(ctx) }

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

// SetData replaces the lock's data, WithData's or that of an earlier SetData;
// nil removes it. At most as many bytes as WithData. It is written only while the lock is
// held, whatever the caller's clock says, and does not renew the lease.
//
// Calls take effect in the order in which they began: one that is late on its
// way, or arrives twice, never overwrites a later one's. nil says that the data
// was written, and stands unless a later call has replaced it. An error that
// matches ErrLost says that the lock was lost, and ErrReleased that it was
// released: its data is gone with it. Of data that is too large nothing is
// sent. Any other error is the table's, or that of ctx: the data may have been
// written, or may yet be, while the lock is held and no later call was made.
// Calling again is safe.
//
// One request. Conflicts with transactions, throttles and lost answers are
// retried until ctx or the lock ends.
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

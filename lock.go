package queuelock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/play"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Lock is an acquired lock. It is held until it is released or lost. Its methods are safe for concurrent use.
type Lock struct{ held }

// held is what a Lock and an ItemLock have in common.
type held struct {
	turn    *play.Lock
	maxData int // of SetData
}

// granted notes a grant. idle is how long the lock was idle before, if that is known.
func (c *Client) granted(ctx context.Context, cfg *settings, t ticket.Number, idle time.Duration) {
	if cfg.queue.Forget > 0 && cfg.queue.Home == nil {
		c.checkTTL.Do(func() { c.background.Run(func() { c.warnOfTTL(context.WithoutCancel(ctx)) }) })
	}
	notify.Send(cfg.log, event.Granted{Origin: cfg.log.Origin(t), Waited: time.Since(cfg.begun), Handover: idle})
}

// acquires counts the calls of this process, also for an Observer of several Clients.
var acquires atomic.Uint64

// observe gives a call in its queue a log, unless it has one.
func (c *Client) observe(ctx context.Context, cfg *settings) {
	if cfg.log == nil {
		c.number(ctx, cfg, acquires.Add(1))
	}
}

// number gives a call in its queue a log, to which the queue reports throttled requests. acquire is its number.
func (c *Client) number(ctx context.Context, cfg *settings, acquire uint64) {
	if cfg.log = c.log; c.log.Silent() {
		return
	}
	mode, q := event.Exclusive, &cfg.queue
	switch {
	case cfg.mode.Shared:
		mode = event.Shared
	case cfg.mode.Permits > 0:
		mode = event.Semaphore
	}
	log := c.log.Of(event.Origin{
		Context: ctx, Acquire: acquire, Entity: q.Entity, Reason: q.Reason, Mode: mode, Owner: cfg.Owner,
	})
	cfg.log = log
	q.Store = q.OnThrottle(func(operation string, err error) {
		limit := event.LimitOf(err)
		notify.Send(log, event.Throttled{Origin: log.Origin(ticket.Number{}), Operation: operation, Limit: limit})
	})
}

// reportFailure reports the error of a call that acquires a lock, and returns it.
func (s *settings) reportFailure(err error) error {
	if err != nil {
		notify.Send(s.log, event.NotAcquired{Origin: s.log.Origin(ticket.Number{}), Waited: time.Since(s.begun), Err: err})
	}
	return err
}

// warnOfTTL logs if the table's TTL will not delete idle records. It says nothing if the SDK client cannot ask.
func (c *Client) warnOfTTL(ctx context.Context) {
	if found, ok := c.store.DescribeTTL(ctx); ok && found != c.cfg.Attributes.TTL {
		c.cfg.Logger.Warn("queuelock: idle records are not forgotten: the table's TTL is disabled, or on another attribute",
			"table", c.store.Layout().Table, "forget", c.cfg.Forget, "needed", c.cfg.Attributes.TTL, "enabled", found)
	}
}

// String prints the lock for people: "order-7" (lock) ticket 12.
func (l *held) String() string { return fmt.Sprintf("%s ticket %s", l.key(), l.Ticket()) }

// Key returns what is locked.
func (l *Lock) Key() Key { return l.key() }

func (l *held) key() Key { return keyOf(l.turn.Queue()) }

// Ticket returns the lock's number in its queue, which is its fencing token: it is greater than those of all
// earlier holders. It stays after the lock has ended.
func (l *held) Ticket() ticket.Number { return l.turn.Ticket() }

// Slot returns which of the permits the lock has: the lowest number from 0 to n-1 that was free at the grant. No two
// holders have the same at the same time. It stays over Resume. ok is false if it has none: it is no semaphore's.
func (l *Lock) Slot() (slot int, ok bool) {
	if s := l.turn.Slot(); s != nil {
		return *s, true
	}
	return 0, false
}

// Context returns a context with the values of the one given to Acquire, but not its end. It is cancelled when
// the lock is lost or released, with the cause [ErrLost] or [ErrReleased]. Its Err reads the clock, so a process
// that was paused past its lease learns of the loss at once.
func (l *held) Context() context.Context { return l.turn.Context() }

// Err returns nil while the lock is held, a [*LostError] after it was lost, and [ErrReleased] after it was
// released. It agrees with Release. It reads the clock and makes no request.
func (l *held) Err() error { return l.turn.Err() }

// Release releases the lock and lets the next waiter in. The lock's context is cancelled before anything is
// sent. Release retries until the lease ends, or for Config.RequestTimeout after ctx has, so a deferred Release
// works. Call it after a loss too, so that other clients need not wait for what is left. Returns nil if this or
// an earlier call released the lock, and
//
//   - an error that matches [ErrLost] if the lock was lost before.
//   - [*UnknownOutcomeError] if the table no longer shows whether the lock was released.
//   - [*UnreleasedError] if a lock that fails closed may still be in the table.
//   - any other error if the table did not answer. The lease ends what may be left, but not an entry that cannot be
//     read: the error is then a [*queue.MalformedError] too, and only another Release removes the entry. After a
//     loss, Release first waits until the LockDelay of such an entry is over.
func (l *held) Release(ctx context.Context) error { return publicError(l.turn.Release(ctx)) }

// Remaining returns the time until the lease expires locally if no further renewal succeeds: with defaults from
// 57.94 s down to about 28 s, zero once the lock has ended, and the longest Duration for a lock that fails
// closed. It reads the clock and makes no request. Use it to decide whether to begin work, not to guard a
// write: the process may be paused after the call.
func (l *held) Remaining() time.Duration { return l.turn.Remaining() }

// Extend renews the lease now by one request, sent after the call. Concurrent calls share one. Of a lock that
// fails closed it checks that it is held. Returns
//
//   - an error that matches [ErrLost] or [ErrReleased] if the lock has ended.
//   - any other error if the renewal failed. The lock is held as before, unless a call that releases
//     it was applied, and its answer is still on the way.
func (l *held) Extend(ctx context.Context) error { return l.turn.Extend(ctx) }

// Shared reports whether the lock is held together with others, by the option Shared or after Downgrade.
func (l *Lock) Shared() bool { return l.turn.Shared() }

// Downgrade makes an exclusive lock a shared one, with no other writer in between, and admits the readers up to
// the next writer. The ticket stays the same. A protected write that is still on its way is refused once a
// reader has joined. Returns an error at once for a permit. After any error but [ErrLost] and
// [ErrReleased] the lock is held and may be shared.
func (l *Lock) Downgrade(ctx context.Context) error {
	switch {
	case l.turn.Mode().Permits > 0:
		return fmt.Errorf("queuelock: downgrade %s: it is a semaphore's permit, which has no writers", l.Key())
	case l.turn.Queue().Home != nil: // in the function of OnExpiring
		return fmt.Errorf("queuelock: downgrade %s: the lock of an item is not shared", l.Key())
	case l.turn.AtLeast() > 0:
		return fmt.Errorf("queuelock: downgrade %s: it keeps its queue closed by HoldAtLeast or Every, "+
			"which readers would join", l.Key())
	}
	return l.turn.Downgrade(ctx)
}

// SetData replaces the lock's data while the lock is held; nil removes it. The limits are those of WithData. It
// does not renew the lease. Calls take effect in the order in which they began. After any error but [ErrLost] and
// [ErrReleased] the data may have been written.
func (l *held) SetData(ctx context.Context, data []byte) error {
	most := l.maxData
	if l.turn.Shared() {
		most = min(most, queue.MaxSharedData) // also since Downgrade
	}
	if err := validData("SetData", data, most); err != nil {
		return fmt.Errorf("queuelock: %w", err)
	}
	return l.turn.SetData(ctx, data)
}

// publicError makes the public error of an error of package play.
func publicError(err error) error {
	e, unreleased := err.(*play.UnreleasedError)
	if !unreleased {
		return err
	}
	public := &UnreleasedError{Key: keyOf(e.Queue), Ticket: e.Ticket, Err: e.Err}
	if e.Loss != nil {
		return errors.Join(e.Loss, public)
	}
	return public
}

// Transact makes the writes, all or none, only if the lock is still held when they are made, and once, however
// often and however late the request arrives. It takes up to 99 items of any tables of the region, without the
// lock's own record. Transactions of one lock are made one after another. Returns
//
//   - an error that matches [ErrLost] or [ErrReleased] if the lock had ended.
//   - an error that matches *types.TransactionCanceledException, with reasons in the order of the items, if an
//     item refused it. Nothing was written.
//   - [*UnknownOutcomeError] if the writes may have been made, or may yet be while the lock is held. It never
//     matches [ErrLost].
//   - any other error if the table failed or ctx had ended. Nothing was written.
func (l *held) Transact(ctx context.Context, items ...types.TransactWriteItem) error {
	return l.turn.Transact(ctx, items...)
}

// Condition returns a check on the lock's serving record, for a TransactWriteItems of the caller's own: it
// commits only while the lock is held, and is otherwise cancelled with ConditionalCheckFailed. It conflicts
// with heartbeats; retry a TransactionConflict. The check of an exclusive lock fails after Downgrade once
// another holder has joined. Prefer Transact. Condition makes no request.
func (l *held) Condition() types.ConditionCheck { return l.turn.Condition() }

// Get reads up to 100 items that the lock protects, by one TransactGetItems, in order. A missing item is nil.
// No fenced write of an earlier holder can become visible after Get returns. If Unsettled is false, a
// consistent GetItem is enough. Returns an error that matches [ErrLost] or [ErrReleased] if the lock has ended.
func (l *held) Get(ctx context.Context, items ...types.TransactGetItem) ([]map[string]types.AttributeValue, error) {
	return l.turn.Get(ctx, items)
}

// Unsettled reports whether a transaction of an earlier holder may become visible while this lock is held,
// because its turn ended by an eviction or with an unknown outcome. Read by Get then. It makes no request.
func (l *held) Unsettled() bool { return l.turn.Unsettled() }

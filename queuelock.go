// Package queuelock gives processes fair, first-in-first-out access to an entity
// through Amazon DynamoDB: exclusive, unless the options Shared or Permits say
// otherwise.
//
// [Client.Acquire] takes a number from an atomic counter and, if nobody is
// there, is served with the same request. Otherwise it waits in a row of the
// queue, looks when its turn may come, and is served by one conditional write.
// A [Lock] keeps its lease by heartbeats; its context is cancelled when it is
// lost. [Lock.Release] gives way to the next in line. [Client.Do] is all of
// that around a function. [Client.LockItem] keeps a lock on an item of your own,
// and returns the item with it.
//
//	          Acquire                                     Release
//	(nothing) ───────► waiting ───────► held ───────────────────► released
//	                      │   granted     │ evicted, expired, unreachable
//	   ErrNotAcquired ◄───┘               └──────────────────────► lost
//
// What is guaranteed: never two holders in the table, or more than the mode
// allows, under any stall, crash, retry, lost or late answer; tickets that strictly increase from holder to
// holder; order among those whose rows stand; and that a process which runs
// knows of its loss, by its own monotonic clock, before anybody may be served
// after it. (That clock stands still while a whole host is suspended.)
//
// What is not: a process that is stopped does not notice that its lease ends.
// What it does when it wakes, before it asks, is kept from harm by the fencing
// token alone: send [Lock.Ticket] with each write to the protected resource,
// and let the resource refuse a token lower than the highest it has seen.
//
// Who is authoritative: the table. Clocks of hosts need not agree; leases are
// kept on DynamoDB's clock.
//
//	| failure                         | what happens                               |
//	|---------------------------------|--------------------------------------------|
//	| a holder dies                   | evicted when its lease ends (Config.TTL)   |
//	| a waiter dies                   | swept when its row's lease ends (WaiterTTL)|
//	| a holder is cut off             | its context is cancelled before the lease ends |
//	| an answer is lost               | found out by id, never granted twice       |
//	| the table does not answer       | tried for one TTL, 30 s at least, then an error |
//	| a fail-closed holder dies       | all wait for an operator (Client.Evict)    |
//
// Each package below is one noun of this: ticket, serving (the record that
// decides), queue (the waiting room), waitpolicy, heartbeat, sweeper. Package
// version is for changes that need no lock. Package queuelocktest has a table in
// memory, with faults, to test your own code against.
package queuelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/callback"
	"github.com/queuelock/queuelock/internal/group"
	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/logqueue"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Client acquires locks in one table. It is safe for concurrent use; a process
// needs one. New makes it, and it must be closed with Close.
type Client struct {
	cfg      Config
	logs     *logqueue.Queue // behind cfg.Logger
	store    *table.Store
	observer *lease.Observer
	lines    *localqueue.Queues

	ctx    context.Context // ends with Close, with cause ErrClosed
	cancel context.CancelCauseFunc

	mu         sync.Mutex
	closed     bool               // guarded by mu
	locks      map[*Lock]struct{} // guarded by mu; held, or released in vain
	calls      group.Group        // entered under mu, while not closed
	background group.Group        // heartbeats, row deletes, QUIET
}

// New returns a Client for a table that CreateTable made, or one like it, by its
// name (3 to 255 of a-z, A-Z, 0-9, "_", "-" and ".") or ARN. It makes no request
// and starts no goroutine. The error says which argument or field is wrong.
func New(db DynamoDB, tableName string, cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	layout := cfg.layout(tableName)
	switch {
	case isNil(db):
		return nil, errors.New("queuelock: the DynamoDB client is nil")
	case layout.Validate() != nil:
		return nil, fmt.Errorf("queuelock: %w", layout.Validate())
	case cfg.validate() != nil:
		return nil, fmt.Errorf("queuelock: %w", cfg.validate())
	}
	c := &Client{cfg: cfg, logs: new(logqueue.Queue), lines: localqueue.New(cfg.attention()), locks: map[*Lock]struct{}{}}
	if h := cfg.Logger.Handler(); h != slog.DiscardHandler {
		c.cfg.Logger = slog.New(c.logs.Handler(h))
	}
	c.store = table.NewStore(db, layout, cfg.RequestTimeout)
	c.observer = lease.NewObserver(c.store.Clock(), cfg.ObserveExpiry)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c, nil
}

// Acquire takes its turn at the lock and returns it held.
//
// It waits as wait says at the most, and for as long as ctx lives;
// whichever ends first, the error is a *NotAcquiredError, which matches
// ErrNotAcquired, and ctx's error if that was it. If the table does not answer
// then, the error matches ErrUnavailable in place of ErrNotAcquired. Then Acquire
// leaves the queue, which takes a request or two, and up to about four seconds if
// the table does not answer. (NoWait tries such a table for three.) Nothing of the attempt is left in the table; if the requests to
// undo it failed as well, its leases end what is left. ErrClosed after Close. Any other error is the table's, a
// malformed record's, or an argument's; *TableError says that the table cannot
// be used.
//
// An idle lock costs one request (one write unit), the first use of a key two; a
// client's first lock, and the first after a quarter of an hour without any
// request, a read more, for DynamoDB's time.
// With NoWait a busy one costs one, and with waitpolicy.Attempts one for each
// attempt. (With a wider Config.Scope these are two each.) Waiting costs three more requests, the looks (a read unit each), and a
// write unit each half WaiterTTL.
//
// The lock does not end with ctx: it ends with Release, or when it is lost.
// Calling Acquire again is safe, and is a new place at the end of the queue.
// Locks are not reentrant.
func (c *Client) Acquire(ctx context.Context, key Key, wait waitpolicy.Wait, opts ...Option) (*Lock, error) {
	return c.acquire(ctx, key, wait, nil, opts)
}

// acquire is Acquire, and Resume if there is something to go on with.
func (c *Client) acquire(ctx context.Context, key Key, wait waitpolicy.Wait, from *waiter.Handle, opts []Option) (*Lock, error) {
	begun := time.Now()
	cfg, q, err := c.prepare(key, wait, opts)
	if err == nil && from != nil && cfg.failClosed {
		err = errors.New("queuelock: Resume and FailClosed cannot be combined: a lock without a lease is not resumed")
	}
	if err != nil {
		return nil, err
	}
	return c.serve(ctx, begun, key, cfg, q, wait, from)
}

// serve waits in that queue, as those settings say. If the wait is over before the
// table was asked, it asks once.
func (c *Client) serve(ctx context.Context, begun time.Time, key Key, cfg settings, q table.Queue, wait waitpolicy.Wait, from *waiter.Handle) (*Lock, error) {
	lock, tried, err := c.try(ctx, begun, key, cfg, q, wait, from)
	if !tried && cfg.tooShort(ctx, begun, err) {
		lock, _, err = c.try(ctx, begun, key, cfg, q, waitpolicy.NoWait, from)
	}
	return lock, err
}

// tooShort reports whether a wait was over before a request could be made in it.
func (s settings) tooShort(ctx context.Context, begun time.Time, err error) bool {
	return errors.Is(err, ErrNotAcquired) && ctx.Err() == nil && time.Since(begun) < s.RequestTimeout
}

// try is serve without the second attempt. tried says that the table was asked.
func (c *Client) try(ctx context.Context, begun time.Time, key Key, cfg settings, q table.Queue, wait waitpolicy.Wait, from *waiter.Handle) (_ *Lock, tried bool, _ error) {
	ctx, end, err := c.begin(ctx, wait)
	if err != nil {
		return nil, true, err
	}
	defer end()
	ctx, calls := callback.New(ctx, c.background.Run)
	defer calls.Raise()
	config := c.waiter(cfg, q, c.progress(calls, cfg.progress, key, q, begun))
	config.Resume, config.Placed = from, placed(calls, cfg.placed, key, cfg.mode)
	w, grant, err := waiter.Acquire(ctx, config, wait)
	if err != nil {
		err = acquireError(ctx, key, err, c.served(q, w.Standing()), w.Standing(), time.Since(begun))
		if orphan := w.Orphan(); orphan != nil {
			err = errors.Join(err, &UnreleasedError{Key: key.normal(), Ticket: orphan.Ticket, Err: orphan.Err})
		}
		return nil, w.Tried(), err
	}
	cfg.mode = w.Mode // of a lock that was resumed, what the record says
	lock := c.hold(ctx, key, cfg, q, grant)
	failed := calls.Close()
	if cause := context.Cause(ctx); failed || cause != nil && cause != errWaitOver {
		// Served while the caller gave up: give it back.
		err = acquireError(ctx, key, ctx.Err(), nil, w.Standing(), time.Since(begun))
		if end := lock.Release(ctx); unreleased(end) {
			err = errors.Join(err, end)
		}
		w.Wait()
		return nil, true, err
	}
	close(lock.given)
	return lock, true, nil
}

// Do runs fn while it holds the lock. fn's context is cancelled when the lock
// is lost and when ctx ends; context.Cause says which. The lock is released
// whatever happens, a panic included. The error is Acquire's if the lock was
// not acquired, and fn was not called; else fn's joined with Release's, which
// is ErrLost if the lock was lost while fn ran, known until then or not. A loss
// that fn returned itself, as from context.Cause, is not joined a second time.
// Requests are those of Acquire and Release.
func (c *Client) Do(ctx context.Context, key Key, wait waitpolicy.Wait, fn func(context.Context, *Lock) error, opts ...Option) (err error) {
	if fn == nil {
		return errors.New("queuelock: Do: the function is nil")
	}
	lock, err := c.Acquire(ctx, key, wait, opts...)
	if err != nil {
		return err
	}
	defer func() {
		if end := lock.Release(ctx); !reportsLoss(err, end) {
			err = errors.Join(err, end)
		}
	}()
	held, cancel := lock.within(ctx)
	defer cancel()
	return fn(held, lock)
}

// reportsLoss reports whether err has the loss already with which Release ended.
func reportsLoss(err, end error) bool {
	_, lost := end.(*LostError)
	return lost && errors.Is(err, end)
}

// Close cancels all waiters, releases all locks held, each tried whatever
// becomes of the others, and waits for all that runs in the background, at
// most until ctx ends; the releases have Config.RequestTimeout even then, and the
// Logger has one second for its last records. The
// error joins those of the releases; what was not released, leases end, unless
// it fails closed (FailClosed). After
// a Close that returned nil no goroutine of the client is left. Its methods
// return ErrClosed from the start. Calling it again tries again what failed.
func (c *Client) Close(ctx context.Context) error {
	if err := c.made(); err != nil {
		return fmt.Errorf("queuelock: %w", err)
	}
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel(ErrClosed)
	var errs []error
	if err := c.calls.Wait(ctx); err != nil {
		errs = append(errs, fmt.Errorf("queuelock: close: waiters have not left yet: %w", err))
	}
	errs = append(errs, c.releaseAll(ctx))
	if err := c.background.Wait(ctx); err != nil {
		errs = append(errs, fmt.Errorf("queuelock: close: requests or callbacks are still under way: %w", err))
	}
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), logGrace)
	defer cancel()
	if err := c.logs.Wait(patient); err != nil {
		errs = append(errs, fmt.Errorf("queuelock: close: the Logger still has records to take: %w", err))
	}
	return errors.Join(errs...)
}

// begin enters a call, which ends with end. Its context is bounded by wait and by
// Close, which waits for it.
func (c *Client) begin(ctx context.Context, wait waitpolicy.Wait) (bounded context.Context, end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, ErrClosed
	}
	bounded, cancel := context.WithCancelCause(ctx)
	c.calls.Enter()
	unhook := context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })
	stop := context.CancelFunc(func() {})
	if limit, limited := wait.Limit(); limited && !wait.IsNoWait() {
		bounded, stop = context.WithTimeoutCause(bounded, limit, errWaitOver)
	}
	return bounded, func() { unhook(); stop(); cancel(nil); c.calls.Leave() }, nil
}

// waiter is what an acquire goes by in one queue.
func (c *Client) waiter(cfg settings, q table.Queue, progress func(waiter.Progress)) waiter.Config {
	return waiter.Config{
		Queue: q, Counter: cfg.counter(q), Observer: c.observer, Lines: c.lines, Log: cfg.Logger, Owner: cfg.Owner,
		Holder: cfg.grantTerms(), Waiter: cfg.waiterTerms(),
		Schedule: cfg.Poll, Patience: max(cfg.TTL, minPatience), Background: c.background.Run, Data: cfg.data, Mode: cfg.waiterMode(),
		Progress: progress,
	}
}

// errWaitOver is the cause with which a wait that is over ends a context.
var errWaitOver = errors.New("the wait is over")

// logGrace is how long Close waits for the Logger.
const logGrace = time.Second

// minAttention is the shortest attention. It exceeds the pauses between attempts
// at a table that fails.
const minAttention = 30 * time.Second

// attention is after how long without a look a waiter counts as stuck. It is twice
// what a waiter that works can take between two looks: the longest sleep and a
// request.
func (c Config) attention() time.Duration {
	return max(2*(min(c.Poll.Slowest, math.MaxInt64/4)+c.RequestTimeout), minAttention)
}

// made refuses what New has not made.
func (c *Client) made() error {
	if c.store == nil {
		return errors.New("the Client is empty: New makes one")
	}
	return nil
}

// prepare checks the arguments of a call.
func (c *Client) prepare(key Key, wait waitpolicy.Wait, opts []Option) (settings, table.Queue, error) {
	cfg := c.cfg.with(opts)
	key = key.normal()
	for _, err := range []error{c.made(), key.validate(), wait.Validate(), cfg.validate(), cfg.noItem()} {
		if err != nil {
			return cfg, table.Queue{}, fmt.Errorf("queuelock: %w", err)
		}
	}
	return cfg, table.Queue{Store: c.store.Within(cfg.RequestTimeout), Entity: key.Entity, Reason: key.Reason}, nil
}

// releaseAll releases every lock, side by side.
func (c *Client) releaseAll(ctx context.Context) error {
	c.mu.Lock()
	var held []*Lock
	for lock := range c.locks {
		held = append(held, lock)
	}
	c.mu.Unlock()
	slices.SortFunc(held, func(a, b *Lock) int {
		return cmp.Or(cmp.Compare(a.queue.String(), b.queue.String()), a.ticket.Compare(b.ticket))
	})
	errs := make([]error, len(held))
	var wg sync.WaitGroup
	for i, lock := range held {
		wg.Go(func() {
			if err := lock.Release(ctx); err != nil {
				errs[i] = fmt.Errorf("queuelock: close: release %s: %w", lock.key, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

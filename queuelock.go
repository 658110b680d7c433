// Package queuelock provides locks on Amazon DynamoDB that are granted first in, first
// out. They are exclusive unless the options [Shared] or [Permits] say otherwise.
//
// # Life of a lock
//
// [Client.Acquire] takes a ticket from an atomic counter. If the lock is idle, the same
// request grants it. Otherwise the client waits in a row of the queue, looks when its
// turn may come, and takes the lock by one conditional write. Heartbeats renew the
// lease of a [Lock], whose context is cancelled when it is lost. [Lock.Release] lets
// the next waiter in. [Client.Do] does all of that around a function. [Client.LockItem]
// keeps the lock on an item of your own and returns the item.
//
//	          Acquire                                     Release
//	(nothing) ───────► waiting ───────► held ───────────────────► released
//	                      │   granted     │ evicted, expired, unreachable
//	   ErrNotAcquired ◄───┘               └──────────────────────► lost
//
// # What it promises
//
//   - The table never has two holders, or more than the mode allows, under any pause,
//     crash, retry, lost or late answer.
//   - Tickets strictly increase from holder to holder.
//   - Waiters whose rows are in the table are served in the order of their tickets.
//   - A running process learns of a loss by its own monotonic clock before another
//     client may be served. That clock stops while a whole host is suspended.
//
// # What it does not promise
//
// A paused process does not notice that its lease ends. Only the fencing token guards
// what it does next: send [Lock.Ticket] with each write to the protected resource, and
// let the resource refuse a ticket lower than the highest it has seen. For items of
// DynamoDB, [Lock.Transact] does that.
//
// # Who is authoritative
//
// The table is. Clocks of hosts need not agree, because leases are kept on DynamoDB's
// clock.
//
// # Failures
//
//	| failure                    | what happens                                    |
//	|----------------------------|-------------------------------------------------|
//	| a holder crashes           | evicted when its lease ends (Config.TTL)        |
//	| a waiter crashes           | its row is swept when its lease ends (WaiterTTL)|
//	| a holder is partitioned    | its context is cancelled before the lease ends  |
//	| an answer is lost          | found out by id, never granted twice            |
//	| the table does not answer  | retried for one TTL, at least 30 s, then an error |
//	| a fail-closed holder crashes | all wait for an operator (Client.Evict)       |
//
// # Outcomes
//
// Calls on a lock, except Extend, retry throttles, conflicts and lost answers until ctx,
// the lock or the client ends. A request that was not answered may have been applied, so
// they read the outcome from the table. nil says that the call took effect, once.
//
//   - [ErrLost] and [ErrReleased] say that the lock had ended. The caller's writes were
//     not made.
//   - [UnknownOutcomeError] says that the table does not show whether they were made.
//   - Any other error comes from the table, the arguments or ctx. The lock is held as
//     before, unless the call was to release it, and the call may be repeated.
//
// Release, Close, Sweep and Evict may be repeated after any error.
// The pages docs/costs.md and docs/errors.md list the requests and errors of each call.
//
// # Packages
//
// Package ticket has the numbers, waitpolicy the bounds of a wait, queue the picture
// that [Client.Inspect] returns, and heartbeat the renewal of leases. Package sweeper
// removes what crashed clients left in idle queues. Package version is for changes that
// need no lock. Package queuelocktest has a table in memory, with faults, for tests of
// your own code.
package queuelock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/callback"
	"github.com/queuelock/queuelock/internal/group"
	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/logqueue"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/session"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Client acquires locks in one table. It is safe for concurrent use. A process needs
// one, which New returns and Close closes.
type Client struct {
	cfg      Config
	logs     *logqueue.Queue // behind cfg.Logger
	store    *table.Store
	observer *lease.Observer
	local    *localqueue.Queues

	ctx    context.Context // ends with Close, with cause ErrClosed
	cancel context.CancelCauseFunc

	sessions *session.Client // the locks held, or released in vain

	mu         sync.Mutex
	closed     bool        // guarded by mu
	calls      group.Group // entered under mu, while not closed
	background group.Group // heartbeats, row deletes, RESET
}

// New returns a Client for a table as CreateTable makes it. tableName is a name (3 to
// 255 of a-z, A-Z, 0-9, "_", "-" and ".") or an ARN. New makes no request and starts no
// goroutine. Returns an error if an argument or a field of cfg is invalid.
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
	c := &Client{cfg: cfg, logs: new(logqueue.Queue), local: localqueue.New(cfg.attention())}
	if h := cfg.Logger.Handler(); h != slog.DiscardHandler {
		c.cfg.Logger = slog.New(c.logs.Handler(h))
	}
	c.store = table.NewStore(db, layout, cfg.RequestTimeout)
	c.observer = lease.NewObserver(c.store.Clock(), cfg.ObserveExpiry)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.sessions = &session.Client{
		Closed: c.ctx, Timeout: cfg.RequestTimeout, Log: c.cfg.Logger, Local: c.local, Background: c.background.Run,
		Released: ErrReleased, Lost: lostError, Unknown: unknownError,
	}
	return c, nil
}

// Acquire waits for its turn and returns the lock. wait and ctx bound the wait.
// The lock does not end with ctx, but with Release or when it is lost. Locks are not
// reentrant. Before Acquire returns an error it leaves the queue. What it could not
// remove ends with its lease. Returns
//
//   - ErrClosed after Close.
//   - *MismatchError if the queue is of another kind, *TableError if the table cannot
//     be used, and *MalformedError if another program wrote the record.
//   - ErrUnavailable if the table did not answer.
//   - *NotAcquiredError, which matches ErrNotAcquired, if the wait or ctx ended first.
//     It matches ctx's error too if that ended the wait.
func (c *Client) Acquire(ctx context.Context, key Key, wait waitpolicy.Wait, opts ...Option) (*Lock, error) {
	return c.acquire(ctx, key, wait, nil, opts)
}

// acquire is Acquire, or Resume of a handle.
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

// serve waits in the queue q. If the wait is over before the first request, it tries
// once without waiting.
func (c *Client) serve(ctx context.Context, begun time.Time, key Key, cfg settings, q table.Queue, wait waitpolicy.Wait, from *waiter.Handle) (*Lock, error) {
	lock, tried, err := c.try(ctx, begun, key, cfg, q, wait, from)
	if !tried && cfg.tooShort(ctx, begun, err) {
		lock, _, err = c.try(ctx, begun, key, cfg, q, waitpolicy.NoWait, from)
	}
	return lock, err
}

// tooShort reports whether a wait ended before a request could be made in it.
func (s settings) tooShort(ctx context.Context, begun time.Time, err error) bool {
	return errors.Is(err, ErrNotAcquired) && ctx.Err() == nil && time.Since(begun) < s.RequestTimeout
}

// try is serve without the second attempt. tried reports whether a request was made.
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
		err = acquireError(ctx, key, err, c.served(q, w.Status()), w.Status(), time.Since(begun))
		if orphan := w.Orphan(); orphan != nil {
			err = errors.Join(err, &UnreleasedError{Key: key.normal(), Ticket: orphan.Ticket, Err: orphan.Err})
		}
		return nil, w.Tried(), err
	}
	cfg.mode = w.Mode() // of a lock that was resumed, what the record says
	held := c.hold(ctx, key, cfg, q, grant)
	failed := calls.Close()
	if cause := context.Cause(ctx); failed || cause != nil && cause != errWaitOver {
		// Served while the caller gave up: give it back.
		err = acquireError(ctx, key, ctx.Err(), nil, w.Status(), time.Since(begun))
		if end := held.Release(ctx); !held.State().Phase.Final() {
			err = errors.Join(err, publicError(end))
		}
		w.Wait()
		return nil, true, err
	}
	return c.deliver(held, cfg), true, nil
}

// Do runs fn while it holds the lock, and releases the lock afterwards, also after a
// panic. fn's context is cancelled when the lock is lost and when ctx ends, and
// context.Cause says which. Returns
//
//   - Acquire's error if the lock was not acquired. fn was not called.
//   - fn's error joined with Release's, which matches ErrLost if the lock was lost.
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
	held, cancel := lock.session.Within(ctx)
	defer cancel()
	return fn(held, lock)
}

// reportsLoss reports whether err already has the loss that Release returned.
func reportsLoss(err, end error) bool {
	_, lost := end.(*LostError)
	return lost && errors.Is(err, end)
}

// Close cancels all waiters, releases all locks, and waits for background work until
// ctx ends. The releases have Config.RequestTimeout even then, and the Logger has one
// second. Once Close has begun, other calls on the Client return ErrClosed.
//
// Returns the errors of the releases, and one for each kind of work that still runs.
// Leases end what was not released, unless it fails closed. Another call repeats what
// failed.
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

// begin enters a call, which ends with end. wait and Close bound its context.
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

// waiter returns the configuration of an acquire in one queue.
func (c *Client) waiter(cfg settings, q table.Queue, progress func(waiter.Progress)) waiter.Config {
	return waiter.Config{
		Queue: q, Counter: cfg.counter(q), Observer: c.observer, Local: c.local, Log: cfg.Logger,
		Entry: waiter.Entry{Owner: cfg.Owner, Data: cfg.data, Mode: cfg.waiterMode(), Terms: cfg.grantTerms()}, Row: cfg.waiterTerms(),
		Schedule: cfg.Poll, RetryTimeout: max(cfg.TTL, minRetryTimeout), Background: c.background.Run, Progress: progress,
	}
}

// errWaitOver is the cause of a context that ended because the wait is over.
var errWaitOver = errors.New("the wait is over")

// logGrace is how long Close waits for the Logger.
const logGrace = time.Second

// made refuses a Client that New has not made.
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

// releaseAll releases all locks concurrently.
func (c *Client) releaseAll(ctx context.Context) error {
	held := c.sessions.Sessions()
	errs := make([]error, len(held))
	var wg sync.WaitGroup
	for i, lock := range held {
		ctx := random.Fork(ctx)
		wg.Go(func() {
			if err := lock.Release(ctx); err != nil {
				errs[i] = fmt.Errorf("queuelock: close: release %s: %w", keyOf(lock.Config().Queue), publicError(err))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

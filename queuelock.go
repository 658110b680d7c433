// Package queuelock provides locks on Amazon DynamoDB that are granted first in, first out. They are exclusive
// unless the options [Shared] or [Permits] say otherwise.
//
// # Life of a lock
//
// [Client.Acquire] takes a ticket from an atomic counter. If the lock is idle, the same request grants it.
// Otherwise the client puts a row into the queue, looks when its turn may come, and takes the lock by one
// conditional write. Heartbeats renew the lease of a [Lock], whose context is cancelled if the lock is lost.
// [Lock.Release] lets the next waiter in. [Client.Do] does all of that around a function. [Client.LockItem]
// keeps the lock on an item of your own and returns the item.
//
//	          Acquire                                     Release
//	(nothing) ───────► waiting ───────► held ───────────────────► released
//	                      │   granted     │ evicted, expired, unreachable
//	   ErrNotAcquired ◄───┘               └──────────────────────► lost
//
// # What it promises
//
//   - The table never has two holders, or more than the mode allows, under any pause, crash, retry, lost or
//     late answer.
//   - Tickets strictly increase from holder to holder, except in a restored table and in five cases of a deleted
//     record, which docs/failures.md lists.
//   - Waiters whose rows are in the table are served in the order of their tickets.
//   - A running process learns of a loss by its own monotonic clock before another client may be served, unless
//     its host was suspended, which stops that clock, or DynamoDB's dates were wrong for longer than a lease.
//
// # What it does not promise
//
// A paused process does not notice that its lease ends. Only the fencing token guards what it does next: send
// [Lock.Ticket] with each write to the protected resource, and let the resource refuse a ticket lower than the
// highest it has seen. For items of DynamoDB, [Lock.Transact] does that.
//
// Transactions of DynamoDB are serializable, but their items become visible one after another: a read that is no
// transaction may miss a part of one that is being committed (Amazon DynamoDB Developer Guide, "How it works:
// transactions", isolation levels). So [Lock.Release] waits for the answers to transactions, and
// [Lock.Unsettled] says when a holder must read by [Lock.Get].
//
// # Who is authoritative
//
// The table is. Clocks of hosts need not agree, because leases are kept on DynamoDB's clock.
//
// # Failures
//
//	| failure                      | what happens                                      |
//	|------------------------------|---------------------------------------------------|
//	| a holder crashes             | evicted when its lease ends (Config.TTL)          |
//	| a waiter crashes             | its row is swept when its lease ends (WaiterTTL)  |
//	| a holder is partitioned      | its context is cancelled before the lease ends    |
//	| an answer is lost            | found out by id, never granted twice              |
//	| the table does not answer    | retried for one TTL, at least 30 s, then an error |
//	| a fail-closed holder crashes | all wait for an operator (Operator.Evict)           |
//	| a holder hangs and renews    | all wait for an operator (Operator.Evict)           |
//
// # Outcomes
//
// Calls on a lock retry throttles, conflicts and lost answers until ctx, the lock or the client ends. Extend does
// not. A request that was not answered may have been applied, so they read the outcome from the table. nil
// says that the call took effect, once.
//
//   - [ErrLost] and [ErrReleased] say that the lock had ended. The caller's writes were not made.
//   - [UnknownOutcomeError] says that the table does not show whether they were made.
//   - Any other error comes from the table, the arguments or ctx. The lock is held as before, unless the call
//     was to release it, and the call may be repeated.
//
// Release, Close, Sweep and Evict may be repeated after any error. The pages docs/costs.md and docs/errors.md list the
// requests and errors of each call.
//
// # The house
//
//	queuelock   the facade: options, errors, and the life of a Lock
//	├── waitpolicy   how long a caller waits, and when it looks
//	├── heartbeat    a lease: renewed, lost, or seen to end
//	├── sweeper      what has expired, and its removal
//	├── queue        the algorithm: record and rows, their writes, and what follows for a ticket
//	├── ticket       the counter, and the numbers that it issues
//	└── internal     member (one client in one queue, as one machine) and play (its driver); multilock (AcquireAll);
//	                 serving and rows (send the writes), table (DynamoDB)
//
// Beside it: event is what Config.Observer receives, wake rings waiters, failfast SDK settings,
// httplock HTTP requests under locks, once results that are computed once, optimistic changes that need no lock,
// and queuelocktest a table in memory, with faults, for tests of your own code.
package queuelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/callback"
	"github.com/queuelock/queuelock/internal/group"
	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/play"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Client acquires locks in one table. It is safe for concurrent use. A process needs one: see New and Close.
type Client struct {
	cfg      Config
	interval time.Duration // Config.HeartbeatInterval as it was given, see WithTTL
	log      *notify.Log   // to cfg.Logger and cfg.Observer
	store    *table.Store
	observer *heartbeat.Observer
	local    *handover.Ringer
	players  *play.Client
	plain    play.Wants      // of calls without options
	ctx      context.Context // ends with Close, with cause ErrClosed
	cancel   context.CancelCauseFunc

	mu         sync.Mutex
	closed     bool                // guarded by mu
	calls      group.Group         // entered under mu, while not closed
	background group.Group         // the steps of members, and requests
	functions  group.Group         // those of Do that run; entered under mu, while not closed
	doing      map[*play.Lock]bool // guarded by mu; their locks
	checkTTL   sync.Once           // of the table, with Config.Forget
}

// New returns a [Client] for a table as CreateTable makes it. tableName is a name (3 to 255 of a-z, A-Z, 0-9,
// "_", "-" and ".") or an ARN. New makes no request and starts no goroutine. Returns an error if an argument or
// a field of cfg is invalid.
func New(db DynamoDB, tableName string, cfg Config) (*Client, error) {
	if isNil(db) {
		return nil, errors.New("queuelock: the DynamoDB client is nil")
	}
	c, err := bare(db, tableName, cfg)
	if err != nil {
		return nil, err
	}
	cfg = c.cfg
	c.log = notify.New(cfg.Logger, cfg.Observer)
	c.cfg.Logger = c.log.Logger
	c.local = handover.New(cfg.Wake, c.cfg.Logger, c.background.Run)
	c.observer = heartbeat.NewObserver(c.store.Clock(), cfg.ObserveExpiry)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.doing = map[*play.Lock]bool{}
	c.plain.Retry = max(cfg.TTL, minRetryTimeout)
	(&settings{Config: &c.cfg, special: ordinary, wait: waitpolicy.Forever}).fill(&c.plain.Kind)
	c.players = play.New(c.together())
	return c, nil
}

// bare returns a Client that can only check arguments.
func bare(db DynamoDB, tableName string, cfg Config) (*Client, error) {
	interval := cfg.HeartbeatInterval
	cfg = cfg.withDefaults()
	layout := cfg.layout(tableName)
	if err := cmp.Or(layout.Validate(), cfg.validate()); err != nil {
		return nil, fmt.Errorf("queuelock: %w", err)
	}
	return &Client{cfg: cfg, interval: interval, store: table.NewStore(db, layout, cfg.RequestTimeout)}, nil
}

// Acquire waits for its turn, bounded by wait and ctx, and returns the lock, which does not end with ctx. Locks are not
// reentrant. Before Acquire returns an error it leaves the queue. What it could not remove ends with its lease. Returns
//
//   - [ErrClosed] after Close.
//   - [*queue.MismatchError] if the queue is of another kind, [*queue.TableError] if the table cannot be used,
//     and [*queue.MalformedError] if another program wrote the record.
//   - [ErrUnavailable] if the table did not answer.
//   - [*NotAcquiredError], which matches [ErrNotAcquired], if the wait or ctx ended first. It matches ctx's error
//     too if that ended the wait, and [ErrQueueFull] or [ErrSuperseded] if MaxWaiters or Supersede did.
func (c *Client) Acquire(ctx context.Context, key Key, wait waitpolicy.Wait, opts ...AcquireOption) (*Lock, error) {
	cfg := with(c, opts)
	cfg.wait = wait
	if err := key.prepare(c, cfg); err != nil {
		return nil, err
	}
	if cfg.once != nil {
		return c.serveOnce(ctx, cfg)
	}
	return c.serve(ctx, cfg)
}

// serve waits in the queue, and returns the lock.
func (c *Client) serve(ctx context.Context, cfg *settings) (*Lock, error) {
	m, err := c.acquiring(ctx, cfg)
	if err != nil {
		return nil, err
	}
	for m.enters(); ; { // here, no deeper: a stack that has grown stays as large while its goroutine rests
		select {
		case <-m.waits.Wake:
		case <-m.ended:
			m.ended = nil
		}
		if over, lock, err := m.goesOn(); over {
			return lock, err
		}
	}
}

// acquiring is the call of one acquire.
type acquiring struct {
	call
	caller context.Context // that of Acquire
	cfg    *settings
	wants  *play.Wants
	waits  *play.Caller
	ended  <-chan struct{} // of the wait; nil once the caller has heard of it
	tried  int             // times, of one that does not wait
}

var _ play.Call = (*acquiring)(nil)

// acquiring enters a call, which ends with end.
func (c *Client) acquiring(ctx context.Context, cfg *settings) (*acquiring, error) {
	c.observe(ctx, cfg)
	m := &acquiring{caller: ctx, cfg: cfg}
	if err := m.enter(c, ctx, cfg.wait); err != nil {
		return nil, cfg.reportFailure(err)
	}
	m.calls(cfg)
	return m, nil
}

// enters enters the caller.
func (m *acquiring) enters() {
	m.tried++
	if m.wants = m.client.wants(m.cfg, m.callbacks); m.wants.Kind.NoWait {
		m.wants.Until = time.Now().Add(play.TryLimit)
	}
	m.ended = m.ctx.Done()
	m.waits = m.client.players.Enter(m.ctx, m)
}

// goesOn goes on once something has happened. The call is over with its lock, or with the error.
func (m *acquiring) goesOn() (over bool, lock *Lock, err error) {
	defer func() {
		if over {
			m.end()
		}
	}()
	over = true // if a request has panicked
	is, turn, err := m.waits.Next()
	if !is || m.again(err) {
		over = false
		return over, nil, nil
	}
	lock, err = m.played(turn, err)
	return over, lock, err
}

// again makes another try of a caller that does not wait, if the last one found the lock busy or the table
// unavailable. It reports whether it does.
func (m *acquiring) again(err error) bool {
	wait, last := m.cfg.patience(), m.waits
	tries, _ := wait.Tries()
	if err == nil || m.tried >= tries || last.Orphan() != nil || !errors.Is(err, play.ErrBusy) && !table.Transient(err) {
		return false
	}
	ctx := m.Bind()
	if !retry.Sleep(ctx, wait.Pause(random.Float64(ctx))) {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, play.TryLimit/2)
	defer cancel()
	last.Cleaned(limited) // what a try has left may be in the way of the next
	m.enters()
	return true
}

// played makes the lock of what a caller has got, or makes another attempt, or returns the error.
func (m *acquiring) played(turn *play.Lock, err error) (*Lock, error) {
	c, ctx, w, last := m.client, m.ctx, m.waits, m.waits.Status()
	if err != nil {
		err = c.acquireError(ctx, m.cfg, err, last)
		if orphan := w.Orphan(); orphan != nil {
			err = errors.Join(err, &UnreleasedError{Key: keyOf(m.cfg.queue), Ticket: orphan.Ticket, Err: orphan.Err})
		}
		return m.concluded(nil, w.Tried(), m.cfg.keeps(err, w.Kept()))
	}
	if m.cfg.resume != nil {
		m.cfg.mode = turn.Mode() // as the record says
	}
	c.granted(ctx, m.cfg, turn.Ticket(), turn.Handover())
	// served while the caller gave up: give it back
	if failed := m.callbacks.Close(); failed || c.over(ctx) != nil && (m.cfg.keep == nil || c.over(c.ctx) != nil) {
		last.Serving = nil
		err = c.acquireError(ctx, m.cfg, ctx.Err(), last)
		if end := turn.GiveBack(ctx); !turn.Final() {
			err = errors.Join(err, publicError(end))
		}
		w.Cleared()
		return m.concluded(nil, true, err)
	}
	return c.deliver(turn, m.cfg), nil
}

// deliver makes the Lock of a turn that is returned to the caller.
func (c *Client) deliver(turn *play.Lock, cfg *settings) *Lock {
	lock := &Lock{held{turn: turn, maxData: cfg.maxData()}}
	if warnings := cfg.warnings; len(warnings) > 0 {
		turn.Warns(cfg.margins(), func(margin int) { warnings[margin].call(lock) })
	}
	return lock
}

// concluded returns the lock, or makes another attempt, or returns the error.
func (m *acquiring) concluded(lock *Lock, tried bool, err error) (*Lock, error) {
	if m.cfg.again(m.caller, tried, err) {
		m.end()
		m.cfg.wait = waitpolicy.NoWait
		return m.client.serve(m.caller, m.cfg)
	}
	return lock, m.cfg.reportFailure(err)
}

func (m *acquiring) Values() context.Context { return m.caller }

func (m *acquiring) Queue() *table.Queue { return &m.cfg.queue }

func (m *acquiring) Wants() *play.Wants { return m.wants }

func (m *acquiring) Progress() func(play.Progress) {
	if m.wants.Kind.NoWait {
		return nil
	}
	return m.client.progress(m.cfg, m.callbacks)
}

func (m *acquiring) Log() *notify.Log { return m.cfg.log }

// Do runs fn while it holds the lock, and releases the lock afterwards, also after a panic. fn's context is
// cancelled when the lock is lost, when ctx ends and by Close, which waits for fn; context.Cause says why. Returns
//
//   - Acquire's error if the lock was not acquired. fn was not called.
//   - fn's error joined with Release's, which matches [ErrLost] if the lock was lost.
func (c *Client) Do(ctx context.Context, key Key, wait waitpolicy.Wait,
	fn func(context.Context, *Lock) error, opts ...AcquireOption) (err error) {
	if fn == nil {
		return errors.New("queuelock: Do: the function is nil")
	}
	lock, err := c.Acquire(ctx, key, wait, opts...)
	if err != nil {
		return err
	}
	held, end, err := c.do(ctx, lock.turn)
	defer end()
	defer func() {
		end := lock.Release(ctx)
		if _, lost := end.(*LostError); !lost || !errors.Is(err, end) { // else fn has returned the loss
			err = errors.Join(err, end)
		}
	}()
	if err != nil {
		return err
	}
	return fn(held, lock)
}

// do enters a function of Do. Its context ends with ctx, the lock and the client. Close leaves the lock until end.
func (c *Client) do(ctx context.Context, s *play.Lock) (held context.Context, end func(), _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, func() {}, ErrClosed
	}
	c.functions.Enter()
	c.doing[s] = true
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })
	held, release := s.Within(ctx)
	return held, func() {
		release()
		unhook()
		cancel(nil)
		c.mu.Lock()
		delete(c.doing, s)
		c.mu.Unlock()
		c.functions.Leave()
	}, nil
}

// Close cancels all waiters and the functions of Do, and releases all locks: those of Do when their function has
// returned, and until then it renews their leases. It waits for them and for background work until ctx ends, so give it
// a deadline. A function must not call it. Locks of functions that still run then are released, and the error says so.
// The releases have Config.RequestTimeout even then, and the Logger and the Observer have one second. Other calls then
// return [ErrClosed]. Returns the errors of the releases, and one for each kind of work that still runs. Leases end
// what was not released, unless it fails closed. Another call repeats what failed.
func (c *Client) Close(ctx context.Context) error {
	if err := c.made(); err != nil {
		return fmt.Errorf("queuelock: %w", err)
	}
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel(ErrClosed)
	c.players.Close()
	var errs []error
	if err := c.calls.Wait(ctx); err != nil {
		errs = append(errs, fmt.Errorf("queuelock: close: waiters have not left yet: %w", err))
	}
	idle, busy := c.held()
	releases := c.release(ctx, idle)
	if err := c.functions.Wait(ctx); err != nil {
		errs = append(errs, fmt.Errorf("queuelock: close: functions of Do still run, and their locks are released: %w", err))
	}
	end, err := releases.wait()
	defer end()
	errs = append(errs, err)
	left := c.locks()
	busy = slices.DeleteFunc(busy, func(s *play.Lock) bool { return !slices.Contains(left, s) })
	end, err = c.release(ctx, busy).wait()
	defer end()
	errs = append(errs, err)
	if err := c.background.Wait(ctx); err != nil {
		errs = append(errs, fmt.Errorf("queuelock: close: requests or callbacks are still under way: %w", err))
	}
	const logGrace = time.Second
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), logGrace)
	defer cancel()
	if err := c.log.Wait(patient); err != nil {
		errs = append(errs, fmt.Errorf("queuelock: close: %w", err))
	}
	return errors.Join(errs...)
}

// locks returns those that are held or not yet released.
func (c *Client) locks() []*play.Lock { return c.players.Locks() }

// together returns what all callers of the client have in common.
func (c *Client) together() play.Config {
	return play.Config{
		Most: c.cfg.Block, Names: c.cfg.WaiterTTL <= c.cfg.TTL,
		Schedule: c.cfg.Poll, Timeout: c.cfg.RequestTimeout, Attention: c.cfg.attention(),
		Store: c.store, Name: func(q table.Queue) fmt.Stringer { return keyOf(q) }, Closed: c.ctx,
		Observer: c.observer, Log: c.cfg.Logger, Background: c.background.Run, Local: c.local, Released: ErrReleased,
		Lost: func(q table.Queue, t ticket.Number, loss *heartbeat.LossError) error {
			return &LostError{Key: keyOf(q), Ticket: t, Cause: loss.Cause, Err: loss.Err}
		},
		Unknown: func(q table.Queue, err, ctx, end error) error {
			return &UnknownOutcomeError{Key: keyOf(q), Err: err, Ctx: ctx, End: end}
		},
	}
}

// held returns the locks that are held or not yet released, and apart from them those of functions of Do.
func (c *Client) held() (idle, busy []*play.Lock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.locks() {
		if c.doing[s] {
			busy = append(busy, s)
		} else {
			idle = append(idle, s)
		}
	}
	return idle, busy
}

// releases are releases by Close.
type releases struct {
	all  group.All
	errs []error
}

// release begins to release locks, concurrently.
func (c *Client) release(ctx context.Context, held []*play.Lock) *releases {
	r := &releases{errs: make([]error, len(held))}
	for i, s := range held {
		ctx := random.Fork(ctx)
		r.all.Go(func() {
			if err := s.Release(ctx); err != nil {
				r.errs[i] = fmt.Errorf("queuelock: close: release %s: %w", keyOf(s.Queue()), publicError(err))
			}
		})
	}
	return r
}

// wait waits until all have ended. end raises the panic of a request.
func (r *releases) wait() (end func(), err error) {
	end = r.all.Wait()
	return end, errors.Join(r.errs...)
}

// errWaitOver is the cause of a context that ended because the wait is over.
var errWaitOver = errors.New("the wait is over")

// call is an acquire under way.
type call struct {
	client    *Client
	ctx       context.Context         // that of the caller, bounded by the wait, and by more once it is bound
	stop      context.CancelFunc      // of the limit of the wait; nil: there is none
	cancel    context.CancelCauseFunc // nil: it is not bound
	unhook    func() bool             // from Close
	callbacks *callback.Caller        // nil: there are none
	ended     bool
}

// begin enters a call that makes requests, which ends with end.
func (c *Client) begin(ctx context.Context, wait waitpolicy.Wait) (*call, error) {
	begun := &call{}
	if err := begun.enter(c, ctx, wait); err != nil {
		return nil, err
	}
	begun.Bind()
	return begun, nil
}

// enter enters a call.
func (c *call) enter(client *Client, ctx context.Context, wait waitpolicy.Wait) error {
	if !client.open() {
		return ErrClosed
	}
	c.client, c.ctx = client, ctx
	if limit, limited := wait.Limit(); limited && !wait.IsNoWait() {
		c.ctx, c.stop = context.WithTimeoutCause(ctx, limit, errWaitOver)
	}
	return nil
}

// Bind lets the context of a call end with Close, and with a callback that panics, and returns it. A caller that rests
// in a block does without: that needs memory.
func (c *call) Bind() context.Context {
	if c.cancel == nil {
		c.ctx, c.cancel = context.WithCancelCause(c.ctx)
		c.unhook = context.AfterFunc(c.client.ctx, c.close)
	}
	return c.ctx
}

// open enters a call, unless Close has begun.
func (c *Client) open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.calls.Enter()
	}
	return !c.closed
}

// calls lets the call call the functions of its options.
func (c *call) calls(cfg *settings) {
	if cfg.progress != nil || cfg.placed != nil {
		c.Bind()
		c.callbacks = callback.New(c.cancel, c.client.background.Run)
	}
}

func (c *call) close() { c.cancel(ErrClosed) }

// end ends the call once. The panic of a callback continues in its goroutine.
func (c *call) end() {
	if !c.ended {
		c.ended = true
		defer c.leave()
		c.callbacks.Raise()
	}
}

func (c *call) leave() {
	if c.cancel != nil {
		c.unhook()
		c.cancel(nil)
	}
	if c.stop != nil {
		c.stop()
	}
	c.client.calls.Leave()
}

// again reports whether another attempt follows, without waiting: the wait was over before the first request.
func (s *settings) again(ctx context.Context, tried bool, err error) bool {
	again := !s.second && !tried && errors.Is(err, ErrNotAcquired) && ctx.Err() == nil &&
		time.Since(s.begun) < s.RequestTimeout
	s.second = s.second || again
	return again
}

// over returns why the caller of an acquire no longer wants the lock, or nil. Close releases the locks that are listed
// when it begins, and ends ctx a moment later. A lock that is listed in between finds the end of the client here.
func (c *Client) over(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && cause != errWaitOver {
		return cause
	}
	return context.Cause(c.ctx)
}

// prepare checks the arguments of a call, and sets its queue.
func (k Key) prepare(c *Client, cfg *settings) error {
	key := k.normal()
	var misuse error
	if cfg.createItem {
		misuse = errors.New("CreateItem is for LockItem only")
	}
	name := table.ValidName(key.Entity, key.Reason)
	if err := cmp.Or(c.made(), name, cfg.wait.Validate(), cfg.validate(), misuse); err != nil {
		return fmt.Errorf("queuelock: %w", err)
	}
	cfg.queue = c.store.Within(cfg.RequestTimeout).Queue(key.Entity, key.Reason, nil)
	cfg.queue.Forget = cfg.Forget
	return nil
}

// made refuses a Client that New has not made.
func (c *Client) made() error {
	if c == nil || c.store == nil {
		return errors.New("the Client is empty: New makes one")
	}
	return nil
}

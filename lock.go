package queuelock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/ticket"
)

// Lock is a lock that was acquired. It is held until Release, or until it is
// lost. Its methods are safe for concurrent use.
type Lock struct {
	client  *Client
	key     Key
	queue   table.Queue
	terms   lease.Terms
	mode    serving.Mode // as it was acquired
	id      string
	ticket  ticket.Number
	claimed bool      // it came after a wait in the queue
	resumed bool      // it was another's before
	since   time.Time // when it was granted, on the local clock

	ctx      context.Context
	cancel   context.CancelCauseFunc
	keeper   *heartbeat.Keeper
	renewals *lease.Renewals // the keeper's alone: one renewal at a time

	mu   sync.Mutex
	seen serving.Record // guarded by mu; the record as last seen
	// shared says that it is known to be held together with others, and alone
	// that it is certain not to be: after a Downgrade of unknown outcome neither
	// is. Guarded by mu.
	shared, alone bool
	end           error // guarded by mu; why it is not held any more

	given    chan struct{} // closed when Acquire returns it
	over     chan struct{} // closed with released
	released bool          // guarded by mu; Release was called, whatever came of it

	dataSet int64 // guarded by mu; which SetData was the last to begin
	maxData int   // of SetData

	granted table.Item    // the item, if it is one of the caller's own, as it was granted
	marks   serving.Marks // of the record, as it was granted

	releases  int64        // guarded by mu; how many calls have begun to release it
	unsettled *transaction // guarded by mu; the last one, if it may still become visible
	parting   partingState // guarded by mu; of an UpdateAndRelease

	// writes lets one protected transaction at a time through, and guards made,
	// the number of the last, and denied: the last, if it was refused for good. It
	// is kept across requests.
	writes chan struct{}
	made   int64
	denied *transaction

	// gate lets one Release at a time through, and guards settled and
	// result: what came of the one that needs no repetition. It is no mutex because it
	// is kept across a request.
	gate    chan struct{}
	settled bool
	result  error
}

// hold makes a Lock of a grant and starts its heartbeat.
func (c *Client) hold(ctx context.Context, key Key, cfg settings, q table.Queue, grant waiter.Grant) *Lock {
	ctx = random.Fork(context.WithoutCancel(ctx))
	l := &Lock{
		client: c, key: key.normal(), queue: q, terms: cfg.holderTerms(), mode: cfg.mode,
		id: grant.ID, ticket: grant.Ticket, maxData: cfg.maxData(), claimed: grant.Claimed, resumed: grant.Resumed, since: grant.Sent, seen: grant.Record,
		gate: make(chan struct{}, 1), writes: make(chan struct{}, 1), given: make(chan struct{}), over: make(chan struct{}),
	}
	l.terms.Delay = max(l.terms.Delay, grant.Lease.Delay) // of a lock that was resumed
	l.granted, l.marks, l.seen.Item = grant.Record.Item, grant.Record.Marks, nil
	if me, ok := grant.Record.Mine(grant.ID); ok {
		l.dataSet = me.DataSet
	}
	l.shared, l.alone = cfg.mode.Shared, cfg.mode == serving.Mode{}
	l.renewals = lease.NewRenewals(l.terms, q.Clock(), grant.Lease)
	inner, cancel := context.WithCancelCause(ctx)
	l.ctx, l.cancel = lockContext{inner, l, cancel}, cancel
	first := l.terms.Interval
	if grant.Lease.Until.IsZero() && !l.terms.FailClosed {
		// It was granted before DynamoDB's time was known, so its entry does not
		// say when the lease ends, and whoever waits must watch for a whole
		// one. That is mended early, but late enough for a short turn to cost
		// no request more.
		first = min(first, l.terms.TTL/10, time.Second)
	}
	if others := cfg.mode.Permits > 1 || cfg.mode.Shared; others && first == l.terms.Interval {
		// Their entries are in one item, and many may be granted at once.
		first -= time.Duration(random.Float64(ctx) * float64(first/2))
	}
	l.keeper = heartbeat.Start(ctx, grant.Sent, heartbeat.Config{
		TTL: l.terms.TTL, Interval: l.terms.Interval, Margin: l.terms.Margin, First: first,
		Warnings: l.warnings(cfg.dangers), Endless: l.terms.FailClosed, Spread: lease.Spread,
	}, l.renew)
	c.mu.Lock()
	c.locks[l] = struct{}{}
	c.mu.Unlock()
	c.background.Run(l.watch)
	return l
}

// String prints the lock for people: "order-7" (lock) ticket 12.
func (l *Lock) String() string { return fmt.Sprintf("%s ticket %s", l.key, l.ticket) }

// Key is what is locked.
func (l *Lock) Key() Key { return l.key }

// Ticket is the lock's number in its queue, and its fencing token: it is
// greater than that of every holder before, and less than that of every one
// after. It stays the same after the lock has ended.
func (l *Lock) Ticket() ticket.Number { return l.ticket }

// Context carries the values of the context given to Acquire, but not its end:
// it is cancelled when the lock is lost or released, and context.Cause says
// which, by ErrLost or ErrReleased. Its Err looks at the clock: a process that
// stood still past its lease learns it there at once.
func (l *Lock) Context() context.Context { return l.ctx }

// Done is closed when the lock is lost or released.
func (l *Lock) Done() <-chan struct{} { return l.ctx.Done() }

// Err is nil while the lock is held, a *LostError after it was lost, and
// ErrReleased after it was released. It looks at the clock, and makes no
// request.
func (l *Lock) Err() error {
	if err := l.keeper.Check(); err != nil {
		l.lose(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// lockContext is a context that ends with a lock. Whoever asks it for its
// error has the lock's deadline looked at first: a process that stood still
// may ask before its timers fire.
type lockContext struct {
	context.Context
	lock   *Lock
	cancel context.CancelCauseFunc
}

func (c lockContext) Err() error {
	if err := c.lock.Err(); err != nil {
		c.cancel(err)
	}
	return c.Context.Err()
}

// within derives a context from ctx that also ends with the lock.
func (l *Lock) within(ctx context.Context) (context.Context, func()) {
	inner, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return lockContext{inner, l, cancel}, func() { unhook(); cancel(nil) }
}

// renew is the lock's heartbeat: HEARTBEAT of the protocol, one request.
func (l *Lock) renew(ctx context.Context) error {
	sent := time.Now()
	until := l.renewals.Next(sent)
	rec, err := serving.Heartbeat(ctx, l.queue, l.id, l.ticket, serving.Renewal{
		Until: until,
		Since: lease.Middle(l.queue.Clock(), l.since),
	})
	if errors.Is(err, serving.ErrRefused) {
		if l.parted(rec) {
			return errParted
		}
		return fmt.Errorf("%w: it is not in the serving record", heartbeat.ErrEvicted)
	}
	if err != nil {
		return err
	}
	l.saw(rec)
	if !l.terms.Stands(l.queue.Clock(), until, sent, time.Now()) {
		return errors.New("DynamoDB's clock is ahead of what the renewal was reckoned by: this host was suspended, or a date was wrong")
	}
	return nil
}

// saw takes in a record in which the lock stands, as a request of its own has
// returned it. It may be older than the one before. One that could not be read
// says nothing.
func (l *Lock) saw(rec serving.Record) {
	if rec.Problem != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen, l.seen.Item = rec, nil
	if me, ok := rec.Mine(l.id); ok && me.Shared {
		l.shared, l.alone = true, false
	}
}

// watch cancels the lock's context when the heartbeat reports its loss.
func (l *Lock) watch() {
	select {
	case <-l.keeper.Lost():
		l.lose(l.keeper.Err())
	case <-l.ctx.Done():
	}
	l.keeper.Stop()
}

// lose ends a lock that is still held, because its lease is lost.
func (l *Lock) lose(err error) {
	loss := &LostError{Key: l.key, Ticket: l.ticket}
	if how, ok := errors.AsType[*heartbeat.LossError](err); ok {
		loss.Cause, loss.Err = how.Cause, how.Err
	}
	if !l.finish(loss) {
		return
	}
	l.client.forget(l)
	l.client.cfg.Logger.Error("queuelock: lost a lock", "queue", l.queue.String(), "ticket", l.ticket, "cause", loss.Cause, "error", loss.Err)
}

// finish ends a lock that is still held, and its context, for that reason. It
// reports whether it was still held.
func (l *Lock) finish(reason error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if reason == ErrReleased && !l.released {
		l.released = true
		close(l.over)
	}
	if l.end != nil {
		return false
	}
	l.end = reason
	l.cancel(reason)
	return true
}

// wasGiven reports whether Acquire has returned the lock: nothing was done under
// one that was not.
func (l *Lock) wasGiven() bool {
	select {
	case <-l.given:
		return true
	default:
		return false
	}
}

// forget takes a lock off the list of those that Close releases.
func (c *Client) forget(l *Lock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.locks, l)
}

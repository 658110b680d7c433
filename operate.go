package queuelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/listing"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// AnyKey names a queue: a [Key], or an [ItemKey] for that of an item's lock.
type AnyKey interface {
	fmt.Stringer
	prepare(*Client, *settings) error
}

// Viewer looks at queues and changes nothing: it needs the permissions of the role "observer" only, and for the queue
// of an item GetItem on the item's table.
type Viewer struct{ client *Client }

// Operator looks at queues and repairs them, by the permissions of the role "operator". It acquires nothing.
type Operator struct{ Viewer }

// Viewer returns the calls of the client that look at queues. They end with Close.
func (c *Client) Viewer() Viewer { return Viewer{c} }

// Operator returns the calls of the client that look at queues and repair them. They end with Close.
func (c *Client) Operator() Operator { return Operator{Viewer{c}} }

// enter begins a call on a queue that acquires nothing.
func (c *Client) enter(ctx context.Context, key AnyKey) (
	bounded context.Context, q table.Queue, end func(), err error) {
	if err := c.made(); err != nil {
		return nil, q, nil, fmt.Errorf("queuelock: %w", err)
	}
	if isNil(key) {
		return nil, q, nil, errors.New("queuelock: the key is nil")
	}
	cfg := with[AcquireOption](c, nil)
	if err := key.prepare(c, cfg); err != nil {
		return nil, q, nil, err
	}
	call, err := c.begin(ctx, waitpolicy.Forever)
	if err != nil {
		return nil, q, nil, err
	}
	return call.ctx, cfg.queue, call.end, nil
}

// Inspect returns the holders and the waiters, in order, as one consistent query shows them. It changes
// nothing. Of an item it reads the item, which has the holder, and the rows. A missing item has issued no ticket.
func (v Viewer) Inspect(ctx context.Context, key AnyKey) (*queue.State, error) {
	c := v.client
	ctx, q, end, err := c.enter(ctx, key)
	if err != nil {
		return nil, err
	}
	defer end()
	snapshot, err := requests.LookAll(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("queuelock: inspect %s: %w", keyOf(q), err)
	}
	return c.observer.State(q.Items, snapshot), nil
}

// ScanConfig says how Queues reads the table. The zero value reads all of it as fast as it can.
type ScanConfig struct {
	// Prefix begins the entities of the queues. Empty means all. A prefix makes the scan no cheaper.
	Prefix string
	// Segments is the number of requests at a time. Zero means 4. At most 1000.
	Segments int
	// MaxRate bounds the read units in a second, on average. Zero means no bound.
	MaxRate float64
	// OnPage receives the read units of each page, one call at a time. Nil means none.
	OnPage func(units float64)
}

// Queues scans the table and returns its queues, in no order, each as its page of the scan showed it. The scan
// costs one read unit for each 4 KB of the table, however few queues match. A queue of LockItem is found by its
// waiters only, because its holder is in the item. The SDK client must have the method Scan. Yields
//
//   - a state with Entity and Reason alone, and a [*queue.MalformedError], if another program wrote the record. The
//     scan goes on.
//   - nil and a [*queue.TableError] at the first page that shows other keys than Config.Attributes.
//   - nil and [ErrClosed] after Close, or any other error if the table failed or ctx ended. The scan is over.
func (v Viewer) Queues(ctx context.Context, cfg ScanConfig) iter.Seq2[*queue.State, error] {
	c := v.client
	return func(yield func(*queue.State, error) bool) {
		scan := listing.Config{
			Prefix: cfg.Prefix, Segments: cmp.Or(cfg.Segments, 4), Rate: cfg.MaxRate, OnPage: cfg.OnPage,
			Timeout: minRetryTimeout,
		}
		err := c.made()
		if scan.Segments < 0 || scan.Segments > 1000 || !(scan.Rate >= 0) {
			err = cmp.Or(err, fmt.Errorf("ScanConfig has %d segments and %v units: 0 to 1000, and 0 or more, are possible",
				cfg.Segments, cfg.MaxRate))
		}
		if err != nil {
			yield(nil, fmt.Errorf("queuelock: %w", err))
			return
		}
		call, err := c.begin(ctx, waitpolicy.Forever)
		if err != nil {
			yield(nil, err)
			return
		}
		defer call.end()
		for found, err := range listing.Queues(call.ctx, c.store, scan) {
			var state *queue.State
			switch q := found.Queue; {
			case err != nil:
				err = fmt.Errorf("queuelock: queues: %w", err)
			case found.Err != nil:
				state, err = &queue.State{Entity: q.Entity, Reason: q.Reason}, found.Err
			default:
				state = c.observer.State(q.Items, found.Snapshot)
			}
			if !yield(state, err) {
				return
			}
		}
	}
}

// IsLocked reports whether the lock has a holder whose lease, lock delay included, has not ended, or stays closed. It
// changes nothing. The result may be stale on return; do not use it to guard a write. After false an Acquire may still
// have to wait. To take an idle lock or do without it, call Acquire with NoWait.
func (c *Client) IsLocked(ctx context.Context, key Key) (bool, error) {
	ctx, q, end, err := c.enter(ctx, key)
	if err != nil {
		return false, err
	}
	defer end()
	rec, err := requests.Get(ctx, q)
	if err != nil {
		return false, fmt.Errorf("queuelock: is %s locked: %w", keyOf(q), err)
	}
	now := time.Now()
	shown := c.observer.Holders(q.Items, rec, now, q.Clock().Middle(now))
	locked := slices.ContainsFunc(shown, func(h queue.Holder) bool { return !h.Expired() })
	if locked || rec.Unaccepted() == "" {
		return locked, nil
	}
	snapshot, err := requests.LookAll(ctx, q) // a grant by name lasts as long as the row
	if err != nil {
		return false, fmt.Errorf("queuelock: is %s locked: %w", keyOf(q), err)
	}
	state := c.observer.State(q.Items, snapshot)
	return slices.ContainsFunc(state.Serving, func(h queue.Holder) bool { return !h.Expired() }), nil
}

// Sweep removes expired holders and waiters from a queue, and makes it idle if no ticket is outstanding. Waiters do the
// same, so Sweep is for queues without waiters; package sweeper calls it in intervals.
func (o Operator) Sweep(ctx context.Context, key Key) (sweeper.Swept, error) {
	c := o.client
	ctx, q, end, err := c.enter(ctx, key)
	if err != nil {
		return sweeper.Swept{}, err
	}
	defer end()
	cfg := &settings{Config: &c.cfg, special: ordinary, queue: q}
	c.number(ctx, cfg, 0)
	log := cfg.log
	swept, err := requests.Sweeper(cfg.queue, c.observer, 0).Sweep(ctx)
	if swept.Waiters > 0 {
		notify.Send(log, event.Swept{Origin: log.Origin(ticket.Number{}), Expired: swept.Waiters, Removed: swept.Waiters})
	}
	if swept.Holders > 0 {
		notify.Send(log, event.Evicted{Origin: log.Origin(ticket.Number{}), Count: swept.Holders})
	}
	if err != nil {
		err = fmt.Errorf("queuelock: sweep %s: %w", key, err)
	}
	return swept, err
}

// Evict ends the turn of a holder as Inspect has shown it, and never that of another. First make sure that its process
// has ended: a live one works on until its next heartbeat, beside the next holder, and only its fenced writes are
// refused. There is no lock delay. An expired holder needs no Evict. Evict returns nil if the holder was found and is
// now gone, by this call or its own release, and
//
//   - [ErrClosed] after Close.
//   - [*sweeper.EvictError] if nothing was done, because the holder is gone or has renewed its lease.
//   - any other error if the table failed for 30 s, or ctx ended. The holder may be gone.
func (o Operator) Evict(ctx context.Context, key AnyKey, h queue.Holder) error {
	c := o.client
	ctx, q, end, err := c.enter(ctx, key)
	if err != nil {
		return err
	}
	defer end()
	rec, err := requests.Sweeper(q, c.observer, minRetryTimeout).Evict(ctx, h)
	if err != nil {
		return fmt.Errorf("queuelock: evict %s ticket %s: %w", keyOf(q), h.Ticket, err)
	}
	by := event.ByOperatorForce
	if h.Endless() {
		by = event.ByOperator
	}
	cfg := &settings{Config: &c.cfg, special: ordinary, queue: q}
	c.number(ctx, cfg, 0)
	log := cfg.log
	if !h.Closed { // else it opens a queue
		origin := log.Origin(ticket.Number{})
		notify.Send(log, event.Evicted{Origin: origin, Count: 1, Holder: h.Ticket, Owner: h.Owner, By: by})
	}
	c.players.Woken(q)
	if rec.CanIdle() {
		c.background.Run(func() {
			_ = requests.Sweeper(q, c.observer, 0).MakeIdle(context.WithoutCancel(ctx), rec) // a failure does no harm
		})
	}
	return nil
}

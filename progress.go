package queuelock

import (
	"time"

	"github.com/queuelock/queuelock/internal/callback"
	"github.com/queuelock/queuelock/internal/picture"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Progress is the place of a waiting Acquire, as its last look showed it.
type Progress struct {
	Key    Key
	Ticket ticket.Number
	// Position is the place among the waiters. 1 is next.
	Position int
	// TicketsAhead counts the earlier tickets that can still be served: waiters ahead, waiters
	// without a row yet, and some that have given up. With a wider Config.Scope it is Position-1.
	TicketsAhead int
	// Serving is the holder with the lowest ticket, or nil.
	Serving *queue.Holder
	// Waited is the time for which Acquire has tried.
	Waited time.Duration
	// EstimatedWait is a guess from the rate of recent turns. Zero if no rate is known, and if the
	// turn may come at any time.
	EstimatedWait time.Duration
}

// waiter returns the configuration of an acquire in the queue. calls makes its callbacks.
func (c *Client) waiter(cfg settings, q table.Queue, calls *callback.Caller) waiter.Config {
	config := waiter.Config{
		Queue: q, Counter: cfg.counter(q), Observer: c.observer, Local: c.local, Log: cfg.Logger,
		Entry:    waiter.Entry{Owner: cfg.Owner, Data: cfg.data, Mode: cfg.waiterMode(), Terms: cfg.grantTerms()},
		Row:      cfg.rowTerms(),
		Schedule: cfg.Poll, RetryTimeout: max(cfg.TTL, minRetryTimeout), Background: c.background.Run, Resume: cfg.resume,
	}
	key := keyOf(q)
	if cfg.progress != nil {
		config.Progress = func(w waiter.Progress) {
			p := Progress{
				Key: key, Ticket: w.Status.Ticket, Position: w.Status.Ahead + 1, TicketsAhead: w.Tickets,
				Serving: c.served(q, w.Status), Waited: time.Since(cfg.begun), EstimatedWait: w.Wait,
			}
			calls.Call(key, func() { cfg.progress(p) })
		}
	}
	if cfg.placed != nil {
		config.Placed = func(h waiter.Handle) <-chan struct{} {
			returned := make(chan struct{})
			calls.Call(nil, func() { cfg.placed(newHandle(key, cfg.mode, h)); close(returned) })
			return returned
		}
	}
	return config
}

// served returns the holder that a waiter saw last, or nil. Its ages are of now.
func (c *Client) served(q table.Queue, last waiter.Status) *queue.Holder {
	return picture.Seen(q, last.Serving, c.observer, last.SeenAt)
}

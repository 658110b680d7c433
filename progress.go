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

// Progress is the place of a waiting Acquire, as the last look showed it.
type Progress struct {
	Key    Key
	Ticket ticket.Number
	// Position is its place among the waiters: 1 is next.
	Position int
	// TicketsAhead is how many tickets were issued before its own that can
	// still be served: those of the waiters ahead, of waiters whose rows are
	// still on their way, and of some who have given up. Never less than
	// Position-1, but for rows that some other program wrote. With a wider
	// Config.Scope it is Position-1: other tickets are of other queues.
	TicketsAhead int
	// Serving is who is being served, of several the one with the lowest ticket;
	// nil if nobody is.
	Serving *queue.Holder
	// Waited is for how long Acquire has tried.
	Waited time.Duration
	// EstimatedWait is how long it will take at the rate at which this waiter
	// has seen others served, or, before it has, at which recent turns ended. A
	// guess, of which nothing is promised. Zero if no rate is known, and if the
	// turn may come at any moment.
	EstimatedWait time.Duration
}

// progress returns the receiver of a waiter's Progress, which calls f; nil if f is.
func (c *Client) progress(calls *callback.Caller, f func(Progress), key Key, q table.Queue, begun time.Time) func(waiter.Progress) {
	if f == nil {
		return nil
	}
	key = key.normal()
	return func(w waiter.Progress) {
		p := Progress{
			Key: key, Ticket: w.Status.Ticket, Position: w.Status.Ahead + 1, TicketsAhead: w.Tickets,
			Serving: c.served(q, w.Status), Waited: time.Since(begun), EstimatedWait: w.Wait,
		}
		calls.Call(key, func() { f(p) })
	}
}

// served is the holder that a waiter saw last, or nil. Its ages are of now.
func (c *Client) served(q table.Queue, last waiter.Status) *queue.Holder {
	return picture.Seen(q, last.Serving, c.observer, last.SeenAt)
}

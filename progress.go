package queuelock

import (
	"time"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/ticket"
)

// Progress is where an Acquire stands that waits, as its last look showed it.
type Progress struct {
	Key    Key
	Ticket ticket.Number
	// Position is its place among those who wait: 1 is next.
	Position int
	// TicketsAhead is how many tickets were issued before its own that can
	// still be served: those of the waiters ahead, of waiters whose rows are
	// still on their way, and of some who have given up. Never less than
	// Position-1, but for rows that some other program wrote. With a wider
	// Config.Scope it is Position-1: other tickets are of other queues.
	TicketsAhead int
	// Serving is who is being served, of several the one with the lowest ticket;
	// nil if nobody is.
	Serving *Holder
	// Waited is for how long Acquire has tried.
	Waited time.Duration
	// EstimatedWait is how long it will take at the rate at which this waiter
	// has seen others served, or, before it has, at which recent turns ended. A
	// guess, of which nothing is promised. Zero if no rate is known, and if the
	// turn may come at any moment.
	EstimatedWait time.Duration
}

// OnProgress has f told where a waiting Acquire stands: when it has begun to
// wait, and after each look that has changed its ticket, its place, the tickets
// ahead, who is served, or that one's data. None by default, or with nil. Given
// twice, the last counts. It makes no request, and no look comes earlier for it.
//
// f is called by the goroutine that called Acquire, so never after Acquire has
// returned, and never for one that does not wait: an idle lock, or NoWait. It
// should return soon, since the next look waits for it; it must not call Close,
// which waits for Acquire. A panic of f leaves the queue.
//
// All Acquires of one client share one poller for each queue. One that is
// behind another of its client does not look: it is told once, by its ticket
// alone, where it stands at the most, and again when it is the first of them.
// (With a wider Config.Scope it is told how many of its client are ahead.)
func OnProgress(f func(Progress)) Option { return func(o *options) { o.progress = f } }

// progress is what a waiter is given to tell; nil if nobody listens.
func (c *Client) progress(f func(Progress), key Key, q table.Queue, begun time.Time) func(waiter.Progress) {
	if f == nil {
		return nil
	}
	return func(p waiter.Progress) {
		f(Progress{
			Key: key.normal(), Ticket: p.Ticket, Position: p.Ahead + 1, TicketsAhead: p.Tickets,
			Serving: c.served(q, p.Standing), Waited: time.Since(begun), EstimatedWait: p.Wait,
		})
	}
}

package waiter

import (
	"github.com/queuelock/queuelock/queue"
)

// Hand-over by name: a holder that has read the row with the next ticket grants the lock to it as it releases. The entry
// has the lease of that row. Its waiter holds the lock when a look shows the entry, without a request. It keeps the row
// until its session has accepted the grant by a heartbeat, or has ended, so that a grant to a waiter that has left is
// known by its missing row.

// nameable reports whether a release may grant the lock to the waiter's row. Not if its entry has more than a row
// says, if it may see it too late, or if the tickets between are of other queues.
func (w *Waiter) nameable() bool {
	e, t, c := w.cfg.Entry, w.cfg.Entry.Terms, w.cfg
	plain := e.Mode == (queue.Mode{}) && len(e.Data) == 0 && t.Delay == 0 && !t.FailClosed && !e.Unnamed
	own := c.Counter == nil && c.Queue.Home == nil && c.Resume == nil
	prompt := t.Interval > 0 && c.Row.TTL <= t.TTL && c.Schedule.SlowestNext <= c.Row.TTL/4
	return plain && own && prompt
}

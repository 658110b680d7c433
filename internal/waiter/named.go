package waiter

import (
	"slices"
	"sync"
	"time"

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

// ends are the ends of a row's lease that were written, and when their requests were sent. It is safe for concurrent use.
type ends struct {
	mu  sync.Mutex
	all []end // guarded by mu
}

type end struct{ until, sent time.Time }

// add adds the end of a lease of that length, and drops those that are over.
func (e *ends) add(until, sent time.Time, ttl time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = slices.DeleteFunc(e.all, func(old end) bool { return sent.Sub(old.sent) > ttl })
	e.all = append(e.all, end{until, sent})
}

// sent returns when the first request with that end was sent.
func (e *ends) sent(until time.Time) (at time.Time, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, end := range e.all {
		if end.until.UnixMilli() == until.UnixMilli() {
			return end.sent, true
		}
	}
	return at, false
}

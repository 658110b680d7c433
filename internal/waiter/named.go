package waiter

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/dbclock"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Hand-over by name: a holder that has read the row with the next ticket grants the lock to it as it releases. The entry
// has the lease of that row. Its waiter holds the lock when a look shows the entry, without a request. It keeps the row
// until its session has accepted the grant by a heartbeat, or has ended, so that a grant to a waiter that has left is
// known by its missing row.

const (
	// AcceptAfter is when a session accepts a grant by name, at the latest.
	AcceptAfter = 2 * time.Second
	// acceptedWithin is when a grant by name has usually been accepted. After that a caller that will not wait looks
	// whether its waiter has left.
	acceptedWithin = AcceptAfter + time.Second
)

// nameable reports whether a release may grant the lock to the waiter's row. Not if its entry has more than a row
// says, if it may see it too late, or if the tickets between are of other queues.
func (w *Waiter) nameable() bool {
	e, t, c := w.cfg.Entry, w.cfg.Entry.Terms, w.cfg
	plain := e.Mode == (queue.Mode{}) && len(e.Data) == 0 && t.Delay == 0 && !t.FailClosed && !e.Unnamed
	own := c.Counter == nil && c.Queue.Home == nil && c.Resume == nil
	prompt := t.Interval > 0 && c.Row.TTL <= t.TTL && c.Schedule.SlowestNext <= c.Row.TTL/4
	return plain && own && prompt
}

// entryID returns the id of the entry by which the lock may be granted to ticket t.
func (w *Waiter) entryID(t ticket.Number) string { return w.id + "-n" + t.String() }

// expected reports whether the present holder has probably read the waiter's row, and will name it: the row was there
// before its turn. A CLAIM would be refused.
func (w *Waiter) expected() bool {
	if w.turn.local != nil && w.turn.local.Named() {
		return true
	}
	return w.turn.foreseen && w.next() && len(w.snapshot.Record.Holders) == 1 &&
		time.Since(w.progress.pace.Moved()) < waitpolicy.NamedWithin
}

// observe shows the leases of the snapshot to the observer. The grant to a waiter that has left counts as expired.
func (w *Waiter) observe() queue.Leases {
	leases := w.cfg.Observer.Leases(w.cfg.Queue.Items, w.snapshot)
	var suspects map[string]int
	for i, h := range w.snapshot.Record.Holders {
		if h.Accepted() {
			continue
		}
		look, known := w.suspects[h.ID]
		switch {
		case !known:
			look = w.looks
		case look < w.looks && w.doubts(h):
			leases.Holders[i] = 0
		}
		if suspects == nil {
			suspects = map[string]int{}
		}
		suspects[h.ID] = look
	}
	w.suspects = suspects
	return leases
}

// doubts reports whether the snapshot shows no sign of life of a holder. A second look proves it.
func (w *Waiter) doubts(h queue.Holder) bool {
	return h.Ticket.Less(w.ticket) && w.snapshot.Abandoned(h)
}

// overdue returns the holder whose grant by name should have been accepted for long.
func (w *Waiter) overdue(rec queue.Record) (overdue queue.Holder, ok bool) {
	earliest, _, known := w.cfg.Queue.Clock().At(time.Now())
	for _, h := range rec.Holders {
		if known && !h.Accepted() && !h.Since.IsZero() && earliest.Sub(h.Since) > acceptedWithin {
			return h, true
		}
	}
	return overdue, false
}

// abandoned returns the holder if its waiter has left before it saw its grant by name, by a look of its own.
func (w *Waiter) abandoned(ctx context.Context, h queue.Holder) (gone []queue.Holder, err error) {
	next, err := h.Ticket.Next()
	if err != nil {
		return nil, nil
	}
	s, err := rows.Look(ctx, w.cfg.Queue, next, ticket.Number{})
	if err != nil {
		return nil, err
	}
	if now, ok := s.Record.Mine(h.ID); ok && s.Abandoned(now) {
		gone = append(gone, now)
	}
	return gone, nil
}

// Successor returns the grant by which the release hands over by name. ok is false if the row with the next ticket is
// not known, or if turns are usually so long that its waiter may sleep through the grant.
func (g *Grant) Successor(turn queue.HoldTime, clock *dbclock.Clock, now time.Time) (next queue.Next, ok bool) {
	if g.next == nil || now.Sub(g.nextAt) > waitpolicy.NamedWithin || turn.Mean > g.next.Lease.TTL/8 {
		return queue.Next{}, false
	}
	_, latest, _ := clock.At(now) // zero if it is not known
	return g.next.GrantByName(g.ID, latest, clock.Middle(now))
}

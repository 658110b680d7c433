package waiter

import (
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Grant is a lock that was granted.
type Grant struct {
	ID     string
	Ticket ticket.Number
	Sent   time.Time   // of the request that was granted, from which the lease counts; see Deadline
	Lease  queue.Lease // of the entry
	// A grant by name has the rest of the lease of a row: Deadline is its end for the owner, and Sent is that of the look
	// that showed the grant, so that turns count alike. Leave deletes that row, which stays until the grant is accepted
	// or its turn has ended. Else zero.
	Deadline time.Time
	Leave    func()
	// Claimed reports a grant after a wait in the queue. Resumed reports a lock of another process, which may
	// have acted under it.
	Claimed, Resumed bool
	Handover         time.Duration  // see event.Granted
	Record           queue.Record   // with the grant
	Held             time.Time      // when its session began, after Record was read
	Next             handover.Row   // to which its release may pass the lock
	ReadNext         time.Time      // when its session reads the row for that; zero: it does not
	Bell             *handover.Bell // where the holder can be rung, until its Stop; nil: nowhere
}

// grant returns the lock that the machine says is held.
func (w *Waiter) grant(do *queue.Do) *Grant {
	w.failure.set(nil)
	a := do.Attempt
	g := &Grant{
		ID: a.ID, Ticket: do.Holder.Ticket, Sent: a.Sent, Lease: a.Lease, Claimed: a.Claimed, Resumed: a.Resumed,
		Handover: w.turn.handover, Record: w.wait.Snapshot.Record, Next: w.sight.turn.next, Bell: w.bell,
	}
	switch {
	case w.cfg.Entry.Terms.FailClosed:
		g.Lease = do.Holder.Lease
	case !do.Holder.Accepted():
		g.Leave = w.turn.place.cancel
		g.Sent, g.Deadline = w.wait.Snapshot.ReadAt.Add(-w.sight.pace.Trip()), w.cfg.Row.Deadline(a.Sent)
	}
	if after, ok := w.sight.readsNext(w.cfg.Local.Bells()); ok && a.Claimed && g.Next.Row == nil {
		g.ReadNext = g.Sent.Add(after)
	}
	return g
}

// Handle returns the handle by which another process resumes the lock.
func (g *Grant) Handle() queue.Handle {
	return queue.Handle{ID: g.ID[:max(0, strings.LastIndexByte(g.ID, '-'))], Ticket: g.Ticket, Held: true}
}

// Grace returns the lease of a fail-closed grant until it is confirmed. It must outlast the answer of the grant
// and a few attempts at CONFIRM, each of which may take requestTimeout: otherwise fail-closed waiters would evict
// each other without end where the network is slow. It is no longer, because other waiters wait for it after a
// crash. Two seconds leave room for the uncertainty of DynamoDB's clock, of about a second.
func Grace(requestTimeout time.Duration) time.Duration {
	return min(max(4*requestTimeout, 2*time.Second), queue.MaxLease)
}

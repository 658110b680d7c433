package waiter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/dbclock"
	"github.com/queuelock/queuelock/internal/serving"
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
	Handover         time.Duration // see event.Granted
	Record           queue.Record  // with the grant
	Held             time.Time     // when its session began, after Record was read
	next             *queue.Waiter // see Successor
	nextAt           time.Time     // when it was read
}

// Handle returns the handle by which another process resumes the lock.
func (g *Grant) Handle() Handle {
	return Handle{ID: g.ID[:max(0, strings.LastIndexByte(g.ID, '-'))], Ticket: g.Ticket}
}

// attempt is one request that may put its id into the record.
type attempt struct {
	id         string // never used before
	sent       time.Time
	lease      queue.Lease
	claimed    bool
	passed     bool          // a release of this client has sent it
	unknown    bool          // it was not answered: the id may be in the record, or get there
	given      bool          // it was given up: the id is never adopted again
	resumed    bool          // it takes over the lock of a process that has ended
	place      *place        // whose row the holder before may name; nil: the entry is written by a request of this waiter
	confirming ticket.Number // of the CONFIRM that was sent for it; zero: none
	removed    time.Time     // ReadAt of the snapshot for which a removal was tried last
}

// delayed reports whether the entry must not be removed before its time: the earlier holder may have requests
// under way, and its lock delay keeps the queue closed.
func (a *attempt) delayed() bool { return a.resumed && a.lease.Delay > 0 }

// usable reports whether the attempt's entry is a grant whose lease has not ended by the local clock.
func (a *attempt) usable(entry queue.Holder, terms heartbeat.Terms, clock *dbclock.Clock, now time.Time) bool {
	if a.place != nil {
		// The entry has the lease of the row as it was read, and ends with it at the earliest.
		sent, known := a.place.sent(entry.Lease.Until)
		if !known {
			return false
		}
		a.sent, a.lease, terms = sent, entry.Lease, a.place.cfg.Row
	}
	return !entry.Unreadable() && now.Before(terms.Deadline(a.sent)) &&
		terms.OwnerEndsFirst(clock, a.lease.Until, a.sent, now)
}

type attempts []*attempt

// find returns the attempt whose entry is in the record, and the entry; nil if there is none.
func (as attempts) find(rec queue.Record) (*attempt, queue.Holder) {
	entry, ok := rec.Mine(as.ids()...)
	if !ok {
		return nil, queue.Holder{}
	}
	return as[slices.IndexFunc(as, func(a *attempt) bool { return a.id == entry.ID })], entry
}

// ids returns the ids that may be adopted.
func (as attempts) ids() (ids []string) {
	for _, a := range as {
		if !a.given {
			ids = append(ids, a.id)
		}
	}
	return ids
}

// before reports whether the last attempt was sent before that time.
func (as attempts) before(t time.Time) bool { return len(as) > 0 && as[len(as)-1].sent.Before(t) }

// unknown returns the ids that may be in the record without an owner, at most as many as one request can remove.
// Ids that were to be confirmed come last, as no lease ends them.
func (as attempts) unknown() []string {
	var leased, endless []string
	for _, a := range as {
		switch {
		case !a.unknown:
		case !a.confirming.IsZero():
			endless = append(endless, a.id)
		case !a.delayed():
			leased = append(leased, a.id)
		}
	}
	// A waiter stops long before it has that many. The last are the likeliest to be still under way.
	ids := slices.Concat(leased, endless)
	return ids[max(0, len(ids)-queue.MaxEvicted):]
}

// attempt returns a new attempt, and the entry to write.
func (w *Waiter) attempt(claimed bool) (*attempt, queue.Entry) {
	a := &attempt{id: fmt.Sprintf("%s-%d", w.id, len(w.attempts)), claimed: claimed}
	w.attempts = append(w.attempts, a)
	return a, a.begin(w)()
}

// begin returns a function that begins the attempt and returns the entry to write.
func (a *attempt) begin(w *Waiter) func() queue.Entry {
	e, clock := w.cfg.Entry, w.cfg.Queue.Clock()
	return func() queue.Entry {
		a.sent = time.Now()
		entry := queue.Entry{ID: a.id, Owner: e.Owner, Mode: e.Mode, Data: e.Data}
		entry.Lease, entry.Since = e.Terms.Begin(clock, a.sent)
		a.lease = entry.Lease
		return entry
	}
}

// adopt returns the grant of an own id in the record, or nil. An entry whose lease is over, as after a lost answer
// or a pause of the process, is not a grant: it is removed, also from the snapshot.
func (w *Waiter) adopt(ctx context.Context) *Grant {
	rec := w.snapshot.Record
	a, entry := w.attempts.find(rec)
	if a == nil {
		return nil
	}
	terms := w.cfg.Entry.Terms
	if a.usable(entry, terms, w.cfg.Queue.Clock(), time.Now()) && (a.place == nil || a.place == w.turn.place && !w.turn.left && a.place.hold()) {
		a.unknown, w.failure = false, nil
		g := &Grant{
			ID: a.id, Ticket: entry.Ticket, Sent: a.sent, Lease: a.lease, Claimed: a.claimed,
			Resumed: a.resumed, Record: rec, next: w.turn.next, nextAt: w.turn.nextAt,
		}
		if p := a.place; p != nil {
			w.turn.kept, g.Leave = true, p.cancel
			g.Sent, g.Deadline = w.snapshot.ReadAt.Add(-w.progress.pace.Trip()), w.cfg.Row.Deadline(a.sent)
		}
		return g
	}
	w.cfg.Log.Warn("queuelock: a grant came too late to be used, or is malformed",
		"queue", w.cfg.Queue.String(), "ticket", entry.Ticket, "problem", entry.Problem)
	a.given, a.unknown = true, true
	w.drop(ctx, a)
	return nil
}

// remains reports whether the snapshot shows an entry that is to be removed: of an attempt that was given up. A late
// request can put it there again after it was removed.
func (w *Waiter) remains(a *attempt) bool {
	_, shown := w.snapshot.Record.Mine(a.id)
	return shown && a.given && !a.delayed()
}

// drop removes the entry of an attempt that remains, once for each snapshot.
func (w *Waiter) drop(ctx context.Context, a *attempt) {
	if !w.remains(a) || !a.removed.Before(w.snapshot.ReadAt) {
		return
	}
	a.removed, a.unknown = w.snapshot.ReadAt, true
	if without, err := w.remove(ctx, a.id); err == nil {
		w.snapshot.Saw(without, time.Now())
		a.unknown = false
	}
}

// Grace returns the lease of a fail-closed grant until it is confirmed. It must outlast the answer of the grant
// and a few attempts at CONFIRM, each of which may take requestTimeout: otherwise fail-closed waiters would evict
// each other without end where the network is slow. It is no longer, because other waiters wait for it after a
// crash. Two seconds leave room for the uncertainty of DynamoDB's clock, of about a second.
func Grace(requestTimeout time.Duration) time.Duration {
	return min(max(4*requestTimeout, 2*time.Second), queue.MaxLease)
}

// confirm sends CONFIRM until it is answered, and updates the grant. It returns errOvertaken if the grant is gone.
// After any other error its outcome is unknown.
func (w *Waiter) confirm(ctx context.Context, grant *Grant) error {
	a, _ := w.attempts.find(grant.Record)
	a.unknown = true
	w.series.Reset()
	var rec queue.Record
	err := w.send(ctx, "confirm", func(ctx context.Context) (err error) {
		a.confirming = grant.Ticket
		rec, err = serving.Confirm(ctx, w.cfg.Queue, a.id, grant.Ticket, w.cfg.Queue.Clock().Middle(grant.Sent))
		return err
	})
	switch {
	case err == nil:
		a.unknown = false
		me, _ := rec.Mine(a.id)
		grant.Record, grant.Lease = rec, me.Lease
		return nil
	case !errors.Is(err, serving.ErrLost):
		return err
	}
	w.cfg.Log.Warn("queuelock: a fail-closed grant was not confirmed in time",
		"queue", w.cfg.Queue.String(), "ticket", grant.Ticket)
	a.given, a.confirming = true, ticket.Number{}
	if _, a.unknown = rec.Mine(a.id); a.unknown { // a late request has put it there again
		_, err := w.remove(ctx, a.id)
		a.unknown = err != nil
	}
	return errOvertaken
}

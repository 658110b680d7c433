package queuelock

import (
	"time"

	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/ticket"
)

// State is a queue as one consistent read showed it.
type State struct {
	Key Key
	// Issued is the last ticket that was taken; zero: the lock was never used.
	Issued ticket.Number
	// Scope says which counter issues the tickets.
	Scope Scope
	// Permits is how many hold at once, of a semaphore; zero: it is a lock.
	Permits int
	// Serving is who is being served, in the order of tickets; empty: nobody.
	// A holder whose lease has ended is listed until it is evicted.
	Serving []Holder
	// Waiting is who waits, in order. Dead ones are listed until they are
	// swept.
	Waiting []Waiter
	// Turn is how long recent turns took, if any have ended.
	Turn Turn
	// ReadAt is when the read was answered: DynamoDB's time, or the host's if
	// that is not known.
	ReadAt time.Time
}

// Turn is how long recent turns took, as a moving mean and mean deviation.
type Turn = serving.Turn

// Holder is one who is being served.
type Holder struct {
	Ticket ticket.Number
	Owner  string
	// Shared says that it holds together with others that do.
	Shared bool
	// Since is when it was granted, on DynamoDB's clock; zero if the holder did
	// not know.
	Since time.Time
	// Age is for how long it has been served; zero if Since is.
	Age time.Duration
	// Remaining is after how long this client would evict it, were it not
	// renewed; zero or less: now. One that has watched it for longer may know
	// better. TTL is the length of its lease, and Delay for how long others wait
	// beyond its end (LockDelay), which is part of Remaining.
	Remaining, TTL, Delay time.Duration
	// FailClosed says that it has no lease (option FailClosed): only itself, or
	// an operator by Client.Evict, ends its turn. Remaining is then the longest
	// Duration, and TTL zero.
	FailClosed bool
	// Data is what the holder has told of itself, by WithData or SetData; nil
	// if nothing.
	Data []byte
	// Problem is what is wrong with the holder's entry, if a part of it cannot
	// be read; that part is zero. A holder without a TTL that is not FailClosed
	// is never evicted: its ticket, or its lease, is not known.
	Problem error
}

// Waiter is one who waits.
type Waiter struct {
	// Position is its place among those who wait: 1 is next.
	Position int
	Ticket   ticket.Number
	Owner    string
	// Shared says that it will hold together with others that do.
	Shared bool
	// Age is for how long it has been waiting.
	Age time.Duration
	// Remaining is after how long this client would sweep it, as for a Holder.
	Remaining, TTL time.Duration
	// Problem is what is wrong with the row, if some other program wrote it;
	// of the rest only the ticket is then known.
	Problem error
}

// newHolder is a holder as a read that was answered at that instant showed it;
// now is the same on DynamoDB's clock.
func newHolder(q table.Queue, h serving.Holder, observer *lease.Observer, readAt, now time.Time) Holder {
	holder := Holder{
		Ticket: h.Ticket, Owner: h.Owner, Shared: h.Shared, Since: h.Since,
		Remaining: observer.See(h.LeaseID(q), h.Lease, readAt), TTL: h.Lease.TTL, Delay: h.Lease.Delay, FailClosed: h.Lease.Endless(), Data: h.Data, Problem: h.Problem,
	}
	if !h.Since.IsZero() {
		holder.Age = max(0, now.Sub(h.Since))
	}
	return holder
}

// served is who was being served when a waiter last looked, or nil. Its ages are
// of now.
func (c *Client) served(q table.Queue, last waiter.Standing) *Holder {
	if len(last.Serving) == 0 {
		return nil
	}
	now := time.Now()
	holder := newHolder(q, last.Serving[0], c.observer, last.SeenAt, lease.Middle(q.Clock(), now))
	if !holder.FailClosed {
		holder.Remaining -= now.Sub(last.SeenAt)
	}
	return &holder
}

func newState(key Key, q table.Queue, snapshot rows.Snapshot, observer *lease.Observer) *State {
	s := &State{Key: key, Issued: snapshot.Record.TicketNumber, Scope: scopeOf(snapshot.Record.Scope), Permits: snapshot.Record.Permits, Turn: snapshot.Record.Turn, ReadAt: lease.Middle(q.Clock(), snapshot.ReadAt)}
	if s.ReadAt.IsZero() {
		s.ReadAt = snapshot.ReadAt
	}
	for _, h := range snapshot.Record.Holders {
		s.Serving = append(s.Serving, newHolder(q, h, observer, snapshot.ReadAt, s.ReadAt))
	}
	floor := snapshot.Record.Floor()
	for _, row := range snapshot.Rows {
		if row.Ticket.Compare(floor) <= 0 {
			continue // left by one who was served, or overtaken
		}
		w := Waiter{
			Position: len(s.Waiting) + 1, Ticket: row.Ticket, Owner: row.Owner, Shared: row.Shared(), Problem: row.Problem,
			Remaining: observer.See(row.LeaseID(q), row.Lease, snapshot.ReadAt), TTL: row.Lease.TTL,
		}
		if !row.CreatedAt.IsZero() {
			w.Age = max(0, s.ReadAt.Sub(row.CreatedAt))
		}
		s.Waiting = append(s.Waiting, w)
	}
	return s
}

// scopeOf is the scope that a record names.
func scopeOf(s serving.Scope) Scope {
	switch s {
	case serving.ScopeEntity:
		return ScopeEntity
	case serving.ScopeShared:
		return ScopeShared
	}
	return ScopeQueue
}

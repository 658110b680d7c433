package queue

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/ticket"
)

// State is a queue as one consistent read showed it.
type State struct {
	Entity, Reason string        // those of the lock's Key
	Issued         ticket.Number // the last ticket that was taken; zero if there is no record
	Scope          ticket.Scope  // which counter issues the tickets
	Permits        int           // of a semaphore; zero for a lock
	Serving        []Holder      // in the order of their tickets, and what keeps the queue closed: see Holder.Closed
	Waiting        []Waiter      // in the order of their tickets
	HoldTime       HoldTime      // zero if no holder has released the lock
	LastEviction   Eviction      // zero if no holder was evicted that the record remembers
	Result         Result        // that package once has left, also if it is no longer fresh
	ReadAt         time.Time     // on DynamoDB's clock, or on the host's if that is not known
}

// Idle reports whether the lock has neither a holder nor a waiter.
func (s *State) Idle() bool { return len(s.Serving) == 0 && len(s.Waiting) == 0 }

// Holder returns the holder with that ticket, or with a block that has it.
func (s *State) Holder(t ticket.Number) (Holder, bool) {
	return first(s.Serving, func(h Holder) bool { return h.Ticket == t || within(h.Ticket, t, h.Last()) })
}

// Next returns the first waiter whose lease has not ended.
func (s *State) Next() (Waiter, bool) {
	return first(s.Waiting, func(w Waiter) bool { return !w.Expired() })
}

func first[T any](list []T, is func(T) bool) (found T, ok bool) {
	i := slices.IndexFunc(list, is)
	if i < 0 {
		return found, false
	}
	return list[i], true
}

// Waiters returns how many callers wait: of a block, each of its tickets is one. Those whose leases have ended count
// until a client removes their rows; Full does not count them.
func (s *State) Waiters() (n int) {
	for _, w := range s.Waiting {
		n += w.turns()
	}
	return n
}

// Position returns the place of that ticket among the waiters. 1 is next, and 0 means
// that no waiter has the ticket. Each ticket of a block is a place.
func (s *State) Position(t ticket.Number) int {
	place := 1
	for _, w := range s.Waiting {
		if w.Ticket == t || within(w.Ticket, t, w.Last()) {
			return place + int(t.After(w.Ticket))
		}
		place += w.turns()
	}
	return 0
}

func within(first, t, last ticket.Number) bool { return first.Compare(t) <= 0 && t.Compare(last) <= 0 }

// rowsBefore returns how many rows are before the one of a position. Behind the last, each position is a row.
func (s *State) rowsBefore(position int) (rows int) {
	before := position - 1
	for _, w := range s.Waiting {
		if before < w.turns() {
			return rows
		}
		rows, before = rows+1, before-w.turns()
	}
	return rows + before
}

// EstimatedWait estimates how long the waiter at that position will wait, from the mean of [HoldTime]; inside a block,
// until the block's turn. It is zero if that is zero, which means that it is not known, and if the turn may come at any
// time. Shared holders may be admitted much earlier.
func (s *State) EstimatedWait(position int) time.Duration {
	permits, rest := max(1, s.Permits), time.Duration(0)
	if permits == 1 && len(s.Serving) > 0 && !s.Serving[0].NotBefore.IsZero() {
		rest = max(0, s.Serving[0].NotBefore.Sub(s.ReadAt))
	}
	switch {
	case position == 1 && s.HoldTime.Mean <= 0:
		return rest
	case position < 1, s.HoldTime.Mean <= 0:
		return 0
	}
	mean := float64(s.HoldTime.Mean) / float64(permits)
	wait := float64(s.rowsBefore(position)) * mean
	if len(s.Serving) >= permits {
		wait += float64(max(rest, s.HoldTime.Mean-s.Serving[0].Age))
	}
	return time.Duration(min(wait, math.MaxInt64/2))
}

// HoldTime is how long holders had the lock, as a moving mean and mean deviation. A block counts as one holder.
type HoldTime struct{ Mean, Deviation time.Duration }

func (t HoldTime) attribute() types.AttributeValue {
	return clause.Map(clause.Item{
		attr.Mean:      clause.Int(t.Mean.Milliseconds()),
		attr.Deviation: clause.Int(t.Deviation.Milliseconds()),
	})
}

// decodeHoldTime reads the hold times. They are used for estimates only, so a malformed value is ignored.
func decodeHoldTime(r *clause.Reader) HoldTime {
	if r == nil {
		return HoldTime{}
	}
	mean, deviation := r.Int(attr.Mean), r.Int(attr.Deviation)
	bad := func(ms int64) bool { return ms < 0 || ms > MaxLease.Milliseconds() }
	if r.Err != nil || bad(mean) || bad(deviation) {
		return HoldTime{}
	}
	return HoldTime{Mean: time.Duration(mean) * time.Millisecond, Deviation: time.Duration(deviation) * time.Millisecond}
}

// Holder is a client that holds the lock: an entry of the record.
type Holder struct {
	ID     string        // names the entry, and no other one ever
	Ticket ticket.Number // known even if the entry does not contain it; the first of a block
	Owner  string
	Shared bool      // it holds the lock together with other shared holders
	Since  time.Time // when the lock was granted, on DynamoDB's clock; zero if that is not known
	Lease            // its delay is a part of Remaining
	Group  string    // of Supersede; empty: none
	Data   []byte    // what the holder published with WithData or SetData, for display; nil if nothing
	// Problem describes a part of the entry that cannot be read; that part is zero. The entry still counts as a holder,
	// and no client evicts a holder whose ticket or lease is not known.
	Problem error

	// Age is the time from Since to the read; zero if Since is not known. Remaining is how long the client that reads
	// would wait before it evicts the holder, unless the lease is renewed. Zero or less means that it would now.
	// Forever means that there is no lease: the turn ends by its release or by an operator's eviction.
	Age, Remaining time.Duration

	Slot    *int        // number of the permit, below State.Permits; nil: none
	Closed  bool        // the turn was released, and the entry keeps the queue closed until NotBefore
	Revoked *Revocation // the last request to give way; nil: none
	Bell    string      // where the holder can be rung, as package wake has made it; empty if it cannot
	// Turns is how many tickets its block has, from Ticket on: callers of one client hold the lock one after the other.
	// Reached is the ticket of the present one, or of an earlier one, as the last heartbeat showed it. Since is of the
	// block.
	Turns   int
	Reached ticket.Number

	Named   bool  // a release granted the lock to the waiter's row
	DataSet int64 // number of the SetData call that wrote Data; zero before the first
	Made    int64 // number of its last fenced transaction; zero before the first

	claimed, numbered bool // the entry contains its ticket, and Made
	marked            bool // it has a request to give way, which may be one that cannot be read
}

// Expired reports whether the holder's lease, and its lock delay, have ended.
func (h Holder) Expired() bool { return h.Remaining <= 0 }

// Unreadable reports whether the ticket, the lease or the number of the last transaction is malformed, or the entry is
// no map. Its lease is then zero, and never judged to have ended.
func (h Holder) Unreadable() bool { return h.Problem != nil && h.Lease == Lease{} }

// LeaseID returns the name of the holder's lease for an Observer.
func (h Holder) LeaseID(q Items) string { return q.Entity + "/" + q.Reason + "/" + h.ID }

// Waiter is a client that waits for the lock: a row.
type Waiter struct {
	Position  int // among the waiters, also those whose lease has ended: 1 is next. Of a block, that of Ticket
	Ticket    ticket.Number
	ID        string // names the row, and no other one ever
	Owner     string
	Turns     int       // how many tickets its block has, from Ticket on: so many callers of its client wait
	Shared    bool      // it will hold the lock together with other shared holders
	CreatedAt time.Time // on DynamoDB's clock, or the owner's host's if that was not known
	Lease
	// EntryID is the id of the entry that the holder before may write to grant it the lock; empty if it may not.
	EntryID string
	// Bell is where the waiter can be rung when its turn has come, as package wake has made it; empty if it cannot. It
	// grants nothing, so a row with a malformed one is valid.
	Bell string
	// Group is that of Supersede, and MaxWaiters the limit of that option; empty and zero if it was not given.
	Group      string
	MaxWaiters int
	// KeptSince is since when the place is kept and no process waits in it, on the clock of CreatedAt; zero if one does.
	KeptSince time.Time
	// Problem says what is wrong with the row if another program wrote it. Then Lease is the minute for which others wait,
	// and Ticket is zero if the sort key is malformed.
	Problem error

	// Age is how long it has waited. Remaining is how long the client that reads would wait before it removes the
	// row, unless its lease is renewed. Zero or less means that it would now.
	Age, Remaining time.Duration

	raw clause.Item // as it was read
}

// Expired reports whether the lease of the waiter's row has ended.
func (w Waiter) Expired() bool { return w.Remaining <= 0 }

// Handle names a wait, or the lock that it was granted, for the process that continues it.
type Handle struct {
	ID     string // prefix of all its ids
	Ticket ticket.Number
	Held   bool // it is of a lock that was granted: no place is left. Its ticket may be above the floor, in a block
	// From are the IDs of the handles that it continues, the latest first and separated by commas, if what they name may
	// still have one of them: the process may end before its first request is applied.
	From string
	// Since is when the wait began, as of Waiter.CreatedAt, in milliseconds since 1970; zero if that is not known.
	Since int64
}

// maxFrom bounds the IDs of From: so many processes may end one after the other before any request of theirs is
// applied.
const maxFrom = 8

// Next returns the handle of the process that continues it, with another ID.
func (h Handle) Next(id string) Handle {
	ids := h.IDs()
	from := strings.Join(ids[:min(len(ids), maxFrom)], ",")
	return Handle{ID: id, Ticket: h.Ticket, Held: h.Held, From: from, Since: h.Since}
}

// IDs returns the IDs that what it names may have.
func (h Handle) IDs() []string {
	if h.From == "" {
		return []string{h.ID}
	}
	return append([]string{h.ID}, strings.Split(h.From, ",")...)
}

// Names reports whether an id of an entry is of what the handle names.
func (h Handle) Names(id string) bool {
	return slices.ContainsFunc(h.IDs(), func(own string) bool { return strings.HasPrefix(id, own+"-") })
}

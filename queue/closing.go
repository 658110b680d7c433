package queue

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/ticket"
)

// A queue that stays closed: a holder may ask that no client is granted the lock for some time after its own grant,
// whatever becomes of the holder. The entry says for how long (atLeast, from since on). For others it ends at the later
// of its lease's end and that time, so a crash does not shorten it. A release before that time replaces the entry by a
// closed one, which has no owner, and whose lease ends at that time. It has another id: requests of the turn that are
// still under way are refused, and no Resume finds it. All clients end it as they end an expired holder.

// MaxAtLeast is the longest time for which a queue stays closed after a grant. With what two clocks may drift apart, it
// is less than MaxLease.
const MaxAtLeast = 6 * 24 * time.Hour

// closedPrefix begins the ids of closed entries. No id of a wait begins with it.
const closedPrefix = "closed-"

// drifted returns how long a time of another clock can seem at most, if both clocks drift by 500 ppm.
func drifted(d time.Duration) time.Duration {
	return (d + d/1000 + time.Millisecond).Truncate(time.Millisecond)
}

// readAtLeast reads for how long the entry stays at least.
func (l *Lease) readAtLeast(r *clause.Reader) {
	if r.Has(attr.AtLeast) {
		l.AtLeast = readLength(r, attr.AtLeast, time.Millisecond, MaxLease)
	}
}

// stays returns for how long AtLeast keeps the entry, at most, once TTL has passed since the last renewal. An
// observer's clock may be the faster one.
func (l Lease) stays() time.Duration {
	longer := l.AtLeast
	if !l.NotBefore.IsZero() && !l.Until.IsZero() {
		longer = l.NotBefore.Sub(l.Until)
	}
	if l.AtLeast == 0 || longer <= 0 {
		return 0
	}
	return drifted(l.TTL+longer) - l.TTL
}

// End returns when other clients may end the entry or the row, on DynamoDB's clock; zero if that is not known.
func (l Lease) End() time.Time {
	switch end := l.Until.Add(l.Delay); {
	case l.Until.IsZero(), l.AtLeast > 0 && l.NotBefore.IsZero():
		return time.Time{}
	case end.Before(l.NotBefore):
		return l.NotBefore
	default:
		return end
	}
}

// dated says when the lease of an entry may end, which was granted at a time on DynamoDB's clock; zero if unknown.
func (l Lease) dated(since time.Time, isClosed bool) Lease {
	switch {
	case isClosed:
		l.NotBefore = l.Until
	case l.AtLeast > 0 && !since.IsZero():
		l.NotBefore = since.Add(l.AtLeast)
	}
	return l
}

// Keeps makes the lease of an entry, which was granted at since, keep the queue closed as long as one that it replaces.
func (l Lease) Keeps(old Lease, since time.Time) Lease {
	rest := old.AtLeast
	if !since.IsZero() && !old.NotBefore.IsZero() {
		rest = old.NotBefore.Sub(since)
	}
	l.AtLeast = max(l.AtLeast, rest)
	return l.dated(since, false)
}

// Closed is what FormClose leaves in the place of the holder.
type Closed struct {
	Since time.Time     // of the grant, on DynamoDB's clock; zero if unknown
	Until time.Time     // the same of its end
	Rest  time.Duration // its lease: see ClosedFor
	Slot  *int          // the number of the permit, which stays taken; nil: none
}

// ClosedFor returns the lease of an entry that keeps the queue closed for that long.
func ClosedFor(rest time.Duration) time.Duration { return min(drifted(rest), MaxLease) }

// closedID returns the id of the closed entry that replaces one.
func closedID(id string) string { return closedPrefix + id }

// changes are those by which the holder with that id and ticket is replaced.
func (c Closed) changes(id string, t ticket.Number) []clause.Change {
	item := clause.Item{attr.Ticket: t.Attribute(), attr.Closed: &types.AttributeValueMemberBOOL{Value: true}}
	Lease{TTL: c.Rest, Until: c.Until}.Fill(item)
	clause.SetTime(item, attr.Since, c.Since)
	fillSlot(item, c.Slot)
	return []clause.Change{entry(id).Remove(), entry(closedID(id)).Set(clause.V(clause.Map(item)))}
}

// Turns returns the holders without closed entries, which are no turns of anybody any more.
func Turns(holders []Holder) (turns []Holder) {
	for _, h := range holders {
		if !h.Closed {
			turns = append(turns, h)
		}
	}
	return turns
}

// Package lease has the terms by which an owner begins and renews a lease, and decides
// when the lease of another owner has ended.
//
// A holder's entry and a waiter's row carry the same three attributes: beat is raised by
// one with every renewal, until is the end of the lease on DynamoDB's clock, and ttl is
// its length. A lease has ended by either of two rules, and each is sound without the
// other:
//
//   - By the clock: DynamoDB's clock has passed until, by its earliest possible time
//     (package dbclock), and its dates have not contradicted each other for one ttl.
//   - By observation: the beat has not changed for the full ttl on the observer's
//     monotonic clock, counted from after the read that first showed it. The owner
//     counts from before the write that set the beat, so it learns of the end first.
//
// The second rule makes a new observer wait for up to one ttl. It is used with an engine
// that sends no dates, so that there is no until, and with Config.ObserveExpiry. By both
// rules the queue stays closed for an entry's delay after the lease; the owner's own
// deadline does not change. An entry that is failClosed, and has neither until nor ttl,
// never ends.
//
// A judgement is no permission to remove anything. The client that removes an entry or a
// row asks in the same write for the beat that it judged.
package lease

import (
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/dbclock"
	"github.com/queuelock/queuelock/internal/table"
)

const (
	Max      = 7 * 24 * time.Hour // of a lease. A longer one is malformed: no waiter could wait for its end.
	MaxDelay = 24 * time.Hour     // of a lock delay

	Forever time.Duration = math.MaxInt64 // is left of a lease that has no end
)

// Lease is the lease of an entry or a row.
type Lease struct {
	Beat  int64
	TTL   time.Duration
	Until time.Time // on DynamoDB's clock; zero if unknown
	// Holders only: how long the queue stays closed after the end, and whether the lease is
	// endless once the grant is confirmed.
	Delay      time.Duration
	FailClosed bool
}

func (l Lease) Endless() bool { return l.FailClosed && l.TTL == 0 }

// Length returns how long other clients wait for a lease that is no longer renewed. One
// without a length is endless, or malformed.
func (l Lease) Length() time.Duration {
	if l.TTL <= 0 {
		return Forever
	}
	return l.TTL + l.Delay
}

// ReadHolder reads the lease of a holder's entry.
func ReadHolder(r *table.Reader) Lease {
	failClosed := r.OptionalBool(table.AttrFailClosed)
	if failClosed && !r.Has(table.AttrTTL) && !r.Has(table.AttrUntil) {
		return Lease{Beat: r.Int(table.AttrBeat), FailClosed: true}
	}
	l := Read(r)
	l.FailClosed = failClosed && l.TTL > 0
	if r.Has(table.AttrDelay) {
		l.Delay = readLength(r, table.AttrDelay, 0, MaxDelay)
	}
	return l
}

// Read reads the lease of a row.
func Read(r *table.Reader) Lease {
	return Lease{
		Beat:  r.Int(table.AttrBeat),
		TTL:   readLength(r, table.AttrTTL, time.Millisecond, Max),
		Until: r.OptionalTime(table.AttrUntil),
	}
}

func readLength(r *table.Reader, attribute string, least, most time.Duration) time.Duration {
	ms := r.Int(attribute)
	if ms < least.Milliseconds() || ms > most.Milliseconds() {
		r.Fail(attribute, "is %d ms, between %d and %d are needed", ms, least.Milliseconds(), most.Milliseconds())
	}
	if r.Err != nil {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// Fill writes the attributes of the lease into an entry or a row.
func (l Lease) Fill(item table.Item) {
	item[table.AttrBeat] = table.Int(l.Beat)
	if l.FailClosed {
		item[table.AttrFailClosed] = &types.AttributeValueMemberBOOL{Value: true}
	}
	if l.Endless() {
		return
	}
	item[table.AttrTTL] = table.Int(l.TTL.Milliseconds())
	table.SetTime(item, table.AttrUntil, l.Until)
	if l.Delay > 0 {
		item[table.AttrDelay] = table.Int(l.Delay.Milliseconds())
	}
}

// Terms describe an owner's own lease.
type Terms struct {
	TTL      time.Duration
	Interval time.Duration // from one renewal to the next; zero: only the caller renews
	// Margin is how much earlier the owner's deadline is than the end of the lease for
	// other clients. It covers the time between a check and an action, and the difference
	// between the clocks of DynamoDB's own hosts.
	Margin     time.Duration
	Delay      time.Duration // how long the queue stays closed after the end of a lost lease
	FailClosed bool          // endless once the grant is confirmed
}

// Margin returns the margin of a lease of that length. The thousandth covers two clocks
// that drift apart by 500 ppm each.
func Margin(ttl time.Duration) time.Duration { return min(ttl/10, 2*time.Second+ttl/1000) }

// Spread is the part of its interval by which a renewal may come earlier, at random.
// Holders of one semaphore that were granted together renew the same item.
const Spread = 0.1

// Begin returns a new lease for a request sent at an instant, and Middle of that instant.
func (t Terms) Begin(clock *dbclock.Clock, sent time.Time) (Lease, time.Time) {
	return Lease{TTL: t.TTL, Until: t.until(clock, sent), Delay: t.Delay, FailClosed: t.FailClosed}, Middle(clock, sent)
}

// until returns the latest possible end, so that no other client ends the lease before
// the owner's deadline. It is zero while DynamoDB's clock is not known.
func (t Terms) until(clock *dbclock.Clock, sent time.Time) time.Time {
	_, latest, ok := clock.At(sent)
	if !ok {
		return time.Time{}
	}
	return latest.Add(t.TTL)
}

// Deadline returns the owner's deadline on the local monotonic clock, for a lease whose
// request was sent at an instant.
func (t Terms) Deadline(sent time.Time) time.Time { return sent.Add(t.TTL - t.Margin) }

// OwnerEndsFirst reports whether a lease ends for other clients no sooner than for its
// owner. Its request was sent at sent, with the end until, and has been answered. It ends
// too soon if the host was suspended before: until was computed from a clock that had
// stopped, and the date of the answer shows it.
func (t Terms) OwnerEndsFirst(clock *dbclock.Clock, until, sent, now time.Time) bool {
	_, latest, ok := clock.At(now)
	return until.IsZero() || !ok || until.Sub(latest) >= t.Deadline(sent).Sub(now)
}

// Middle returns the best guess of DynamoDB's time at a local instant, or zero if it is
// not known. It is for display and for the times of looks only.
func Middle(clock *dbclock.Clock, local time.Time) time.Time {
	earliest, latest, _ := clock.At(local)
	return earliest.Add(latest.Sub(earliest) / 2)
}

// Renewals are the ends that an owner writes for one lease. They never decrease, so the
// table can refuse a renewal that arrives after a later one: applied, it would let others
// end the lease before the owner's deadline. Renewals is not safe for concurrent use.
type Renewals struct {
	terms Terms
	clock *dbclock.Clock
	until time.Time // the last end written; zero while DynamoDB's clock was not known
}

func NewRenewals(t Terms, clock *dbclock.Clock, begun Lease) *Renewals {
	return &Renewals{terms: t, clock: clock, until: begun.Until}
}

// Next returns the end to write with a request sent at an instant. It is zero for an
// endless lease, and while DynamoDB's clock is not known.
func (r *Renewals) Next(sent time.Time) time.Time {
	if r.terms.FailClosed {
		return time.Time{}
	}
	if next := r.terms.until(r.clock, sent); next.After(r.until) {
		r.until = next
	}
	return r.until
}

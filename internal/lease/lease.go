// Package lease decides when another owner's lease has ended.
//
// A holder's entry and a waiter's row carry the same three attributes. beat is
// raised by one with every renewal. until is the end of the lease on DynamoDB's
// clock. ttl is its length. A lease has ended by either of two rules, and each is
// sound without the other:
//
//   - By the clock: DynamoDB's clock has passed until, by its earliest possible time
//     (package dbclock), and its dates have not contradicted each other for one ttl.
//   - By observation: the beat has not changed for the full ttl on the observer's
//     monotonic clock, counted from after the read that first showed it. The owner
//     counts its own deadline from before the write that set the beat, so the owner
//     learns of the end first.
//
// The second rule needs no clock but the observer's own, and makes a new observer
// wait for up to one ttl. It is used where there is no until, where the engine
// sends no date, and with Config.ObserveExpiry.
//
// A holder's entry may carry delay as well. The queue stays closed for that long
// after the lease has ended. Both rules then end the lease later by the delay. The
// owner's own deadline does not change.
//
// An entry that is failClosed, and has neither until nor ttl, never ends.
//
// A judgement is no permission to remove anything. The client that removes an entry
// or a row asks in the same write for the beat that it judged.
package lease

import (
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
)

// Max is the longest valid lease. A longer one is malformed: this library did not
// write it, and no waiter could wait for its end.
const Max = 7 * 24 * time.Hour

// MaxDelay is the longest valid lock delay.
const MaxDelay = 24 * time.Hour

// Forever is the remaining time of a lease that has no end.
const Forever time.Duration = math.MaxInt64

// Lease is the lease of an entry or a row.
type Lease struct {
	Beat  int64
	TTL   time.Duration
	Until time.Time // on DynamoDB's clock; zero if unknown

	// Delay is how long the queue stays closed after the end of the lease. Holders
	// only.
	Delay time.Duration

	// FailClosed reports that the holder has no lease. Until it has confirmed its
	// grant it has a short one. From then on it has neither TTL nor Until. Holders
	// only.
	FailClosed bool
}

// Endless reports whether the lease never ends.
func (l Lease) Endless() bool { return l.FailClosed && l.TTL == 0 }

// Length returns how long other clients wait for a lease that is no longer
// renewed. A lease without a length never ends: it is endless, or malformed.
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
	if ms, ok := r.OptionalInt(table.AttrDelay); ok {
		if ms < 0 || ms > MaxDelay.Milliseconds() {
			r.Fail(table.AttrDelay, "is %d ms, between 0 and %d are needed", ms, MaxDelay.Milliseconds())
			return l
		}
		l.Delay = time.Duration(ms) * time.Millisecond
	}
	return l
}

// Read reads the lease of a row.
func Read(r *table.Reader) Lease {
	l := Lease{
		Beat: r.Int(table.AttrBeat),
	}
	switch ms := r.Int(table.AttrTTL); {
	case r.Err != nil:
	case ms <= 0 || ms > Max.Milliseconds():
		r.Fail(table.AttrTTL, "is %d ms, between 1 and %d are needed", ms, Max.Milliseconds())
	default:
		l.TTL = time.Duration(ms) * time.Millisecond
	}
	l.Until = r.OptionalTime(table.AttrUntil)
	return l
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

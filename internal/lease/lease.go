// Package lease says when somebody else's lease has ended.
//
// A holder's entry and a waiter's row carry the same three attributes: beat,
// which every renewal raises by one; until, the end of the lease on
// DynamoDB's clock; and ttl, its length. Two judgements follow from them, and
// each is sound by itself:
//
//   - by the clock: DynamoDB's clock stands at until or later, by the
//     earliest time that it can be (package dbclock), and its dates have not
//     contradicted each other for one ttl;
//   - by observation: the beat has not changed for the full ttl, on the
//     observer's monotonic clock, counted from after the read that first
//     showed it. The owner counts its own deadline from before the write that
//     set the beat, so it knew first.
//
// A holder's entry may carry delay as well: for that long after the lease has
// ended the queue stays closed. Both judgements reckon the end so much later;
// the owner's deadline is what it was.
//
// One that is failClosed, and has neither until nor ttl, never ends.
//
// The second needs no clock but the observer's own, and costs a newcomer up
// to one ttl. It serves where there is no until, where the engine sends no
// date, and by option.
//
// A judgement is never the permission to remove anything: whoever removes
// asks in the same write for the beat that was judged.
package lease

import (
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
)

// Max is the longest lease that is believed. A longer one is malformed: it
// was not written by this library, and nobody could wait for its end.
const Max = 7 * 24 * time.Hour

// MaxDelay is the longest lock delay that is believed.
const MaxDelay = 24 * time.Hour

// Forever is how long a lease lives on that has no end.
const Forever time.Duration = math.MaxInt64

// Lease is what an entry or a row says of its own life.
type Lease struct {
	Beat  int64
	TTL   time.Duration
	Until time.Time // on DynamoDB's clock; zero if unknown

	// Delay is for how long others wait beyond the end of the lease. Of a
	// holder alone.
	Delay time.Duration

	// FailClosed says that the holder wants no lease. Until it has confirmed its
	// grant it has a short one all the same; from then on it has neither TTL nor
	// Until. Of a holder alone.
	FailClosed bool
}

// Endless reports whether the lease never ends: nobody may judge it dead.
func (l Lease) Endless() bool { return l.FailClosed && l.TTL == 0 }

// Length is how long others wait for a lease that is not renewed any more. One
// without a length never ends: it is endless, or could not be read.
func (l Lease) Length() time.Duration {
	if l.TTL <= 0 {
		return Forever
	}
	return l.TTL + l.Delay
}

// ReadHolder takes a lease out of a holder's entry.
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

// Read takes a lease out of a row.
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
	if ms, ok := r.OptionalInt(table.AttrUntil); ok {
		l.Until = time.UnixMilli(ms)
	}
	return l
}

// Fill writes a lease's attributes into an entry or a row.
func (l Lease) Fill(item table.Item) {
	item[table.AttrBeat] = table.Int(l.Beat)
	if l.FailClosed {
		item[table.AttrFailClosed] = &types.AttributeValueMemberBOOL{Value: true}
	}
	if l.Endless() {
		return
	}
	item[table.AttrTTL] = table.Int(l.TTL.Milliseconds())
	if !l.Until.IsZero() {
		item[table.AttrUntil] = table.Int(l.Until.UnixMilli())
	}
	if l.Delay > 0 {
		item[table.AttrDelay] = table.Int(l.Delay.Milliseconds())
	}
}

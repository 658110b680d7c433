package queue

import (
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
)

// The longest that are not malformed.
const (
	MaxLease = 7 * 24 * time.Hour // of a lease. A longer one is malformed: no waiter could wait for its end.
	MaxDelay = 24 * time.Hour     // of a lock delay

	Forever time.Duration = math.MaxInt64 // is left of a lease that has no end
)

// Lease is the lease of an entry or a row.
//
// A holder's entry and a waiter's row carry the same attributes: beat is raised by one with every renewal, until is the
// end of the lease on DynamoDB's clock, and ttl is its length. An entry that is failClosed, and has neither until nor
// ttl, never ends. Package heartbeat says by what terms a lease begins, and when it has ended.
type Lease struct {
	Beat  int64
	TTL   time.Duration
	Until time.Time // on DynamoDB's clock; zero if unknown
	// Holders only: how long the queue stays closed after the end, and whether the lease is
	// endless once the grant is confirmed.
	Delay      time.Duration
	FailClosed bool
	// Holders only: for how long after its grant the entry stays at least, and until when that is on DynamoDB's clock,
	// zero if unknown.
	AtLeast   time.Duration
	NotBefore time.Time
}

// Endless says that the lease has no end.
func (l Lease) Endless() bool { return l.FailClosed && l.TTL == 0 }

// Length returns how long other clients wait for a lease that is no longer renewed. One
// without a length is endless, or malformed.
func (l Lease) Length() time.Duration {
	if l.TTL <= 0 {
		return Forever
	}
	return l.TTL + max(l.Delay, l.stays())
}

// ReadHolderLease reads the lease of a holder's entry.
func ReadHolderLease(r *clause.Reader) Lease {
	failClosed := r.OptionalBool(attr.FailClosed)
	l := Lease{Beat: r.Int(attr.Beat), FailClosed: true}
	if !failClosed || r.Has(attr.TTL) || r.Has(attr.Until) {
		l = ReadLease(r)
		l.FailClosed = failClosed && l.TTL > 0
	}
	l.readAtLeast(r)
	if r.Has(attr.Delay) {
		l.Delay = readLength(r, attr.Delay, 0, MaxDelay)
	}
	return l
}

// ReadLease reads the lease of a row.
func ReadLease(r *clause.Reader) Lease {
	return Lease{
		Beat:  r.Int(attr.Beat),
		TTL:   readLength(r, attr.TTL, time.Millisecond, MaxLease),
		Until: r.OptionalTime(attr.Until),
	}
}

func readLength(r *clause.Reader, attribute string, least, most time.Duration) time.Duration {
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
func (l Lease) Fill(item clause.Item) {
	item[attr.Beat] = clause.Int(l.Beat)
	if l.FailClosed {
		item[attr.FailClosed] = &types.AttributeValueMemberBOOL{Value: true}
	}
	if l.AtLeast > 0 {
		item[attr.AtLeast] = clause.Int(l.AtLeast.Milliseconds())
	}
	if l.Endless() {
		return
	}
	item[attr.TTL] = clause.Int(l.TTL.Milliseconds())
	clause.SetTime(item, attr.Until, l.Until)
	if l.Delay > 0 {
		item[attr.Delay] = clause.Int(l.Delay.Milliseconds())
	}
}

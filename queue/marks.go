package queue

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/ticket"
)

// Marks are what the record says of turns that have ended: the last release, the last
// eviction, and transactions that may not be visible yet. Zero is none. Ids are never used
// twice, so the value of a mark never returns.
type Marks struct {
	Released Released
	Evicted  Eviction
	// Unsettled are times, on DynamoDB's clock, after which no transaction of an earlier holder
	// that was given up begins; Someday for one that was not known.
	Unsettled []time.Time
}

// UnsettledFor is how long DynamoDB may take to finish a transaction whose sender is gone. DynamoDB documents no limit; a
// recovery takes seconds.
const UnsettledFor = time.Minute

// MayAppear reports whether a fenced transaction of an earlier turn may become visible during a turn that begins with these
// marks. granted is the earliest time of its grant on DynamoDB's clock, or zero.
func (m Marks) MayAppear(granted time.Time) bool {
	recent := func(at time.Time) bool { return !at.IsZero() && (granted.IsZero() || granted.Sub(at) < UnsettledFor) }
	evicted := !m.Evicted.Ticket.IsZero()
	last := m.Released.Ticket.Less(m.Evicted.Ticket) // no turn was released after the evicted one
	return slices.ContainsFunc(m.Unsettled, recent) || evicted && (last || m.Evicted.At.IsZero() || recent(m.Evicted.At))
}

// Released is the mark of a release.
type Released struct {
	ID     string
	Ticket ticket.Number
	Call   int64 // the release call of the holder that was applied
}

// Someday returns a time of its own for each id, later than any clock shows.
func Someday(id string) time.Time {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(h.Sum32()) * time.Millisecond)
}

// Eviction is the mark of an eviction: it says which holder was evicted, because its lease had ended, or by an operator.
// Of several that were evicted at once, it names one. Without a ticket it names none: it was written with the record, and
// distinguishes the record from an earlier one of the same key.
type Eviction struct {
	Ticket ticket.Number
	ID     string    // of the holder's entry
	Made   int64     // number of the holder's last fenced transaction; negative if unknown
	At     time.Time // on DynamoDB's clock; zero if that was not known
}

// decodeMarks reads marks. Nil is none. A malformed mark is ignored, because no turn depends on it.
func decodeMarks(released, evicted *clause.Reader, unsettled []time.Time) (m Marks) {
	m.Unsettled = unsettled
	if released != nil {
		r := Released{
			ID: released.Text(attr.ID), Ticket: ticket.Read(released, attr.Ticket),
			Call: released.Int(attr.Call),
		}
		if released.Err == nil {
			m.Released = r
		}
	}
	if evicted == nil {
		return m
	}
	e := Eviction{
		ID: evicted.Text(attr.ID), Ticket: ticket.Read(evicted, attr.Ticket),
		Made: -1, At: evicted.OptionalTime(attr.At),
	}
	if made, ok := evicted.OptionalInt(attr.Made); ok {
		e.Made = made
	}
	if evicted.Err == nil {
		m.Evicted = e
	}
	return m
}

func markOf(id string, t ticket.Number) clause.Item {
	return clause.Item{attr.ID: clause.String(id), attr.Ticket: t.Attribute()}
}

func (r Released) attribute() types.AttributeValue {
	item := markOf(r.ID, r.Ticket)
	item[attr.Call] = clause.Int(r.Call)
	return clause.Map(item)
}

func (e Eviction) attribute() types.AttributeValue {
	item := markOf(e.ID, e.Ticket)
	item[attr.Made] = clause.Int(e.Made)
	clause.SetTime(item, attr.At, e.At)
	return clause.Map(item)
}

func (r Released) of(id string, t ticket.Number) bool { return r.ID == id && r.Ticket == t }
func (e Eviction) of(id string, t ticket.Number) bool { return e.ID == id && e.Ticket == t }

// Outcome is what a record says of a holder's turn.
type Outcome int

// The outcomes.
const (
	OutcomeHeld            Outcome = iota // the holder is in the record
	OutcomeReleased                       // the given call released it
	OutcomeReleasedEarlier                // another call of the holder released it
	OutcomeReleasedSome                   // one of the holder's calls released it
	OutcomeEvicted                        // the holder was removed by another client
	OutcomeGone                           // the record does not exist
	OutcomeUnknown                        // marks of later turns have replaced the mark of this one
)

// Released reports whether the holder released the lock.
func (o Outcome) Released() bool {
	return o == OutcomeReleased || o == OutcomeReleasedEarlier || o == OutcomeReleasedSome
}

// Outcome returns what became of the turn of the holder id with ticket t, and of its
// release call. seen are the marks of a record that contained the holder. The result
// depends on neither clocks nor the number of attempts.
func (r Record) Outcome(id string, t ticket.Number, call int64, seen Marks) Outcome {
	released, evicted := r.Marks.Released, r.Marks.Evicted
	sameRelease, sameEviction := released == seen.Released, evicted.ID != "" && evicted == seen.Evicted
	h, stands := r.Mine(id)
	switch {
	case r.Holds(id, t):
		return OutcomeHeld
	case !r.Exists:
		return OutcomeGone
	case released.of(id, t) && released.Call == call:
		return OutcomeReleased
	case released.of(id, t):
		return OutcomeReleasedEarlier
	case evicted.of(id, t):
		return OutcomeEvicted
	case sameRelease && (released.ID != "" || sameEviction):
		// No turn was released since, so neither was this one: the entry was removed
		// by hand, or the mark of its eviction was replaced.
		return OutcomeEvicted
	case sameEviction && !(stands && h.Ticket.IsZero()): // the entry may be that of this turn: its ticket cannot be read
		return OutcomeReleasedSome // no turn was evicted since
	}
	return OutcomeUnknown
}

// Made is what a record says of a fenced transaction.
type Made int

// The values of Made.
const (
	MadeUnknown Made = iota // the record does not say
	MadeYes                 // it was made
	MadeNotYet              // it was not made; an attempt under way may still make it
	MadeNever               // it was not made, and never will be
)

// Made returns what became of the fenced transaction number n, the last one of the
// holder id with ticket t.
func (r Record) Made(id string, t ticket.Number, n int64) Made {
	h, stands := r.Mine(id)
	evicted := r.Marks.Evicted
	switch {
	case stands && h.Ticket == t && h.Made < n:
		return MadeNotYet
	case stands && h.Ticket == t && h.Made == n:
		return MadeYes
	case stands && h.Ticket == t:
		return MadeNever // Settle has used the number
	case !evicted.of(id, t) || evicted.Made < 0:
		return MadeUnknown
	case evicted.Made == n:
		return MadeYes
	}
	return MadeNever
}

package machine

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

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

// OutcomeOf returns what became of the turn of the holder id with ticket t, and of its
// release call, by the record. seen are the marks of a record that contained the holder. The result
// depends on neither clocks nor the number of attempts.
func OutcomeOf(r queue.Record, id string, t ticket.Number, call int64, seen queue.Marks) Outcome {
	released, evicted := r.Marks.Released, r.Marks.Evicted
	mine := func(of string, with ticket.Number) bool { return of == id && with == t }
	releasedMine := mine(released.ID, released.Ticket)
	sameRelease, sameEviction := released == seen.Released, evicted.ID != "" && evicted == seen.Evicted
	h, stands := r.Mine(id)
	switch {
	case r.Holds(id, t):
		return OutcomeHeld
	case !r.Exists:
		return OutcomeGone
	case releasedMine && released.Call == call:
		return OutcomeReleased
	case releasedMine:
		return OutcomeReleasedEarlier
	case mine(evicted.ID, evicted.Ticket):
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

// MadeOf returns what became of the fenced transaction number n, the last one of the
// holder id with ticket t, by the record.
func MadeOf(r queue.Record, id string, t ticket.Number, n int64) Made {
	h, stands := r.Mine(id)
	evicted := r.Marks.Evicted
	switch {
	case stands && h.Ticket == t && h.Made < n:
		return MadeNotYet
	case stands && h.Ticket == t && h.Made == n:
		return MadeYes
	case stands && h.Ticket == t:
		return MadeNever // Settle has used the number
	case evicted.ID != id || evicted.Ticket != t || evicted.Made < 0:
		return MadeUnknown
	case evicted.Made == n:
		return MadeYes
	}
	return MadeNever
}

// nextTransaction returns the number of the fenced transaction after one. Transactions have
// even numbers. The odd number after one means that Settle has used it.
func nextTransaction(call int64) int64 { return call + 2 }

// maxRung is the largest number of permits of a semaphore whose holders have bells: of more, the record would become
// larger.
const maxRung = 10

// Someday returns a time of its own for each id, later than any clock shows.
func Someday(id string) time.Time {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(h.Sum32()) * time.Millisecond)
}

// unsettledFor is how long DynamoDB may take to finish a transaction whose sender is gone. DynamoDB documents no limit;
// a recovery takes seconds.
const unsettledFor = time.Minute

// MayAppear reports whether a fenced transaction of an earlier turn may become visible during a turn that begins with
// these marks. granted is the earliest time of its grant on DynamoDB's clock, or zero.
func MayAppear(m queue.Marks, granted time.Time) bool {
	recent := func(at time.Time) bool { return !at.IsZero() && (granted.IsZero() || granted.Sub(at) < unsettledFor) }
	evicted := !m.Evicted.Ticket.IsZero()
	last := m.Released.Ticket.Less(m.Evicted.Ticket) // no turn was released after the evicted one
	return slices.ContainsFunc(m.Unsettled, recent) || evicted && (last || m.Evicted.At.IsZero() || recent(m.Evicted.At))
}

// AddTurn adds a turn to hold times, with the gains of TCP's round-trip estimator: 1/8 and 1/4
// (RFC 6298, section 2).
func AddTurn(t queue.HoldTime, length time.Duration) queue.HoldTime {
	if t == (queue.HoldTime{}) {
		return queue.HoldTime{Mean: length, Deviation: length / 2}
	}
	return queue.HoldTime{
		Mean:      t.Mean + (length-t.Mean)/8,
		Deviation: t.Deviation + ((length-t.Mean).Abs()-t.Deviation)/4,
	}
}

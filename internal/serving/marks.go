package serving

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Marks are what the record says of turns that have ended. Ids are never used twice,
// so the value of a mark never returns.
type Marks struct {
	Released Released
	Evicted  Evicted
}

// Released is the last release. The zero Released is none.
type Released struct {
	ID     string
	Ticket ticket.Number
	Call   int64 // the release call of the holder that was applied
	// Open is when a fenced transaction of this turn, or of one shortly before, was
	// given up before it was visible. Zero if there was none.
	Open time.Time
}

// Evicted is the last eviction. The zero Evicted is none. An Evicted without a ticket
// names no holder. It was written with the record, and distinguishes the record from
// an earlier one of the same key.
type Evicted struct {
	ID     string
	Ticket ticket.Number
	Made   int64     // the holder's last fenced transaction; negative if unknown
	At     time.Time // on DynamoDB's clock; zero if unknown
}

func (e Evicted) same(o Evicted) bool { return e.ID == o.ID && e.Ticket == o.Ticket }

func (r Released) same(o Released) bool {
	return r.ID == o.ID && r.Ticket == o.Ticket && r.Call == o.Call
}

// decodeMarks reads marks. A malformed mark is ignored, because no turn depends on it.
func decodeMarks(released, evicted types.AttributeValue) (m Marks) {
	if r, ok := decodeMark(released); ok {
		read := Released{ID: r.Text(table.AttrID), Ticket: r.Ticket(table.AttrTicket), Call: r.Int(table.AttrCall), Open: r.OptionalTime(table.AttrOpen)}
		if r.Err == nil {
			m.Released = read
		}
	}
	if r, ok := decodeMark(evicted); ok {
		read := Evicted{ID: r.Text(table.AttrID), Ticket: r.Ticket(table.AttrTicket), Made: -1, At: r.OptionalTime(table.AttrAt)}
		if made, ok := r.OptionalInt(table.AttrMade); ok {
			read.Made = made
		}
		if r.Err == nil {
			m.Evicted = read
		}
	}
	return m
}

func decodeMark(value types.AttributeValue) (*table.Reader, bool) {
	mark, ok := value.(*types.AttributeValueMemberM)
	if !ok {
		return nil, false
	}
	return &table.Reader{Item: mark.Value}, true
}

func (r Released) attribute() types.AttributeValue {
	item := table.Item{table.AttrID: table.String(r.ID), table.AttrTicket: r.Ticket.Attribute(), table.AttrCall: table.Int(r.Call)}
	table.SetTime(item, table.AttrOpen, r.Open)
	return table.Map(item)
}

func (e Evicted) attribute() types.AttributeValue {
	item := table.Item{table.AttrID: table.String(e.ID), table.AttrTicket: e.Ticket.Attribute(), table.AttrMade: table.Int(e.Made)}
	table.SetTime(item, table.AttrAt, e.At)
	return table.Map(item)
}

// firstMark returns the mark that the first request for a ticket writes.
func firstMark(e Entry) types.AttributeValue { return Evicted{ID: e.ID}.attribute() }

// evict adds the mark of the holder's eviction to an update that removes it. The
// condition of the update must include asRead.
func (n names) evict(q table.Queue, update expression.UpdateBuilder, h Holder) expression.UpdateBuilder {
	mark := Evicted{ID: h.ID, Ticket: h.Ticket, Made: h.Made, At: lease.Middle(q.Clock(), time.Now())}
	return update.Set(n.evicted, expression.Value(mark.attribute()))
}

// asRead returns the condition that the entry has the ticket that was read, and that
// the holder has made no fenced transaction since.
func (n names) asRead(h Holder) expression.ConditionBuilder {
	own, made := n.field(h.ID, table.AttrTicket), n.field(h.ID, table.AttrMade)
	condition := own.AttributeNotExists().And(n.servingAfter.Equal(number(h.Ticket.Previous())))
	if h.claimed {
		condition = own.Equal(number(h.Ticket))
	}
	if h.Made == 0 {
		return condition.And(made.AttributeNotExists())
	}
	return condition.And(made.Equal(expression.Value(table.Int(h.Made))))
}

// Outcome is what a record says of a holder's turn.
type Outcome int

// The outcomes.
const (
	// OutcomeHeld: the holder is in the record.
	OutcomeHeld Outcome = iota
	// OutcomeReleased: the given call released it.
	OutcomeReleased
	// OutcomeReleasedEarlier: another call of the holder released it.
	OutcomeReleasedEarlier
	// OutcomeReleasedSome: one of the holder's calls released it.
	OutcomeReleasedSome
	// OutcomeEvicted: the holder was removed by another client.
	OutcomeEvicted
	// OutcomeGone: the record does not exist.
	OutcomeGone
	// OutcomeUnknown: marks of later turns have replaced the mark of this one.
	OutcomeUnknown
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
	switch {
	case r.Holds(id, t):
		return OutcomeHeld
	case !r.Exists:
		return OutcomeGone
	case released.ID == id && released.Ticket == t && released.Call == call:
		return OutcomeReleased
	case released.ID == id && released.Ticket == t:
		return OutcomeReleasedEarlier
	case evicted.ID == id && evicted.Ticket == t:
		return OutcomeEvicted
	}
	sameRelease := released.ID != "" && released.same(seen.Released)
	sameEviction := evicted.ID != "" && evicted.same(seen.Evicted)
	switch {
	case sameRelease, sameEviction && released.same(seen.Released):
		// No turn was released since, so neither was this one: the entry was removed
		// by hand, or the mark of its eviction was replaced.
		return OutcomeEvicted
	case sameEviction:
		return OutcomeReleasedSome // no turn was evicted since
	}
	return OutcomeUnknown
}

// Made is what a record says of a fenced transaction.
type Made int

// The values of Made.
const (
	// MadeUnknown: the record does not say.
	MadeUnknown Made = iota
	// MadeYes: it was made.
	MadeYes
	// MadeNotYet: it was not made; an attempt under way may still make it.
	MadeNotYet
	// MadeNever: it was not made, and never will be.
	MadeNever
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
	case evicted.ID != id || evicted.Ticket != t || evicted.Made < 0:
		return MadeUnknown
	case evicted.Made == n:
		return MadeYes
	}
	return MadeNever
}

package queue

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/ticket"
)

// Marks are what the record says of turns that have ended: the last release, the last eviction, and transactions that
// may not be visible yet. Zero is none. Ids are never used twice, so the value of a mark never returns.
type Marks struct {
	Released Released
	Evicted  Eviction
	// Unsettled has a time, on DynamoDB's clock, for each transaction that an earlier holder gave up: from then on it
	// no longer begins. A time that was not known is far in the future.
	Unsettled []time.Time
}

// Released is the mark of a release.
type Released struct {
	ID     string
	Ticket ticket.Number
	Call   int64 // the release call of the holder that was applied
}

// Eviction is the mark of an eviction: it says which holder was evicted, because its lease had ended, or by an
// operator. Of several that were evicted at once, it names one. Without a ticket it names none: it was written with the
// record, and distinguishes the record from an earlier one of the same key.
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

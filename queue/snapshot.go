package queue

import (
	"time"

	"github.com/queuelock/queuelock/clause"
)

// Snapshot is what one look showed: the record, and the rows in the order of tickets.
type Snapshot struct {
	Record Record
	Rows   []Waiter
	Own    bool    // the row of the ticket itself is there, if the look asked for it
	Next   *Waiter // with the ticket after it; nil if there is none
	// Whole reports that one look has read the record and then all rows ahead.
	Whole bool
	// Suspect is the holder that has not accepted its grant, in an answer before the look was sent; empty: none.
	Suspect string
	// ReadAt is when the answer arrived, or later, on the local monotonic clock. An
	// earlier time would make leases seem unchanged for longer than they were.
	ReadAt time.Time
}

// SnapshotOf returns the snapshot of a record that a request has returned at a time.
func SnapshotOf(rec Record, at time.Time) Snapshot { return Snapshot{Record: rec, ReadAt: at} }

// Saw replaces the record by one that a request has returned at a time.
func (s *Snapshot) Saw(rec Record, at time.Time) { s.Record, s.ReadAt, s.Whole = rec, at, false }

// Add adds an item of the queue that was read. Rows must come in the order of tickets.
// Returns a [*clause.MalformedError] if the item is a record and is malformed.
func (s *Snapshot) Add(q Items, item clause.Item) (err error) {
	switch isRecord := text(item, q.SK) == q.RecordSortKey(); {
	case !isRecord:
		s.Rows = append(s.Rows, DecodeRow(q, item))
	case q.Home == nil: // otherwise it is not the record of this queue
		s.Record, err = DecodeRecord(q, item)
	}
	return err
}

package rows

import (
	"context"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Snapshot is what one look showed: the record, and the rows in the order of tickets.
type Snapshot struct {
	Record serving.Record
	Rows   []Row
	Own    bool // the row of LookNext's ticket is there
	Next   *Row // with the ticket after it; nil if there is none
	// Whole reports that one look has read the record and then all rows ahead.
	Whole bool
	// ReadAt is when the answer arrived, or later, on the local monotonic clock. An
	// earlier time would make leases seem unchanged for longer than they were.
	ReadAt time.Time
}

// SnapshotOf returns the snapshot of a record that a request has just returned.
func SnapshotOf(rec serving.Record) Snapshot { return Snapshot{Record: rec, ReadAt: time.Now()} }

// Saw replaces the record by one that a request has just returned.
func (s *Snapshot) Saw(rec serving.Record) { s.Record, s.ReadAt, s.Whole = rec, time.Now(), false }

// Look reads the record and all rows ahead of ticket t by one consistent query. floor is
// the floor that the caller saw last, or zero. If it is directly below t, no row can be
// ahead, and Look reads the record alone. Each further megabyte of rows, some 3,000, costs
// one more request, and so does a user's item.
func Look(ctx context.Context, q table.Queue, t, floor ticket.Number) (Snapshot, error) {
	if !floor.IsZero() && floor == t.Previous() {
		rec, err := serving.Get(ctx, q)
		return SnapshotOf(rec), err
	}
	return look(ctx, q, q.SortKey(t.Previous()))
}

// LookNext is Look that also shows the row of ticket t and the one after, which a holder needs to hand over by name. It
// always reads the rows.
func LookNext(ctx context.Context, q table.Queue, t ticket.Number) (Snapshot, error) {
	next, err := t.Next()
	if err != nil {
		return Look(ctx, q, t, ticket.Number{})
	}
	s, err := look(ctx, q, q.SortKey(next))
	s.Rows = slices.DeleteFunc(s.Rows, func(row Row) bool {
		switch row.Ticket {
		case t:
			s.Own = true
		case next:
			s.Next = &row
		default:
			return false
		}
		return true
	})
	return s, err
}

// LookAll reads the record and all rows, with the requests of Look.
func LookAll(ctx context.Context, q table.Queue) (Snapshot, error) {
	return look(ctx, q, q.LastSortKey())
}

// look reads the record before the rows, so that it shows every row that was there at
// the time of the record.
func look(ctx context.Context, q table.Queue, to string) (s Snapshot, err error) {
	sent := time.Now()
	if q.Home != nil {
		if s.Record, err = serving.Get(ctx, q); err != nil {
			return s, err
		}
	}
	items, err := q.Range(ctx, q.RecordSortKey(), to)
	s.ReadAt = time.Now()
	if err != nil {
		return s, err
	}
	for _, item := range items {
		if err := s.Add(q, item); err != nil {
			return s, err
		}
	}
	s.Record, s.Whole = s.Record.Timed(sent), true
	return s, nil
}

// Add adds an item of the queue that was read. Rows must come in the order of tickets.
// Returns a *clause.MalformedError if the item is a record and is malformed.
func (s *Snapshot) Add(q table.Queue, item clause.Item) (err error) {
	switch isRecord := text(item, q.SK) == q.RecordSortKey(); {
	case !isRecord:
		s.Rows = append(s.Rows, decode(q, item))
	case q.Home == nil: // otherwise it is not the record of this queue
		s.Record, err = serving.Decode(q, item)
	}
	return err
}

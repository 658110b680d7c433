package rows

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Snapshot is what one look showed: the record, and the rows behind it in order.
type Snapshot struct {
	Record serving.Record
	Rows   []Row
	// ReadAt is when the answer had come, on the local monotonic clock, or
	// later. Never earlier: leases that it shows would be taken to have stood
	// still for that much longer. Of what is judged too late, the conditional
	// write asks again.
	ReadAt time.Time
}

// SnapshotOf is the snapshot of a record that a request has just returned.
func SnapshotOf(rec serving.Record) Snapshot { return Snapshot{Record: rec, ReadAt: time.Now()} }

// Saw puts a record that a request has just returned in the place of the one
// before.
func (s *Snapshot) Saw(rec serving.Record) { s.Record, s.ReadAt = rec, time.Now() }

// Look reads the record and all rows ahead of ticket t, by one consistent
// query that follows every page. With the floor right below t nobody can be
// ahead, and a read of the record is enough; floor is what the caller last
// saw, or zero. One request, and one more for each further megabyte of rows:
// some 3,000. Of an item of the user's own, the item first and then the rows: one
// request more.
func Look(ctx context.Context, q table.Queue, t, floor ticket.Number) (Snapshot, error) {
	if !floor.IsZero() && floor == t.Previous() {
		rec, err := serving.Get(ctx, q)
		return SnapshotOf(rec), err
	}
	return look(ctx, q, q.SortKey(t.Previous().Padded()))
}

// LookAll reads the record and all rows. Requests as for Look.
func LookAll(ctx context.Context, q table.Queue) (Snapshot, error) {
	return look(ctx, q, q.LastSortKey())
}

// look reads the record before the rows: whose row stood when it was read is
// seen. A record on an item of the user's own takes a request more.
func look(ctx context.Context, q table.Queue, to string) (s Snapshot, err error) {
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
		if sortKey(q, item) != q.RecordSortKey() {
			s.Rows = append(s.Rows, decode(q, item))
			continue
		}
		if q.Home != nil {
			continue // no record of this queue's
		}
		if s.Record, err = serving.Decode(q, item); err != nil {
			return s, err
		}
	}
	return s, nil
}

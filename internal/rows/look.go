package rows

import (
	"context"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Look reads the record and all rows ahead of ticket t by one consistent query. floor is
// the floor that the caller saw last, or zero. If it is directly below t, no row can be
// ahead, and Look reads the record alone. Each further megabyte of rows, some 3,000, costs
// one more request, and so does a user's item.
func Look(ctx context.Context, q table.Queue, t, floor ticket.Number) (queue.Snapshot, error) {
	if !floor.IsZero() && floor == t.Previous() {
		rec, err := serving.Get(ctx, q)
		return queue.SnapshotOf(rec, time.Now()), err
	}
	return look(ctx, q, q.SortKey(t.Previous()))
}

// LookNext is Look that also shows the row of ticket t and the one after, which a holder needs to hand over by name. It
// always reads the rows.
func LookNext(ctx context.Context, q table.Queue, t ticket.Number) (queue.Snapshot, error) {
	next, err := t.Next()
	if err != nil {
		return Look(ctx, q, t, ticket.Number{})
	}
	s, err := look(ctx, q, q.SortKey(next))
	s.Rows = slices.DeleteFunc(s.Rows, func(row queue.Waiter) bool {
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
func LookAll(ctx context.Context, q table.Queue) (queue.Snapshot, error) {
	return look(ctx, q, q.LastSortKey())
}

// look reads the record before the rows, so that it shows every row that was there at
// the time of the record.
func look(ctx context.Context, q table.Queue, to string) (s queue.Snapshot, err error) {
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
		if err := s.Add(q.Items, item); err != nil {
			return s, err
		}
	}
	s.Record, s.Whole = s.Record.Timed(sent, s.ReadAt), true
	return s, nil
}

package requests

import (
	"context"
	"slices"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Look reads the record and all rows ahead of ticket t, all of them if it is zero, by one consistent query. floor is
// the floor that the caller saw last, or zero. If it is directly below t, no row can be
// ahead, and Look reads the record alone. Each further megabyte of rows, some 3,000, costs
// one more request, and so does a user's item. turns is zero, or how many tickets the row of ticket t has: it also
// shows that row and the one after, which a holder needs to hand over by name, and always reads the rows.
func Look(ctx context.Context, q table.Queue, t, floor ticket.Number, turns int) (s queue.Snapshot, err error) {
	next, last := t.Plus(uint64(turns)), ticket.Max
	byName := turns > 0 && next != last
	switch {
	case byName:
		last = next
	case !t.IsZero():
		last = t.Previous()
	}
	if !byName && !floor.IsZero() && floor == last {
		rec, err := Get(ctx, q)
		return queue.SnapshotOf(rec, time.Now()), err
	}
	sent := time.Now()
	if q.Home != nil { // before the rows, so that it shows every row that was there at the time of the record
		if s.Record, err = Get(ctx, q); err != nil {
			return s, err
		}
	}
	for more, page := true, clause.Item(nil); more; more = page != nil {
		var items []clause.Item
		items, page, err = q.Range(ctx, q.RecordSortKey(), q.SortKey(last), page)
		s.ReadAt = time.Now()
		if err != nil {
			return s, err
		}
		for _, item := range items {
			if err := s.Add(q.Items, item); err != nil {
				return s, err
			}
		}
	}
	s.Record, s.Whole = s.Record.Timed(sent, s.ReadAt), true
	if byName {
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
	}
	return s, nil
}

// LookAround reads the record and all rows but that of ticket t, also those behind it. It costs the requests of
// LookAll.
func LookAround(ctx context.Context, q table.Queue, t ticket.Number) (queue.Snapshot, error) {
	s, err := LookAll(ctx, q)
	s.Rows = slices.DeleteFunc(s.Rows, func(row queue.Waiter) bool {
		own := row.Ticket == t
		s.Own = s.Own || own
		return own
	})
	return s, err
}

// LookAll reads the record and all rows, with the requests of Look.
func LookAll(ctx context.Context, q table.Queue) (queue.Snapshot, error) {
	return Look(ctx, q, ticket.Number{}, ticket.Number{}, 0)
}

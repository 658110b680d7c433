package sweeper

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/group"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Table sends the requests of a sweep: each method one, for one queue.
type Table interface {
	// Look reads the record and all rows, consistently.
	Look(ctx context.Context) (queue.Snapshot, error)
	// Record reads the record, consistently.
	Record(ctx context.Context) (queue.Record, error)
	// Write sends a write of the record. It returns the record as it is afterwards, or as it refused the write, and
	// whether the write was applied. After an error it may have been.
	Write(ctx context.Context, w clause.Write) (rec queue.Record, applied bool, err error)
	// Remove sends a delete of the row that was read, and returns whether it was applied.
	Remove(ctx context.Context, row queue.Waiter, w clause.Write) (applied bool, err error)
}

// Sweeper removes what has expired in one queue. All fields but Forget are needed.
type Sweeper struct {
	Table    Table
	Items    queue.Items
	Clock    *heartbeat.Clock
	Observer *heartbeat.Observer
	// Forget is the time after which the table's TTL deletes an idle record. Zero: never.
	Forget time.Duration
}

// parallel is the number of rows removed at once. A pass over a thousand rows takes
// seconds, and stays below a partition's limit of 1,000 write units a second.
const parallel = 16

// Rows removes rows that were seen expired, with one request each. It returns how many it removed, and the first error.
// A row that has changed is no error. It ends like a request by which the [Table] has ended its goroutine.
func (s Sweeper) Rows(ctx context.Context, expired []queue.Waiter) (removed int, err error) {
	var mu sync.Mutex // guards removed and err
	var all group.All
	slots := make(chan struct{}, parallel)
	for _, row := range expired {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			ok, sweepErr := s.Table.Remove(ctx, row, row.Sweep())
			mu.Lock()
			defer mu.Unlock()
			if ok {
				removed++
			}
			if err == nil {
				err = sweepErr
			}
		})
	}
	all.Wait()()
	return removed, err
}

// Holders evicts holders that were seen expired, forty with one request. It returns the
// record as it is afterwards, and how many were evicted, closed entries left out. If one of a batch has renewed
// its lease, the others of that batch are evicted one by one.
func (s Sweeper) Holders(ctx context.Context, holders []queue.Holder) (rec queue.Record, n int, err error) {
	for batch := range slices.Chunk(holders, queue.MaxEvicted) {
		var applied bool
		switch rec, applied, err = s.Table.Write(ctx, s.evict(batch...)); {
		case err != nil:
			return rec, n, err
		case applied:
			n += len(queue.Turns(batch))
		case len(batch) > 1:
			for i := range batch {
				var one int
				if rec, one, err = s.Holders(ctx, batch[i:i+1]); err != nil {
					return rec, n, err
				}
				n += one
			}
		}
	}
	return rec, n, nil
}

// evict is EVICT of at most queue.MaxEvicted holders whose leases have ended, all or none. If it is refused, one of
// them has changed: judge again. Closed entries come first: the mark is of the last, which is a turn if there is one.
func (s Sweeper) evict(holders ...queue.Holder) clause.Write {
	closed := slices.DeleteFunc(slices.Clone(holders), func(h queue.Holder) bool { return !h.Closed })
	holders = append(closed, queue.Turns(holders)...)
	return queue.Evict(s.mark(holders[len(holders)-1]), holders...)
}

// mark is that of a holder's eviction now.
func (s Sweeper) mark(h queue.Holder) queue.Eviction {
	mark := queue.Eviction{ID: h.ID, Ticket: h.Ticket, Made: h.Made}
	if _, latest, known := s.Clock.At(time.Now()); known {
		mark.At = latest // no transaction of the holder began later
	}
	return mark
}

// Swept counts what a sweep removed: rows of waiters, and holders. A block is one.
type Swept struct{ Waiters, Holders int }

func (s *Swept) add(o Swept) { s.Waiters, s.Holders = s.Waiters+o.Waiters, s.Holders+o.Holders }

// Sweep looks at the whole queue and removes all that has expired, by the clock or by what the observer has seen. A
// queue without holders and outstanding tickets becomes idle, so that the next Acquire is one request and Config.Forget
// counts from then on. It returns what it removed, and the first error of each kind.
func (s Sweeper) Sweep(ctx context.Context) (Swept, error) {
	snapshot, err := s.Table.Look(ctx)
	if err != nil {
		return Swept{}, err
	}
	if suspect := snapshot.Record.Unaccepted(); suspect != "" { // a second look proves that its waiter has left
		if snapshot, err = s.Table.Look(ctx); err != nil {
			return Swept{}, err
		}
		snapshot.Suspect = suspect
	}
	expired := snapshot.Decide(s.Observer.Leases(s.Items, snapshot), ticket.Max, queue.Mode{}, nil)
	waiters, rowsErr := s.Rows(ctx, expired.ExpiredRows)
	rec, holders, holdersErr := s.Holders(ctx, expired.ExpiredHolders)
	if len(expired.ExpiredHolders) == 0 {
		rec = snapshot.Record
	}
	var idleErr error
	if holdersErr == nil && rec.CanIdle() {
		idleErr = s.MakeIdle(ctx, rec)
	}
	return Swept{Waiters: waiters, Holders: holders}, errors.Join(rowsErr, holdersErr, idleErr)
}

// MakeIdle sends RESET for a client that was granted nothing, after it has removed holders from the record. The first
// ticket that was served since holders became present was granted, and a ticket behind it may be outstanding. If the
// record is of a wider scope, the table's TTL must not delete it. A refusal is no error: another client has done it, or
// has taken a ticket.
func (s Sweeper) MakeIdle(ctx context.Context, rec queue.Record) error {
	var forget time.Time
	if _, latest, known := s.Clock.At(time.Now()); known && s.Forget > 0 && rec.Scope == ticket.ScopeQueue {
		forget = latest.Add(s.Forget)
	}
	_, _, err := s.Table.Write(ctx, queue.Reset(rec.FirstServed(), forget))
	return err
}

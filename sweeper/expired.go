package sweeper

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// parallel is the number of rows removed at once. A pass over a thousand rows takes
// seconds, and stays below a partition's limit of 1,000 write units a second.
const parallel = 16

// Rows removes rows that were seen expired, with one request each. It returns how many
// it removed, and the first error. A row that has changed is no error. It ends like a request by which the DynamoDB client has
// ended its goroutine.
func Rows(ctx context.Context, q table.Queue, expired []queue.Waiter) (removed int, err error) {
	var mu sync.Mutex // guards removed, err and end
	var end func()    // a panic, or runtime.Goexit
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for _, row := range expired {
		slots <- struct{}{}
		wg.Go(func() {
			returned := false
			defer func() {
				<-slots
				if returned {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				end = runtime.Goexit
				if v := recover(); v != nil {
					end = func() { panic(v) }
				}
			}()
			ok, sweepErr := rows.Sweep(ctx, q, row)
			returned = true
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
	wg.Wait()
	if end != nil {
		end()
	}
	return removed, err
}

// Holders evicts holders that were seen expired, forty with one request. It returns the
// record as it is afterwards, and how many were evicted, closed entries left out. If one of a batch has renewed
// its lease, the others of that batch are evicted one by one.
func Holders(ctx context.Context, q table.Queue, holders []queue.Holder) (rec queue.Record, n int, err error) {
	for batch := range slices.Chunk(holders, queue.MaxEvicted) {
		rec, err = serving.Evict(ctx, q, batch...)
		switch {
		case err == nil:
			n += len(queue.Turns(batch))
		case !errors.Is(err, serving.ErrRefused):
			return rec, n, err
		case len(batch) > 1:
			for i := range batch {
				var one int
				if rec, one, err = Holders(ctx, q, batch[i:i+1]); err != nil {
					return rec, n, err
				}
				n += one
			}
		}
	}
	return rec, n, nil
}

// Swept counts what a sweep removed: rows of waiters, and holders. A block is one.
type Swept struct{ Waiters, Holders int }

func (s *Swept) add(o Swept) { s.Waiters, s.Holders = s.Waiters+o.Waiters, s.Holders+o.Holders }

// Queue looks at a whole queue and removes all that has expired, by the clock or by what
// the observer has seen. A queue without holders and outstanding tickets becomes idle, so
// that the next Acquire is one request and Config.Forget counts from then on. It returns
// what it removed, and the first error of each kind.
func Queue(ctx context.Context, q table.Queue, observer *heartbeat.Observer) (Swept, error) {
	snapshot, err := rows.LookAll(ctx, q)
	if err != nil {
		return Swept{}, err
	}
	if suspect := snapshot.Record.Unaccepted(); suspect != "" { // a second look proves that its waiter has left
		if snapshot, err = rows.LookAll(ctx, q); err != nil {
			return Swept{}, err
		}
		snapshot.Suspect = suspect
	}
	expired := snapshot.Decide(observer.Leases(q.Items, snapshot), ticket.Max, queue.Mode{}, nil)
	waiters, rowsErr := Rows(ctx, q, expired.ExpiredRows)
	rec, holders, holdersErr := Holders(ctx, q, expired.ExpiredHolders)
	if len(expired.ExpiredHolders) == 0 {
		rec = snapshot.Record
	}
	var idleErr error
	if holdersErr == nil && rec.CanIdle() {
		if _, idleErr = serving.MakeIdle(ctx, q, rec); errors.Is(idleErr, serving.ErrRefused) {
			idleErr = nil // another client has done it, or has taken a ticket
		}
	}
	return Swept{Waiters: waiters, Holders: holders}, errors.Join(rowsErr, holdersErr, idleErr)
}

// Package sweep removes queue rows and holders whose leases have ended, and holders that an operator names.
//
// # Promises
//
// No live lease is removed, but by Shown. Each removal is a conditional write that asks for the beat
// by which the lease was judged, so an owner that has renewed since keeps its row or its
// lock. Crashes do not compound: all that have expired are removed in one pass.
//
// # Does not promise
//
// To find what has expired. Waiters call it with what they see, and Queue looks on
// demand. There is no background process. An owner that pauses past the lease of its row
// loses the row, and with a longer pause its place. Exclusion is not affected.
//
//	| failure                      | outcome                                    |
//	|------------------------------|--------------------------------------------|
//	| the answer is lost           | the removal is repeated, and refused       |
//	| several clients sweep        | one removes, the others are refused        |
//	| the removal arrives late     | refused if anything has changed            |
package sweep

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
)

// parallel is the number of rows removed at once. A pass over a thousand rows takes
// seconds, and stays below a partition's limit of 1,000 write units a second.
const parallel = 16

// Rows removes rows that were seen expired, with one request each. It returns how many
// it removed, and the first error. A row that has changed is no error.
func Rows(ctx context.Context, q table.Queue, expired []rows.Row) (removed int, err error) {
	var mu sync.Mutex // guards removed and err
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for _, row := range expired {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			ok, sweepErr := rows.Sweep(ctx, q, row)
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
	return removed, err
}

// Holders evicts holders that were seen expired, forty with one request. It returns the
// record as it is afterwards, and how many were evicted. If one of a batch has renewed
// its lease, the others of that batch are evicted one by one.
func Holders(ctx context.Context, q table.Queue, holders []serving.Holder) (rec serving.Record, n int, err error) {
	for batch := range slices.Chunk(holders, serving.MaxEvicted) {
		rec, err = serving.Evict(ctx, q, batch...)
		switch {
		case err == nil:
			n += len(batch)
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

// Swept counts what a sweep removed.
type Swept struct{ Waiters, Holders int }

// Queue looks at a whole queue and removes all that has expired, by the clock or by what
// the observer has seen. A queue without holders and outstanding tickets becomes idle, so
// that the next Acquire is one request and Config.Forget counts from then on. It returns
// what it removed, and the first error of each kind.
func Queue(ctx context.Context, q table.Queue, observer *lease.Observer) (Swept, error) {
	snapshot, err := rows.LookAll(ctx, q)
	if err != nil {
		return Swept{}, err
	}
	expired := snapshot.Decide(snapshot.Observe(q, observer), snapshot.Record.Floor(), serving.Mode{}, nil)
	waiters, rowsErr := Rows(ctx, q, expired.ExpiredRows)
	rec, holders, holdersErr := Holders(ctx, q, expired.ExpiredHolders)
	if len(expired.ExpiredHolders) == 0 {
		rec = snapshot.Record
	}
	var idleErr error
	if holdersErr == nil && rec.Idle() {
		if _, idleErr = serving.MakeIdle(ctx, q, rec); errors.Is(idleErr, serving.ErrRefused) {
			idleErr = nil // another client has done it, or has taken a ticket
		}
	}
	return Swept{Waiters: waiters, Holders: holders}, errors.Join(rowsErr, holdersErr, idleErr)
}

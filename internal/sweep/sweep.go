// Package sweep removes what the dead leave behind: queue rows whose leases
// have ended, and holders that will not come back.
//
// It promises that nothing alive is removed: each removal is a conditional
// write that asks for the beat by which the lease was judged, so an owner that
// renewed in the meantime keeps what it has. It promises that the dead do not
// add up: all that have expired go in one pass, however many. It does not
// promise to find them: waiters call it with what they see while they look,
// and Queue does so on demand; there is no background process.
//
// Who is authoritative: the table, at the moment of the write. A row that
// is swept although its owner lives (it stalled past its lease) costs that
// owner its row, and if it stalls for longer its place, never the lock's
// exclusion.
//
//	seen expired ──► removed, if its beat is as seen
//	             └─► refused: it lives, or somebody else swept it
//
//	| failure                      | what comes of it                          |
//	|------------------------------|-------------------------------------------|
//	| the answer is lost           | the removal is repeated, and refused       |
//	| several sweep at once        | one removes, the others are refused        |
//	| the removal arrives late     | refused, if anything has changed           |
package sweep

import (
	"context"
	"errors"
	"sync"

	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
)

// parallel is how many rows are removed side by side: enough for one pass over
// a thousand dead rows to take seconds, few enough to stay off the limits of a
// partition (1,000 write units a second).
const parallel = 16

// Rows removes rows that were seen expired. It returns how many it removed,
// and the first error; rows that had changed are no error. One request for
// each row. Calling again is safe.
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

// Holders evicts holders that were seen expired, and returns the record as it
// then is, and how many are gone. Holders of which one has renewed its lease
// are tried one by one. One request for each forty holders, or for each.
// Calling again is safe.
func Holders(ctx context.Context, q table.Queue, holders []serving.Holder) (rec serving.Record, evicted int, err error) {
	for len(holders) > 0 {
		batch := holders[:min(len(holders), serving.MaxEvicted)]
		holders = holders[len(batch):]
		rec, err = serving.Evict(ctx, q, batch...)
		if err == nil {
			evicted += len(batch)
			continue
		}
		if !errors.Is(err, serving.ErrRefused) {
			return rec, evicted, err
		}
		if len(batch) == 1 {
			continue
		}
		for _, h := range batch {
			if rec, err = serving.Evict(ctx, q, h); err == nil {
				evicted++
			} else if !errors.Is(err, serving.ErrRefused) {
				return rec, evicted, err
			}
		}
	}
	return rec, evicted, nil
}

// Swept counts what a sweep removed.
type Swept struct{ Rows, Holders int }

// Queue looks at a whole queue and removes all that has expired, by the clock
// or by what the observer has seen so far. It returns what it removed, and the
// first error. The requests of rows.LookAll, Rows and Holders. Calling again
// is safe.
func Queue(ctx context.Context, q table.Queue, observer *lease.Observer) (Swept, error) {
	snapshot, err := rows.LookAll(ctx, q)
	if err != nil {
		return Swept{}, err
	}
	dead := snapshot.Decide(q, snapshot.Record.Floor(), serving.Mode{}, nil, observer)
	var swept Swept
	var errs [2]error
	swept.Rows, errs[0] = Rows(ctx, q, dead.DeadRows)
	if len(dead.DeadHolders) > 0 {
		_, swept.Holders, errs[1] = Holders(ctx, q, dead.DeadHolders)
	}
	return swept, errors.Join(errs[:]...)
}

package optimistic_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/optimistic"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestConflictStorm lets many processes count in one item over networks that fail in all ways: no update is lost, and
// none is made twice.
func TestConflictStorm(t *testing.T) {
	for seed := range locktest.Scaled[uint64](24, 6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { storm(t, seed) })
		})
	}
}

// fates are what a request may meet in a storm.
var fates = []queuelocktest.Fault{
	queuelocktest.LoseRequest(),
	queuelocktest.LoseResponse(),
	queuelocktest.LandLate(15 * time.Millisecond),
	queuelocktest.LandLate(3 * time.Second),
	queuelocktest.Duplicate(0),
	queuelocktest.Duplicate(40 * time.Millisecond),
	queuelocktest.DelayRequest(30 * time.Millisecond),
	queuelocktest.DelayResponse(30 * time.Millisecond),
	queuelocktest.DelayRequest(2500 * time.Millisecond).LandingAnyway(),
	queuelocktest.DelayResponse(2500 * time.Millisecond),
	queuelocktest.Refuse(queuelocktest.Throttling),
	queuelocktest.Refuse(queuelocktest.InternalError),
	queuelocktest.Refuse(queuelocktest.TransactionConflict),
}

func storm(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	table := queuelocktest.NewTable(t, queuelocktest.WithLatency(time.Duration(1+rng.IntN(20))*time.Millisecond))
	for i, fate := range fates {
		if p := 0.1 * rng.Float64(); rng.IntN(2) == 0 {
			table.Inject(fate.WithProbability(p, seed*100+uint64(i)))
		}
	}
	workers, each, removes := 2+rng.IntN(7), 1+rng.IntN(12), rng.IntN(3) == 0

	var mu sync.Mutex
	made, unknown, refused, removed := 0, 0, 0, 0
	var wg sync.WaitGroup
	for w := range workers {
		items, _ := open(t, table, fmt.Sprint("worker-", w), optimistic.Config{Attempts: 30})
		wg.Go(func() {
			for range each {
				_, err := items.Update(t.Context(), order, increment, optimistic.OrCreate())
				mu.Lock()
				switch {
				case err == nil:
					made++
				case errors.Is(err, optimistic.ErrUnknown):
					unknown++
				default: // says that nothing was written
					refused++
				}
				mu.Unlock()
			}
			if item, err := items.Load(t.Context(), order); err == nil && removes {
				err := items.Delete(t.Context(), item)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					removed += counter(item)
				case errors.Is(err, optimistic.ErrUnknown):
					unknown += counter(item)
				}
			}
		})
	}
	wg.Wait()
	locktest.OK(t, table.Settle(t.Context()))
	n := removed
	if len(table.Items()) > 0 {
		n += counter(load(t, first(t, table)))
	}
	t.Logf("%d × %d: %d made, %d unknown, %d refused; n = %d, %d of them removed", workers, each, made, unknown, refused, n, removed)
	if !removes && (n < made || n > made+unknown) {
		t.Errorf("n = %d, want %d, or %d more that are unknown", n, made, unknown)
	}
	if removes && n < made-unknown {
		// A late create may have brought back what was removed; and what
		// another worker removed counts for two deletes whose answers were lost.
		t.Errorf("n = %d, want at least %d, less %d that are unknown", n, made, unknown)
	}
	if made+unknown+2 < workers*each*3/4 {
		t.Errorf("%d of %d were made, %d are unknown", made, workers*each, unknown)
	}
}

// first is a client without faults.
func first(t *testing.T, table *queuelocktest.Table) *optimistic.Table {
	t.Helper()
	items, db := open(t, table, "first", optimistic.Config{})
	db.Inject(queuelocktest.DelayRequest(0)) // comes before those of the table
	return items
}

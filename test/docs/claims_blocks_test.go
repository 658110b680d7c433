package docs_test

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestWhoJoinsBlocks lets calls of each kind wait behind a lock of another client, as docs/configuration.md lists them.
func TestWhoJoinsBlocks(t *testing.T) {
	type call struct {
		wait waitpolicy.Wait
		opts []queuelock.AcquireOption
	}
	with := func(o ...queuelock.AcquireOption) call { return call{waitpolicy.Forever, o} }
	progress := queuelock.OnProgress(func(queuelock.Progress) {})
	together := map[string]call{"Forever": with(), "For": {waitpolicy.For(time.Hour), nil}, "OnProgress": with(progress),
		"WithTTL": with(queuelock.WithTTL(time.Hour)), "WithOwner": with(queuelock.WithOwner("x"))}
	alone := map[string]call{
		"WithData":    with(queuelock.WithData([]byte("x"))),
		"NoHeartbeat": with(queuelock.NoHeartbeat()), "OnExpiring": with(queuelock.OnExpiring(time.Second, func(*queuelock.Lock) {})),
		"OnHandle": with(queuelock.OnHandle(func(queuelock.Handle) {})), "Shared": with(queuelock.Shared()), "Permits": with(queuelock.Permits(1)),
		"LockDelay": with(queuelock.LockDelay(time.Second)), "FailClosed": with(queuelock.FailClosed()),
	}
	rows := func(name string, c call, scope ticket.Scope) (turns []int) {
		synctest.Test(t, func(t *testing.T) {
			table := newTable(t)
			a, _ := locktest.Open(t, table, "a", queuelock.Config{Scope: scope})
			b, _ := locktest.Open(t, table, "b", queuelock.Config{Scope: scope, Block: 64})
			var mode []queuelock.AcquireOption
			if name == "Permits" {
				mode = c.opts
			}
			held := locktest.Acquire(t, a, waitpolicy.NoWait, mode...)
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for range 4 { // the first takes a ticket, and the others gather
				all.Go(func() {
					if lock, err := b.Acquire(ctx, order, c.wait, c.opts...); err == nil {
						locktest.Release(t, lock)
					}
				})
				time.Sleep(time.Microsecond)
			}
			time.Sleep(time.Second)
			for _, w := range locktest.Must(a.Viewer().Inspect(t.Context(), order)).Waiting {
				turns = append(turns, w.Turns)
			}
			cancel()
			all.Wait()
			locktest.Release(t, held)
		})
		return turns
	}
	for name, c := range together {
		if got := rows(name, c, ticket.ScopeQueue); !slices.Equal(got, []int{1, 3}) {
			t.Errorf("%s: rows with %v tickets, want a block of 3", name, got)
		}
	}
	for name, c := range alone {
		if got := rows(name, c, ticket.ScopeQueue); !slices.Equal(got, []int{1, 1, 1, 1}) {
			t.Errorf("%s: rows with %v tickets, want each alone", name, got)
		}
	}
	if got := rows("Scope", with(), ticket.ScopeTable); !slices.Equal(got, []int{1, 1, 1, 1}) {
		t.Errorf("a wider scope: rows with %v tickets, want each alone", got)
	}
}

// TestCostOfBlocks measures the writes of a turn inside one client. TestBlocks of package acquire has the other figure.
func TestCostOfBlocks(t *testing.T) {
	const claimed, goroutines, turns = 0.15, 8, 100
	says(t, "docs/costs.md", "%d goroutines of one client that take turns without a pause need about %g writes a turn", goroutines, claimed)
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4600*time.Microsecond))
		c, _ := locktest.Open(t, table, "a", queuelock.Config{Block: 64})
		spent := locktest.Cost(table, func() {
			var all sync.WaitGroup
			for range goroutines {
				all.Go(func() {
					for range turns {
						locktest.Release(t, locktest.Acquire(t, c, waitpolicy.Forever))
					}
				})
			}
			all.Wait()
		})
		if got := spent.WriteUnits / (goroutines * turns); math.Abs(got-claimed) > claimed/5 {
			t.Errorf("%.3f write units a turn, the page has %g", got, claimed)
		}
	})
}

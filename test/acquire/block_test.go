package acquire_test

import (
	"fmt"
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

// gang is goroutines of several clients that take turns.
type gang struct {
	clients, goroutines, turns int // turns of each goroutine
	hold                       time.Duration
	cfg                        queuelock.Config
}

// run returns turns a second, and writes a turn. Tickets rise from turn to turn.
func (g gang) run(t *testing.T) (rate, writes float64) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(roundTrip))
		var last ticket.Number // guarded by the lock
		var all sync.WaitGroup
		var clients []*queuelock.Client
		for i := range g.clients {
			client, _ := locktest.Open(t, table, fmt.Sprint(i), g.cfg)
			clients = append(clients, client)
		}
		count := func() (writes int, units float64) {
			for op, n := range table.Counts() {
				if op != "GetItem" && op != "Query" {
					writes += n.Applied
				}
				units += n.WriteUnits
			}
			return writes, units
		}
		before, _ := count()
		began := time.Now()
		for i, client := range clients {
			for j := range g.goroutines {
				all.Go(func() {
					time.Sleep(time.Duration(i)*137*time.Microsecond + time.Duration(j)*time.Microsecond)
					for range g.turns {
						lock := locktest.Acquire(t, client, waitpolicy.Forever)
						if !last.Less(lock.Ticket()) {
							t.Errorf("ticket %s after %s", lock.Ticket(), last)
						}
						last = lock.Ticket()
						time.Sleep(g.hold)
						locktest.Release(t, lock)
					}
				})
			}
		}
		all.Wait()
		turns := float64(g.clients * g.goroutines * g.turns)
		after, units := count()
		rate, writes = turns/time.Since(began).Seconds(), float64(after-before)/turns
		t.Logf("%.0f turns/s, %.2f writes and %.2f units a turn: %+v", rate, writes, units/turns, table.Counts())
	})
	return rate, writes
}

func TestBlocks(t *testing.T) {
	t.Run("OneClient", func(t *testing.T) {
		rate, writes := gang{clients: 1, goroutines: 8, turns: 100, cfg: queuelock.Config{Block: 64}}.run(t)
		if rate < 400 || writes > 0.5 {
			t.Errorf("%.0f turns/s and %.2f writes a turn, want 400 and 0.5", rate, writes)
		}
	})
	t.Run("Clients", func(t *testing.T) {
		rate, writes := gang{clients: 20, goroutines: 32, turns: 5, hold: time.Millisecond, cfg: queuelock.Config{Block: 64}}.run(t)
		if rate < 300 || writes > 0.3 {
			t.Errorf("%.0f turns/s and %.2f writes a turn, want 300 and 0.3", rate, writes)
		}
	})
}

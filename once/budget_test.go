package once_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/once"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestBudget bounds the requests of 200 callers in 20 processes, and the time to the last answer. As locks that are taken one after
// the other they would cost six requests for each caller, and looks. The first time waiters do not know how long it takes.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		name         string
		takes, late  time.Duration
		first, later int
	}{
		{"Second", time.Second, 500 * time.Millisecond, 400, 300},
		{"FiveSeconds", 5 * time.Second, 2 * time.Second, 600, 360},
		{"Minute", time.Minute, 6 * time.Second, 1300, 900},
	} {
		locktest.InTable(t, c.name, func(t *testing.T, table *queuelocktest.Table) {
			var processes []*queuelock.Client
			for i := range 20 {
				locks, _ := locktest.Open(t, table, fmt.Sprintf("p%02d", i), queuelock.Config{})
				processes = append(processes, locks)
			}
			for round, most := range []int{c.first, c.later, c.later} {
				begun, calls := time.Now(), 0
				spent := locktest.Cost(table, func() { askAll(t, processes, returns(fmt.Sprint("of round ", round), c.takes, &calls)) })
				late := time.Since(begun) - c.takes
				if calls != 1 || spent.Sent > most || late > c.late {
					t.Errorf("round %d: %d computed, %+v, the last answer %v late", round, calls, spent, late)
				}
				t.Logf("%+v, the last answer %v late", spent, late)
				time.Sleep(2 * time.Hour)
			}
		}, queuelocktest.WithLatency(4*time.Millisecond))
	}
}

// askAll lets each process have ten callers, 50 ms after the process before. All must have one result.
func askAll(t *testing.T, processes []*queuelock.Client, fn once.Func) {
	t.Helper()
	values := make(chan string, 10*len(processes))
	var all sync.WaitGroup
	for i, locks := range processes {
		time.Sleep(time.Duration(min(i, 1)) * 50 * time.Millisecond)
		for range 10 {
			all.Go(func() {
				value, err := once.Do(context.Background(), locks, locktest.Order, time.Hour, fn)
				locktest.Check(t, err)
				values <- string(value)
			})
		}
	}
	all.Wait()
	close(values)
	first := <-values
	for value := range values {
		if value != first {
			t.Errorf("one caller has %q, and another one %q", first, value)
		}
	}
}

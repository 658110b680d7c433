package once_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/hints"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

// TestScopes checks that the counter of the tickets does not matter.
func TestScopes(t *testing.T) {
	for _, scope := range []ticket.Scope{ticket.ScopeEntity, ticket.ScopeTable} {
		locktest.InTable(t, scope.String(), func(t *testing.T, table *queuelocktest.Table) {
			calls := 0
			var all sync.WaitGroup
			for i := range 4 {
				c, _ := locktest.Open(t, table, fmt.Sprint("p", i), queuelock.Config{Scope: scope})
				all.Go(func() {
					if got := do(t, c, time.Hour, returns("it", 5*time.Second, &calls)); got != "it" {
						t.Errorf("got %q", got)
					}
				})
			}
			all.Wait()
			if calls != 1 {
				t.Errorf("%d computed", calls)
			}
		})
	}
}

// TestHints checks that a hint brings the result to all waiters of other processes at once.
func TestHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
		var hub hints.Hub
		calls := 0
		var all sync.WaitGroup
		var mu sync.Mutex
		var last time.Time
		begun := time.Now()
		for i := range 10 {
			name := fmt.Sprint("p", i)
			c, _ := locktest.Open(t, table, name, queuelock.Config{Wake: hub.Client(name)})
			all.Go(func() {
				do(t, c, time.Hour, returns("it", time.Minute, &calls))
				mu.Lock()
				defer mu.Unlock()
				last = time.Now()
			})
		}
		all.Wait()
		if late := last.Sub(begun) - time.Minute; calls != 1 || late > 300*time.Millisecond {
			t.Errorf("%d computed, the last answer %v late", calls, late)
		}
	})
}

package once_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
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

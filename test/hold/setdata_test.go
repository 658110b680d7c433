package hold_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestConcurrentSetData checks that concurrent calls of SetData leave the data of the
// call that began last. An earlier call that is overtaken on its way by a later one is
// answered as if they had come in order.
func TestConcurrentSetData(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		first := db.Inject(queuelocktest.HoldRequest().Mentioning("dataSet").Times(1))
		var wg sync.WaitGroup
		wg.Go(func() {
			locktest.Check(t, lock.SetData(t.Context(), []byte("first")))
		})
		<-first.Reached()
		for range 9 {
			wg.Go(func() {
				locktest.Check(t, lock.SetData(t.Context(), []byte("another")))
			})
		}
		synctest.Wait()
		locktest.Check(t, lock.SetData(t.Context(), []byte("last")))
		first.Release()
		wg.Wait()
		if got := dataOf(t, table); got != "last" || lock.Err() != nil {
			t.Errorf("%q is there, %v", got, lock.Err())
		}
		locktest.Release(t, lock)
	})
}

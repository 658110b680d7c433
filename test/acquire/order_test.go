package acquire_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestOverlappingAnswers checks that a waiter does not act on an older record than its own, which another waiter of
// its client receives later: the answer to the CLAIM of ticket 2 is slow. Ticket 3 is taken after the CLAIM was
// applied, by the same client, and ticket 4 by another one. By the record of the CLAIM, ticket 3 was never issued.
func TestOverlappingAnswers(t *testing.T) {
	locktest.InTable(t, "CostNoPlace", func(t *testing.T, table *queuelocktest.Table) {
		here, db, there := locktest.Pair(t, table, queuelock.Config{}, "here", "there")
		third, _ := locktest.Open(t, table, "third", queuelock.Config{})
		held := locktest.Acquire(t, there, waitpolicy.NoWait)
		first := locktest.LockBy(t, here)
		synctest.Wait()
		take := db.Inject(queuelocktest.HoldRequest().Of("UpdateItem").Mentioning("if_not_exists(holders").Times(1))
		second := locktest.LockBy(t, here)
		<-take.Reached()
		claim := db.Inject(queuelocktest.HoldResponse().Of("UpdateItem").Mentioning("size (holders) = 0").Times(1))
		locktest.Release(t, held)
		<-claim.Reached()
		take.Release()
		time.Sleep(200 * time.Millisecond) // its row is put
		last := locktest.LockBy(t, third)
		time.Sleep(200 * time.Millisecond)
		claim.Release()
		time.Sleep(100 * time.Millisecond) // the second looks while the first holds the lock
		for want := uint64(1); want <= 3; want++ {
			var got locktest.Outcome
			select {
			case got = <-first:
			case got = <-second:
			case got = <-last:
			}
			if got.Err != nil || got.Lock.Ticket().After(held.Ticket()) != want {
				t.Fatalf("ticket %v, %v is granted, want that %d after the first holder's", got.Lock.Ticket(), got.Err, want)
			}
			locktest.Release(t, got.Lock)
		}
	})
}

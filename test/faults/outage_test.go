package faults_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestFailingClaims checks that claims that fail are given up. Claims that fail while
// looks succeed must not be repeated for ever, and leaving must take no longer for it.
func TestFailingClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(5*time.Millisecond))
		a, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		b, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
		held := locktest.Acquire(t, b, waitpolicy.NoWait)
		waiting := locktest.QueueUp(t.Context(), a, waitpolicy.Forever)
		time.Sleep(time.Second)
		refuse := queuelocktest.Refuse(queuelocktest.InternalError).Of("UpdateItem").On(locktest.Order.Entity, "lock/"+ticket.Number{}.Padded())
		claims := db.Inject(refuse.Mentioning("size (holders) = 0"))
		removals := db.Inject(refuse.Mentioning("REMOVE holders."))
		locktest.Release(t, held)
		begun := time.Now()
		got := <-waiting
		if took := got.At.Sub(begun); got.Err == nil || took > time.Minute {
			t.Errorf("after %v: %v", took, got.Err)
		}
		// Pauses double from 50 ms to 2 s, each shortened or lengthened by up to a half, for 30 s.
		if n := claims.Fired(); n < 15 || n > 30 {
			t.Errorf("%d claims were sent in vain, want some 20", n)
		}
		// Leaving takes 3 s, and each call is three requests of the SDK.
		if n := removals.Fired(); n < 9 || n > 30 {
			t.Errorf("%d removals were sent in vain, want some 20", n)
		}
	})
}

package queuelocktest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// The two tests that the package's description shows.

// TestLostGrant checks that a grant whose answer was lost is found.
func TestLostGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		alice := table.Client("alice")
		locks, err := queuelock.New(alice, table.Name(), queuelock.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer locks.Close(context.Background())
		key := queuelock.Key{Entity: "order-7"}
		ship := func(context.Context, *queuelock.Lock) error { return nil }
		// The first use of a key writes the record with a PutItem.
		if err := locks.Do(t.Context(), key, waitpolicy.NoWait, ship); err != nil {
			t.Fatal(err)
		}

		lost := alice.Inject(queuelocktest.LoseResponse().Of("UpdateItem").Times(1))
		if err := locks.Do(t.Context(), key, waitpolicy.NoWait, ship); err != nil {
			t.Errorf("the answer to the grant was lost: %v", err)
		}
		if lost.Fired() != 1 {
			t.Error("no answer was lost")
		}
	})
}

// TestPartition checks that a partition loses the lock.
func TestPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		alice := table.Client("alice")
		locks, err := queuelock.New(alice, table.Name(), queuelock.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer locks.Close(context.Background())
		lock, err := locks.Acquire(t.Context(), queuelock.Key{Entity: "order-7"}, waitpolicy.NoWait)
		if err != nil {
			t.Fatal(err)
		}

		alice.Partition()
		<-lock.Context().Done() // a minute of the bubble's time
		if !errors.Is(lock.Err(), queuelock.ErrLost) {
			t.Error(lock.Err())
		}
	})
}

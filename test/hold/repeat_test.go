package hold_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestReleaseTwice checks that a second Release returns nil, and concurrent calls of Release agree.
func TestReleaseTwice(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		lock, db := hold(t, table, queuelock.Config{})
		before := db.Counts()
		results := make(chan error)
		for range 5 {
			go func() { results <- lock.Release(t.Context()) }()
		}
		for range 5 {
			locktest.Check(t, <-results)
		}
		locktest.Release(t, lock)
		if n := db.Counts().Sub(before).Total().Sent; n != 1 {
			t.Errorf("%d requests for releasing one lock", n)
		}
	}, queuelocktest.WithLatency(10*time.Millisecond))
}

func TestReleaseRepeated(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		denied := db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("UpdateItem"))
		err := lock.Release(t.Context())
		locktest.Says(t, err, "release", `"order-7"`, "1m0s")
		if !errors.Is(lock.Err(), queuelock.ErrReleased) || lock.Context().Err() == nil {
			t.Errorf("after a release that failed the lock says %v", lock.Err())
		}
		denied.Remove()
		locktest.Release(t, lock)
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
	})
}

// TestReleaseRepeatedTooLate checks that a release is tried until the lease ends, and that Close has nothing to say of a lock
// whose lease has ended while its release was repeated.
func TestReleaseRepeatedTooLate(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, db := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		lock := locktest.Acquire(t, a, waitpolicy.Forever)
		db.Partition()
		begun := time.Now()
		locktest.Says(t, lock.Release(t.Context()), "release", "1m0s")
		if took := time.Since(begun); took < 45*time.Second || took > time.Minute {
			t.Errorf("it gave up after %v, with a lease of a minute", took)
		}
		locktest.Says(t, lock.Release(limited(t, 10*time.Second)), "release", "1m0s") // past the end on all clocks
		time.Sleep(5 * time.Second)
		db.Heal()
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.Forever))
		locktest.OK(t, a.Close(t.Context()))
	})
}

// TestReleaseAfterEndedContext checks that Release works with a context that has ended, as a deferred one often gets.
func TestReleaseAfterEndedContext(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		cancel()
		locktest.Check(t, lock.Release(ctx))
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
	}, queuelocktest.WithLatency(10*time.Millisecond))
}

// TestReleaseContext checks that Release does not wait for another call past the end of its context.
func TestReleaseContext(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		lock, db := hold(t, table, queuelock.Config{})
		db.Inject(queuelocktest.SwallowRequest())
		first := make(chan error)
		go func() { first <- lock.Release(context.Background()) }()
		synctest.Wait()
		begun := time.Now()
		locktest.Is(t, lock.Release(limited(t, time.Second)), context.DeadlineExceeded)
		if took := time.Since(begun); took > 7*time.Second {
			t.Errorf("Release with a second to go took %v", took)
		}
		if err := <-first; err == nil {
			t.Error("the first Release succeeded without an answer")
		}
		locktest.Is(t, lock.Release(limited(t, time.Second)), context.DeadlineExceeded)
	})
}

package release_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestReleaseWithAfterLoss checks that ReleaseWith writes nothing after a loss.
func TestReleaseWithAfterLoss(t *testing.T) {
	locktest.InBubble(t, "evicted", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		locktest.OperatorTakes(t, table)
		spent := locktest.Cost(table, func() {
			err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil))
			if lost, ok := errors.AsType[*queuelock.LostError](err); !ok || lost.Cause != queuelock.Evicted {
				t.Errorf("got %v, want a LostError: evicted", err)
			}
		})
		if spent.Sent != 1 || locktest.Balance(table) != "0" || !errors.Is(lock.Err(), queuelock.ErrLost) {
			t.Errorf("%d requests; the account holds %s; the lock's end is %v", spent.Sent, locktest.Balance(table), lock.Err())
		}
	})
	locktest.InBubble(t, "evicted, after requests that were lost", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		locktest.OperatorTakes(t, table)
		db.Inject(queuelocktest.LoseRequest().Of("TransactWriteItems").Times(2))
		if err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil)); !errors.Is(err, queuelock.ErrLost) || locktest.Balance(table) != "0" {
			t.Errorf("got %v, want ErrLost: the token says that nothing was made", err)
		}
	})
	locktest.InBubble(t, "partitioned", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		db.Partition()
		begun := time.Now()
		err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil))
		unknown, ok := errors.AsType[*queuelock.UnknownOutcomeError](err)
		if !ok || errors.Is(err, queuelock.ErrLost) || !errors.Is(unknown.End, queuelock.ErrLost) || time.Since(begun) > time.Minute+time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		db.Heal()
		if err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil)); !errors.Is(err, queuelock.ErrLost) || locktest.Balance(table) != "0" {
			t.Errorf("then %v, and the account holds %s", err, locktest.Balance(table))
		}
	})
	locktest.InBubble(t, "throttled until the end", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{TTL: 10 * time.Second})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		db.Inject(queuelocktest.Refuse(queuelocktest.Throttling))
		// A throttle proves nothing: a copy may have been sent before.
		err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil))
		if unknown, ok := errors.AsType[*queuelock.UnknownOutcomeError](err); !ok || !errors.Is(unknown.End, queuelock.ErrLost) {
			t.Errorf("got %v", err)
		}
	})
}

// TestConcurrentReleases checks that of many concurrent releases one gets through.
func TestConcurrentReleases(t *testing.T) {
	for seed := range uint64(30) {
		locktest.InBubble(t, fmt.Sprint(seed), func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			c, db := locktest.Open(t, table, "c", queuelock.Config{})
			lock := locktest.Acquire(t, c, waitpolicy.NoWait)
			db.Inject(queuelocktest.LoseResponse().Of("TransactWriteItems", "UpdateItem").WithProbability(0.3, seed))
			var made atomic.Int64
			var wg sync.WaitGroup
			rng := rand.New(rand.NewPCG(seed, 0))
			for range 5 {
				pause := time.Duration(rng.IntN(8)) * time.Millisecond
				wg.Go(func() {
					time.Sleep(pause)
					err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil))
					if err == nil {
						made.Add(1)
					} else if !errors.Is(err, queuelock.ErrReleased) {
						t.Error(err)
					}
				})
			}
			for range 2 {
				pause := time.Duration(rng.IntN(8)) * time.Millisecond
				wg.Go(func() {
					time.Sleep(pause)
					if err := lock.Release(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if got := locktest.Balance(table); got != fmt.Sprint(made.Load()) {
				t.Errorf("%d calls wrote, and the account holds %s", made.Load(), got)
			}
		})
	}
	locktest.InBubble(t, "Close", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		stuck := db.Inject(queuelocktest.SwallowResponse().Of("TransactWriteItems"))
		done := make(chan error, 1)
		go func() { done <- lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil)) }()
		<-stuck.Reached()
		begun := time.Now()
		if err := c.Close(t.Context()); err != nil || time.Since(begun) > 3*time.Second {
			t.Errorf("Close took %v: %v", time.Since(begun), err)
		}
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](<-done); !unknown {
			t.Error("the call that Close cut short was to have an unknown outcome")
		}
	})
}

// TestReleaseWithUnderFaults checks that ReleaseWith under random faults writes exactly
// when it reports so.
func TestReleaseWithUnderFaults(t *testing.T) {
	for seed := range locktest.Scaled[uint64](15, 5) {
		locktest.InBubble(t, fmt.Sprint(seed), func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(10*time.Millisecond))
			var log locktest.Journal
			wants, unsure := 0, 0
			var mu sync.Mutex
			var wg sync.WaitGroup
			for i := range 3 {
				c, db := locktest.Open(t, table, fmt.Sprint("c", i), queuelock.Config{TTL: 20 * time.Second, HeartbeatInterval: time.Second, Logger: log.Logger()})
				db.Inject(queuelocktest.LandLate(300*time.Millisecond).Of("TransactWriteItems").WithProbability(0.25, seed))
				db.Inject(queuelocktest.LoseResponse().WithProbability(0.2, seed+1))
				db.Inject(queuelocktest.Duplicate(500*time.Millisecond).Of("TransactWriteItems").WithProbability(0.3, seed+2))
				db.Inject(queuelocktest.Refuse(queuelocktest.TransactionConflict).WithProbability(0.1, seed+3))
				wg.Go(func() {
					for range 4 {
						lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(10*time.Minute))
						if err != nil {
							t.Error(err)
							return
						}
						time.Sleep(1500 * time.Millisecond)
						err = lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil))
						_, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err)
						mu.Lock()
						switch {
						case err == nil:
							wants++
						case unknown:
							unsure++
						default:
							t.Errorf("ReleaseWith: %v", err)
						}
						mu.Unlock()
						if err := lock.Release(t.Context()); err != nil {
							t.Errorf("Release: %v", err)
						}
					}
				})
			}
			wg.Wait()
			if err := table.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			var got int
			if _, err := fmt.Sscan(locktest.Balance(table), &got); err != nil || got < wants || got > wants+unsure {
				t.Errorf("%d were made for certain, %d perhaps, and the account holds %d (%v)", wants, unsure, got, err)
			}
			if log.SaysLost() {
				t.Error("a lock was called lost")
			}
		})
	}
}

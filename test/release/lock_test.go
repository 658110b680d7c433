package release_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestAHeldLockIsKeptForAsLongAsItIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		other, _ := locktest.Open(t, table, "b", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		waiting := locktest.QueueUp(t.Context(), other, waitpolicy.Forever)
		before := db.Counts()
		time.Sleep(time.Hour)
		if err := lock.Err(); err != nil {
			t.Fatalf("lost after an hour: %v", err)
		}
		if beats := db.Counts().Sub(before).Total().Sent; beats < 119 || beats > 134 { // none late, each up to 3 s early
			t.Errorf("%d heartbeats in an hour, want one each thirty seconds", beats)
		}
		locktest.Release(t, lock)
		if got := <-waiting; got.Err != nil {
			t.Error(got.Err)
		}
	})
}

func TestALockEndsWithItsReleaseAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "trace"))
		lock, err := c.Acquire(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.Forever)
		if err != nil {
			t.Fatal(err)
		}
		cancel() // the wait's context does not end the lock
		if lock.Err() != nil || lock.Context().Err() != nil || lock.Context().Value(key{}) != "trace" {
			t.Errorf("held: %v, %v, %v", lock.Err(), lock.Context().Err(), lock.Context().Value(key{}))
		}
		if want := (queuelock.Key{Entity: "order-7", Reason: "lock"}); lock.Key() != want {
			t.Errorf("key %v, want %v", lock.Key(), want)
		}
		locktest.Release(t, lock)
		<-lock.Done()
		if !errors.Is(lock.Err(), queuelock.ErrReleased) || !errors.Is(context.Cause(lock.Context()), queuelock.ErrReleased) || !errors.Is(lock.Context().Err(), context.Canceled) {
			t.Errorf("released: %v, %v, %v", lock.Err(), context.Cause(lock.Context()), lock.Context().Err())
		}
	})
}

// The record says what the refusal of a Release means: the lock was taken away.
func TestReleaseTellsALossThatNobodyKnewOf(t *testing.T) {
	for what, take := range map[string]func(*testing.T, *queuelocktest.Table, *queuelock.Lock){
		"another process resumed it": func(t *testing.T, table *queuelocktest.Table, lock *queuelock.Lock) {
			other, _ := locktest.Open(t, table, "other", queuelock.Config{})
			locktest.Release(t, locktest.Must(other.Resume(t.Context(), lock.Handle(), waitpolicy.NoWait)))
		},
		"another process has resumed it": func(t *testing.T, table *queuelocktest.Table, lock *queuelock.Lock) {
			other, _ := locktest.Open(t, table, "other", queuelock.Config{})
			locktest.Must(other.Resume(t.Context(), lock.Handle(), waitpolicy.NoWait))
		},
		"an operator took it": func(t *testing.T, table *queuelocktest.Table, _ *queuelock.Lock) {
			operatorTakes(t, table)
		},
		"an operator took it, and another holds it": func(t *testing.T, table *queuelocktest.Table, _ *queuelock.Lock) {
			other, _ := locktest.Open(t, table, "other", queuelock.Config{})
			operatorTakes(t, table)
			locktest.Acquire(t, other, waitpolicy.Forever)
		},
		"an operator deleted the record": func(t *testing.T, table *queuelocktest.Table, _ *queuelock.Lock) {
			locktest.Must(table.Client("operator").DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(table.Name()), Key: locktest.RecordKey()}))
		},
	} {
		for engine, options := range map[string][]queuelocktest.Option{"current": nil, "older": {queuelocktest.WithoutFailedItem()}} {
			for _, queued := range []bool{false, true} {
				locktest.InBubble(t, fmt.Sprintf("%s, engine: %s, queued: %t", what, engine, queued), func(t *testing.T) {
					table := queuelocktest.NewTable(t, options...)
					c, db := locktest.Open(t, table, "c", queuelock.Config{})
					held := locktest.Acquire(t, c, waitpolicy.NoWait)
					if queued {
						waiting := locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
						synctest.Wait()
						locktest.Release(t, held)
						held = (<-waiting).Lock
					}
					take(t, table, held)
					synctest.Wait() // what the waiter has left to do in the background
					before := db.Counts()
					err := held.Release(t.Context())
					lost, ok := errors.AsType[*queuelock.LostError](err)
					_, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err)
					if deleted := strings.Contains(what, "deleted"); unknown != deleted || !deleted && (!ok || lost.Cause != queuelock.Evicted || lost.Ticket != held.Ticket()) {
						t.Errorf("%v", err) // with the record, the mark of a release is gone
					}
					if again := held.Release(t.Context()); again != err {
						t.Errorf("called again: %v", again)
					}
					if n := db.Counts().Sub(before).Total().Sent; n > 2 {
						t.Errorf("%d requests, want the release and, where no record is shown, a look at it", n)
					}
				})
			}
		}
	}
	locktest.InBubble(t, "and so does Do", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		err := c.Do(t.Context(), locktest.Order, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error {
			operatorTakes(t, table)
			return nil
		})
		if !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("%v", err)
		}
	})
}

// After an attempt without an answer a refusal says that this one was made,
// unless the record shows who has taken the lock.
func TestAReleaseWithoutAnAnswerIsFoundOut(t *testing.T) {
	for what, test := range map[string]struct {
		fault   queuelocktest.Fault
		resumed bool
	}{
		"made":                                 {queuelocktest.SwallowResponse().Times(1), false},
		"made, and its connection broken":      {queuelocktest.LoseResponse().Times(1), false},
		"not made":                             {queuelocktest.SwallowRequest().Times(1), false},
		"not made, and another has resumed it": {queuelocktest.SwallowRequest().Times(1), true},
	} {
		locktest.InBubble(t, what, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := locktest.Open(t, table, "c", queuelock.Config{})
			other, _ := locktest.Open(t, table, "other", queuelock.Config{})
			lock := locktest.Acquire(t, c, waitpolicy.NoWait)
			db.Inject(test.fault.Of("UpdateItem"))
			done := make(chan error, 1)
			go func() { done <- lock.Release(t.Context()) }()
			synctest.Wait()
			if test.resumed {
				locktest.Must(other.Resume(t.Context(), lock.Handle(), waitpolicy.NoWait))
			}
			if err := <-done; errors.Is(err, queuelock.ErrLost) != test.resumed || !test.resumed && err != nil {
				t.Errorf("%v", err)
			}
			if locked := locktest.Must(other.IsLocked(t.Context(), locktest.Order)); locked != test.resumed {
				t.Errorf("it is locked: %t", locked)
			}
		})
	}
}

func TestDoReleasesWhateverHappens(t *testing.T) {
	boom := errors.New("boom")
	for name, f := range map[string]func(context.Context, *queuelock.Lock) error{
		"nil":   func(context.Context, *queuelock.Lock) error { return nil },
		"error": func(context.Context, *queuelock.Lock) error { return boom },
		"panic": func(context.Context, *queuelock.Lock) error { panic(boom) },
		"released inside": func(ctx context.Context, lock *queuelock.Lock) error {
			return lock.Release(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := queuelocktest.NewTable(t)
				c, _ := locktest.Open(t, table, "a", queuelock.Config{})
				var err error
				func() {
					defer func() {
						if r := recover(); r != nil {
							if name != "panic" || r != boom {
								t.Errorf("panic %v", r)
							}
							err = boom
						}
					}()
					err = c.Do(t.Context(), locktest.Order, waitpolicy.Forever, f)
				}()
				if want := map[bool]error{true: boom}[name == "error" || name == "panic"]; !errors.Is(err, want) || (want == nil) != (err == nil) {
					t.Errorf("%v, want %v", err, want)
				}
				if spent := locktest.Cost(table, func() { locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait)) }); spent.Sent != 2 {
					t.Errorf("after Do: %+v, want an idle lock", spent)
				}
			})
		})
	}
}

func TestDoTellsLossFromTheCallersEnd(t *testing.T) {
	t.Run("lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
			err := c.Do(t.Context(), locktest.Order, waitpolicy.Forever, func(ctx context.Context, _ *queuelock.Lock) error {
				db.Partition()
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), queuelock.ErrLost) {
					t.Errorf("cause %v", context.Cause(ctx))
				}
				return nil
			})
			if loss, ok := errors.AsType[*queuelock.LostError](err); !ok || loss.Cause != queuelock.Unreachable {
				t.Errorf("%v, want a loss", err)
			}
		})
	})
	t.Run("deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			err := c.Do(ctx, locktest.Order, waitpolicy.Forever, func(ctx context.Context, _ *queuelock.Lock) error {
				if _, ok := ctx.Deadline(); !ok {
					t.Error("fn's context hides the deadline")
				}
				<-ctx.Done()
				return context.Cause(ctx)
			})
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, queuelock.ErrLost) {
				t.Errorf("%v, want the caller's deadline", err)
			}
			locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		})
	})
	t.Run("not acquired", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
			lock := locktest.Acquire(t, c, waitpolicy.Forever)
			err := c.Do(t.Context(), locktest.Order, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error {
				t.Error("fn was called")
				return nil
			})
			if !errors.Is(err, queuelock.ErrNotAcquired) {
				t.Error(err)
			}
			locktest.Release(t, lock)
		})
	})
}

func TestAProcessThatStoodStillLearnsOfItsLossWhenItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		work, cancel := context.WithCancel(lock.Context())
		defer cancel()
		db.Inject(queuelocktest.SwallowRequest())
		// At the very instant of the deadline this goroutine may run before any
		// timer's.
		time.Sleep(9 * time.Second)
		if err := lock.Context().Err(); err == nil {
			t.Error("the context says nothing of the loss")
		}
		if err := work.Err(); err == nil {
			t.Error("a context derived from it says nothing of the loss")
		}
		if !errors.Is(lock.Err(), queuelock.ErrLost) || !errors.Is(context.Cause(work), queuelock.ErrLost) {
			t.Errorf("%v, %v", lock.Err(), context.Cause(work))
		}
	})
}

// A caller that stands still for longer than a lease right after its TAKE was
// served must not be taken for its former self: ids are never used twice.
func TestAnIDThatWasLeftIsNeverUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		var pause atomic.Int64
		a, err := queuelock.New(locktest.Stalling{Client: table.Client("a").Client, Pause: func() time.Duration {
			return time.Duration(pause.Swap(0))
		}}, table.Name(), queuelock.Config{Owner: "a"})
		if err != nil {
			t.Fatal(err)
		}
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait))
		slow := make(chan locktest.Outcome, 1)
		go func() {
			lock, err := a.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
			slow <- locktest.Outcome{Lock: lock, Err: err, At: time.Now()}
		}()
		time.Sleep(time.Millisecond)         // its TAKE is on its way
		pause.Store(int64(65 * time.Second)) // and its answer is looked at much later
		time.Sleep(time.Second)
		if _, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); !errors.Is(err, queuelock.ErrNotAcquired) {
			t.Fatalf("b beside a: %v", err)
		}
		time.Sleep(62 * time.Second)
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.NoWait))
		got := <-slow
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		time.Sleep(time.Second)
		if lock, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait); err == nil && got.Lock.Err() == nil {
			t.Errorf("two holders: tickets %s and %s", got.Lock.Ticket(), lock.Ticket())
		}
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseWithAContextThatHasEndedStillReleases(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(5*time.Millisecond))
			a, _ := locktest.Open(t, table, "a", queuelock.Config{})
			b, _ := locktest.Open(t, table, "b", queuelock.Config{})
			lock := locktest.Acquire(t, a, waitpolicy.NoWait)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = a.Close(ctx) // it may not have waited for all that runs
			if !errors.Is(lock.Err(), queuelock.ErrReleased) {
				t.Errorf("%v after Close", lock.Err())
			}
			locktest.Release(t, locktest.Acquire(t, b, waitpolicy.NoWait))
		})
	}
}

func TestReleaseDoesNotWaitForAnotherPastItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		db.Inject(queuelocktest.SwallowRequest())
		first := make(chan error)
		go func() { first <- lock.Release(context.Background()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if err := lock.Release(ctx); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if took := time.Since(begun); took > 7*time.Second {
			t.Errorf("Release with a second to go took %v", took)
		}
		if err := <-first; err == nil {
			t.Error("the first Release succeeded without an answer")
		}
	})
}

func TestDoWithoutAFunctionAndNewWithoutAClientAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		locktest.Says(t, c.Do(t.Context(), locktest.Order, waitpolicy.NoWait, nil), "function is nil")
		if n := db.Counts().Total().Sent; n != 0 {
			t.Errorf("%d requests were sent", n)
		}
		_, err := queuelock.New((*dynamodb.Client)(nil), table.Name(), queuelock.Config{})
		locktest.Says(t, err, "client is nil")
	})
}

func TestWithTTLAndWithOwnerChangeOneLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		for _, ttl := range []time.Duration{time.Second, 5 * time.Second, time.Hour} {
			lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.WithTTL(ttl), queuelock.WithOwner("batch"))
			state := locktest.Must(c.Inspect(t.Context(), locktest.Order))
			if h := state.Serving[0]; h.TTL != ttl || h.Owner != "batch" {
				t.Errorf("%+v, want a lease of %v", h, ttl)
			}
			time.Sleep(3 * ttl)
			if err := lock.Err(); err != nil {
				t.Errorf("with a lease of %v: %v", ttl, err)
			}
			locktest.Release(t, lock)
		}
	})
}

// Observation alone is an option for engines whose dates are wrong.
func TestObserveExpiryIgnoresTheDatabasesClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var jumped atomic.Bool
		table := queuelocktest.NewTable(t, queuelocktest.WithClock(func() time.Time {
			if jumped.Load() {
				return time.Now().Add(24 * time.Hour)
			}
			return time.Now()
		}))
		cfg := queuelock.Config{TTL: locktest.TTL, ObserveExpiry: true}
		a, db := locktest.Open(t, table, "a", cfg)
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.Forever))
		lock := locktest.Acquire(t, a, waitpolicy.Forever)
		jumped.Store(true)
		b, _ := locktest.Open(t, table, "b", cfg)
		waiting := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
		time.Sleep(3 * locktest.TTL)
		if err := lock.Err(); err != nil {
			t.Fatalf("a date that jumped cost a live holder its lock: %v", err)
		}
		db.Partition()
		died := time.Now()
		if got := <-waiting; got.Err != nil || got.At.Sub(died) > locktest.TTL+1500*time.Millisecond {
			t.Errorf("taken over after %v: %v", got.At.Sub(died), got.Err)
		}
	})
}

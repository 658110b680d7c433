package queuelock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// journal keeps what a client logs.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

func (j *journal) saysLost() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Contains(j.text.String(), "lost a lock")
}

// operatorTakes removes all holders of the order's record.
func operatorTakes(t *testing.T, table *queuelocktest.Table) {
	t.Helper()
	if _, err := table.Client("operator").UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(table.Name()), Key: recordKey(),
		UpdateExpression:          aws.String("SET holders = :nobody"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":nobody": &types.AttributeValueMemberM{}},
	}); err != nil {
		t.Fatal(err)
	}
}

func TestReleaseWithWritesOnceAndReleasesWhateverHappensOnTheWay(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{
		"no fault":                queuelocktest.DelayRequest(0),
		"request lost":            queuelocktest.LoseRequest().Times(2),
		"response lost":           queuelocktest.LoseResponse().Times(2),
		"response never comes":    queuelocktest.SwallowResponse().Times(3), // heartbeats are refused meanwhile
		"throttled":               queuelocktest.Refuse(queuelocktest.Throttling).Times(5),
		"arrives twice":           queuelocktest.Duplicate(time.Second),
		"arrives late":            queuelocktest.LandLate(30 * time.Millisecond).Times(1),
		"arrives after the next":  queuelocktest.LandLate(20 * time.Second).Times(1),
		"conflict":                queuelocktest.Refuse(queuelocktest.TransactionConflict).Times(3),
		"slow":                    queuelocktest.DelayRequest(900 * time.Millisecond),
		"answers come very late":  queuelocktest.DelayResponse(time.Hour).Times(4),
		"requests are very late":  queuelocktest.DelayRequest(time.Hour).LandingAnyway().Times(2),
		"server's own fault":      queuelocktest.Refuse(queuelocktest.InternalError).Times(2),
		"unavailable for a while": queuelocktest.Refuse(queuelocktest.Unavailable).Times(4),
	} {
		for _, older := range []bool{false, true} {
			inBubble(t, fmt.Sprintf("%s, older engine: %v", name, older), func(t *testing.T) {
				var opts []queuelocktest.Option
				if older {
					opts = append(opts, queuelocktest.WithoutFailedItem())
				}
				table := queuelocktest.NewTable(t, opts...)
				var log journal
				c, db := open(t, table, "c", queuelock.Config{TTL: 20 * time.Second, HeartbeatInterval: time.Second, Logger: log.logger()})
				lock := acquire(t, c, waitpolicy.NoWait)
				db.Inject(fault.Of("TransactWriteItems"))
				if err := lock.ReleaseWith(t.Context(), deposit(table, nil)); err != nil {
					t.Fatal(err)
				}
				if !errors.Is(lock.Err(), queuelock.ErrReleased) || !errors.Is(context.Cause(lock.Context()), queuelock.ErrReleased) {
					t.Errorf("the lock's end is %v, its context's %v", lock.Err(), context.Cause(lock.Context()))
				}
				if err := table.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := balance(table); got != "1" {
					t.Errorf("the account holds %s after one deposit", got)
				}
				if rows, holders := rowsAndHolders(t, c); rows != 0 || holders != 0 {
					t.Errorf("%d rows and %d holders are left", rows, holders)
				}
				if log.saysLost() {
					t.Error("the release was taken for a loss")
				}
				release(t, lock) // it was released
				if err := lock.ReleaseWith(t.Context(), deposit(table, nil)); !errors.Is(err, queuelock.ErrReleased) || balance(table) != "1" {
					t.Errorf("a second ReleaseWith gave %v, and the account holds %s", err, balance(table))
				}
				release(t, acquire(t, c, waitpolicy.NoWait))
			})
		}
	}
}

func TestReleaseWithRequests(t *testing.T) {
	inBubble(t, "idle", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := open(t, table, "c", queuelock.Config{})
		lock := acquire(t, c, waitpolicy.NoWait)
		spent := cost(table, func() {
			if err := lock.ReleaseWith(t.Context(), deposit(table, nil)); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		})
		if spent.Sent != 2 || spent.WriteUnits != 5 {
			t.Errorf("it took %d requests and %v write units, want 2 and 5", spent.Sent, spent.WriteUnits)
		}
		if spent := cost(table, func() { lock = acquire(t, c, waitpolicy.NoWait) }); spent.Sent != 1 {
			t.Errorf("the queue is off the short path: the next acquire took %d requests", spent.Sent)
		}
	})
	inBubble(t, "somebody queued unnoticed", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, dbA := open(t, table, "a", queuelock.Config{})
		b, _ := open(t, table, "b", queuelock.Config{})
		lock := acquire(t, a, waitpolicy.NoWait)
		waiting := queueUp(t.Context(), b, waitpolicy.Forever)
		synctest.Wait()
		before := dbA.Counts()
		if err := lock.ReleaseWith(t.Context(), deposit(table, nil)); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if spent := dbA.Counts().Sub(before).Total(); spent.Sent != 3 {
			t.Errorf("it took %d requests, want the transaction, the fast form and the hand-off", spent.Sent)
		}
		got := <-waiting
		if got.err != nil {
			t.Fatal(got.err)
		}
		synctest.Wait() // its row is deleted
		// b came by the queue: the hand-off, and QUIET in the background.
		spent := cost(table, func() {
			if err := got.lock.ReleaseWith(t.Context(), deposit(table, nil)); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		})
		if spent.Sent != 3 || balance(table) != "2" {
			t.Errorf("it took %d requests, want the transaction, the hand-off and QUIET; the account holds %s", spent.Sent, balance(table))
		}
		if spent := cost(table, func() { lock = acquire(t, a, waitpolicy.NoWait) }); spent.Sent != 1 {
			t.Errorf("the queue is off the short path: the next acquire took %d requests", spent.Sent)
		}
	})
	inBubble(t, "the next of its own process", func(t *testing.T) {
		const trip = 4 * time.Millisecond
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(trip))
		c, _ := open(t, table, "c", queuelock.Config{})
		lock := acquire(t, c, waitpolicy.NoWait)
		waiting := queueUp(t.Context(), c, waitpolicy.Forever)
		time.Sleep(45 * time.Second) // by now it looks once a second
		begun := time.Now()
		if err := lock.ReleaseWith(t.Context(), deposit(table, nil)); err != nil {
			t.Error(err)
		}
		if got := <-waiting; got.err != nil || got.at.Sub(begun) > 4*trip {
			t.Errorf("the next was served %v after the release (%v)", got.at.Sub(begun), got.err)
		}
	})
}

func TestReleaseWithThatTheCallersConditionRefusesKeepsTheLock(t *testing.T) {
	for _, queued := range []bool{false, true} {
		inBubble(t, fmt.Sprint("queued: ", queued), func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := open(t, table, "c", queuelock.Config{})
			other, _ := open(t, table, "other", queuelock.Config{})
			lock := acquire(t, c, waitpolicy.NoWait)
			if queued {
				queueUp(t.Context(), other, waitpolicy.Forever)
				synctest.Wait()
			}
			before := db.Counts()
			err := lock.ReleaseWith(t.Context(), deposit(table, nil), types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
				TableName: aws.String(table.Name()), Key: recordKeyOf("another"), ConditionExpression: aws.String("attribute_exists(pk)"),
			}})
			canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
			if !ok || aws.ToString(canceled.CancellationReasons[1].Code) != "ConditionalCheckFailed" || errors.Is(err, queuelock.ErrLost) {
				t.Fatalf("got %v, want the caller's own condition", err)
			}
			if spent := db.Counts().Sub(before).Total(); spent.Sent != 1 {
				t.Errorf("what can never succeed was sent %d times", spent.Sent)
			}
			time.Sleep(5 * time.Minute)
			if lock.Err() != nil || lock.Context().Err() != nil || balance(table) != "0" {
				t.Fatalf("the lock has ended by it: %v; the account holds %s", lock.Err(), balance(table))
			}
			if err := lock.ReleaseWith(t.Context(), deposit(table, nil)); err != nil || balance(table) != "1" {
				t.Errorf("then %v, and the account holds %s", err, balance(table))
			}
		})
	}
}

func recordKeyOf(entity string) map[string]types.AttributeValue {
	key := recordKey()
	key["pk"] = str(entity)
	return key
}

// An outcome that is not known leaves the lock held, and a late attempt that the
// release has not waited for is refused.
func TestReleaseWithGivenUp(t *testing.T) {
	inBubble(t, "HeldAndCallableAgain", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "c", queuelock.Config{})
		lock := acquire(t, c, waitpolicy.NoWait)
		lost := db.Inject(queuelocktest.LoseRequest().Of("TransactWriteItems"))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := lock.ReleaseWith(ctx, deposit(table, nil)); err == nil || errors.Is(err, queuelock.ErrLost) {
			t.Errorf("got %v", err)
		}
		lost.Remove()
		time.Sleep(10 * time.Minute)
		if lock.Err() != nil {
			t.Fatalf("the lock has ended by it: %v", lock.Err())
		}
		if err := lock.ReleaseWith(t.Context(), deposit(table, nil)); err != nil || balance(table) != "1" {
			t.Errorf("then %v, and the account holds %s", err, balance(table))
		}
	})
	inBubble(t, "RefusedAfterTheRelease", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "c", queuelock.Config{})
		lock := acquire(t, c, waitpolicy.NoWait)
		late := db.Inject(queuelocktest.HoldRequest().Of("TransactWriteItems").Times(1).LandingAnyway())
		db.Partition()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := lock.ReleaseWith(ctx, deposit(table, nil))
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); !unknown || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want an unknown outcome", err)
		}
		db.Heal()
		release(t, lock)
		late.Release()
		if err := table.Settle(t.Context()); err != nil || balance(table) != "0" {
			t.Errorf("%v: the writes were made after the release", err)
		}
	})
	inBubble(t, "LostWhenResumedElsewhere", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "c", queuelock.Config{})
		lock := acquire(t, c, waitpolicy.NoWait)
		lost := db.Inject(queuelocktest.LoseRequest().Of("TransactWriteItems"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := lock.ReleaseWith(ctx, deposit(table, nil)); err == nil {
			t.Fatal("it was answered")
		}
		lost.Remove()
		other, _ := open(t, table, "other", queuelock.Config{})
		resumed, err := other.Resume(t.Context(), lock.Handle(), waitpolicy.NoWait)
		if err != nil {
			t.Fatal(err)
		}
		<-lock.Done()
		if !errors.Is(lock.Err(), queuelock.ErrLost) {
			t.Errorf("the lock's end is %v", lock.Err())
		}
		release(t, resumed)
	})
	inBubble(t, "ReleaseErrorWhenTheReleaseFails", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "c", queuelock.Config{TTL: 10 * time.Second})
		lock := acquire(t, c, waitpolicy.NoWait)
		db.Inject(queuelocktest.LoseRequest().Of("UpdateItem"))
		err := lock.ReleaseWith(t.Context(), deposit(table, nil))
		made, ok := errors.AsType[*queuelock.ReleaseError](err)
		if !ok || made.Err == nil || errors.Is(err, queuelock.ErrLost) || balance(table) != "1" {
			t.Errorf("got %v, and the account holds %s", err, balance(table))
		}
	})
}

func TestReleaseWithOfALostLockWritesNothing(t *testing.T) {
	inBubble(t, "evicted", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := open(t, table, "c", queuelock.Config{})
		lock := acquire(t, c, waitpolicy.NoWait)
		operatorTakes(t, table)
		spent := cost(table, func() {
			err := lock.ReleaseWith(t.Context(), deposit(table, nil))
			if lost, ok := errors.AsType[*queuelock.LostError](err); !ok || lost.Cause != queuelock.Evicted {
				t.Errorf("got %v, want a LostError: evicted", err)
			}
		})
		if spent.Sent != 1 || balance(table) != "0" || !errors.Is(lock.Err(), queuelock.ErrLost) {
			t.Errorf("%d requests; the account holds %s; the lock's end is %v", spent.Sent, balance(table), lock.Err())
		}
	})
	inBubble(t, "evicted, after requests that were lost", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "c", queuelock.Config{})
		lock := acquire(t, c, waitpolicy.NoWait)
		operatorTakes(t, table)
		db.Inject(queuelocktest.LoseRequest().Of("TransactWriteItems").Times(2))
		if err := lock.ReleaseWith(t.Context(), deposit(table, nil)); !errors.Is(err, queuelock.ErrLost) || balance(table) != "0" {
			t.Errorf("got %v, want ErrLost: the token says that nothing was made", err)
		}
	})
	inBubble(t, "cut off", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "c", queuelock.Config{})
		lock := acquire(t, c, waitpolicy.NoWait)
		db.Partition()
		begun := time.Now()
		err := lock.ReleaseWith(t.Context(), deposit(table, nil))
		unknown, ok := errors.AsType[*queuelock.UnknownOutcomeError](err)
		if !ok || errors.Is(err, queuelock.ErrLost) || !errors.Is(unknown.End, queuelock.ErrLost) || time.Since(begun) > time.Minute+time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		db.Heal()
		if err := lock.ReleaseWith(t.Context(), deposit(table, nil)); !errors.Is(err, queuelock.ErrLost) || balance(table) != "0" {
			t.Errorf("then %v, and the account holds %s", err, balance(table))
		}
	})
	inBubble(t, "throttled until the end", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "c", queuelock.Config{TTL: 10 * time.Second})
		lock := acquire(t, c, waitpolicy.NoWait)
		db.Inject(queuelocktest.Refuse(queuelocktest.Throttling))
		// A throttle proves nothing: a copy may have been sent before.
		err := lock.ReleaseWith(t.Context(), deposit(table, nil))
		if unknown, ok := errors.AsType[*queuelock.UnknownOutcomeError](err); !ok || !errors.Is(unknown.End, queuelock.ErrLost) {
			t.Errorf("got %v", err)
		}
	})
}

func TestReleaseWithRefusesWhatItCannotDo(t *testing.T) {
	inBubble(t, "arguments", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := open(t, table, "c", queuelock.Config{})
		lock := acquire(t, c, waitpolicy.NoWait)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		spent := cost(table, func() {
			for _, n := range []int{0, 100} {
				err := lock.ReleaseWith(t.Context(), make([]types.TransactWriteItem, n)...)
				says(t, err, "between 1 and 99")
			}
			err := lock.ReleaseWith(over, deposit(table, nil))
			if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); unknown || !errors.Is(err, context.Canceled) {
				t.Errorf("with a context that had ended: %v", err)
			}
		})
		if spent.Sent != 0 || lock.Err() != nil {
			t.Errorf("%d requests were sent, and the lock's end is %v", spent.Sent, lock.Err())
		}
		item := deposit(table, nil)
		item.Update.Key = recordKey()
		says(t, lock.ReleaseWith(t.Context(), item), "multiple operations on one item")
		item = deposit(table, nil)
		item.Update.TableName = aws.String("ordres")
		if err := lock.ReleaseWith(t.Context(), item); err == nil {
			t.Error("a table that is not there was written to")
		}
		if lock.Err() != nil {
			t.Errorf("the lock has ended by it: %v", lock.Err())
		}
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := lock.ReleaseWith(t.Context(), deposit(table, nil)); !errors.Is(err, queuelock.ErrReleased) {
			t.Errorf("after Close: %v", err)
		}
	})
	inBubble(t, "no transactions", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, err := queuelock.New(struct{ queuelock.DynamoDB }{table.Client("c")}, table.Name(), queuelock.Config{})
		if err != nil {
			t.Fatal(err)
		}
		lock := acquire(t, c, waitpolicy.NoWait)
		says(t, lock.ReleaseWith(t.Context(), deposit(table, nil)), "TransactWriteItems")
		release(t, lock)
	})
}

func TestOneOfManyReleasesGetsThrough(t *testing.T) {
	for seed := range uint64(30) {
		inBubble(t, fmt.Sprint(seed), func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			c, db := open(t, table, "c", queuelock.Config{})
			lock := acquire(t, c, waitpolicy.NoWait)
			db.Inject(queuelocktest.LoseResponse().Of("TransactWriteItems", "UpdateItem").WithProbability(0.3, seed))
			var made atomic.Int64
			var wg sync.WaitGroup
			rng := rand.New(rand.NewPCG(seed, 0))
			for range 5 {
				pause := time.Duration(rng.IntN(8)) * time.Millisecond
				wg.Go(func() {
					time.Sleep(pause)
					err := lock.ReleaseWith(t.Context(), deposit(table, nil))
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
			if got := balance(table); got != fmt.Sprint(made.Load()) {
				t.Errorf("%d calls wrote, and the account holds %s", made.Load(), got)
			}
		})
	}
	inBubble(t, "Close", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := open(t, table, "c", queuelock.Config{})
		lock := acquire(t, c, waitpolicy.NoWait)
		stuck := db.Inject(queuelocktest.SwallowResponse().Of("TransactWriteItems"))
		done := make(chan error, 1)
		go func() { done <- lock.ReleaseWith(t.Context(), deposit(table, nil)) }()
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

func TestReleaseWithUnderRandomFaultsWritesExactlyWhenItSays(t *testing.T) {
	for seed := range uint64(15) {
		inBubble(t, fmt.Sprint(seed), func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(10*time.Millisecond))
			var log journal
			wants, unsure := 0, 0
			var mu sync.Mutex
			var wg sync.WaitGroup
			for i := range 3 {
				c, db := open(t, table, fmt.Sprint("c", i), queuelock.Config{TTL: 20 * time.Second, HeartbeatInterval: time.Second, Logger: log.logger()})
				db.Inject(queuelocktest.LandLate(300*time.Millisecond).Of("TransactWriteItems").WithProbability(0.25, seed))
				db.Inject(queuelocktest.LoseResponse().WithProbability(0.2, seed+1))
				db.Inject(queuelocktest.Duplicate(500*time.Millisecond).Of("TransactWriteItems").WithProbability(0.3, seed+2))
				db.Inject(queuelocktest.Refuse(queuelocktest.TransactionConflict).WithProbability(0.1, seed+3))
				wg.Go(func() {
					for range 4 {
						lock, err := c.Acquire(t.Context(), order, waitpolicy.For(10*time.Minute))
						if err != nil {
							t.Error(err)
							return
						}
						time.Sleep(1500 * time.Millisecond)
						err = lock.ReleaseWith(t.Context(), deposit(table, nil))
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
			if _, err := fmt.Sscan(balance(table), &got); err != nil || got < wants || got > wants+unsure {
				t.Errorf("%d were made for certain, %d perhaps, and the account holds %d (%v)", wants, unsure, got, err)
			}
			if log.saysLost() {
				t.Error("a lock was called lost")
			}
		})
	}
}

func TestReleaseWithWorksInEveryMode(t *testing.T) {
	for name, opts := range map[string][]queuelock.Option{
		"shared":      {queuelock.Shared()},
		"permits":     {queuelock.Permits(3)},
		"lock delay":  {queuelock.LockDelay(time.Minute)},
		"fail closed": {queuelock.FailClosed()},
	} {
		inBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := open(t, table, "c", queuelock.Config{})
			db.Inject(queuelocktest.LoseResponse().Of("TransactWriteItems").WithProbability(0.5, 1))
			var locks []*queuelock.Lock
			for range 3 {
				locks = append(locks, acquire(t, c, waitpolicy.For(time.Minute), opts...))
				if name != "shared" && name != "permits" {
					break
				}
			}
			for i, lock := range locks {
				if err := lock.ReleaseWith(t.Context(), deposit(table, nil)); err != nil || balance(table) != fmt.Sprint(i+1) {
					t.Errorf("release %d gave %v, and the account holds %s", i+1, err, balance(table))
				}
			}
			time.Sleep(time.Second)
			want := 2
			if name == "fail closed" {
				want = 3 // CONFIRM
			}
			if spent := cost(table, func() { release(t, acquire(t, c, waitpolicy.NoWait, opts...)) }); spent.Sent != want {
				t.Errorf("the queue is off the short path: a turn took %d requests", spent.Sent)
			}
		})
	}
}

func TestEngineReleaseWith(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		a, dbA := open(t, table, "a", queuelock.Config{})
		b, _ := open(t, table, "b", queuelock.Config{})
		release(t, acquire(t, a, waitpolicy.NoWait))
		lock := acquire(t, a, waitpolicy.NoWait)
		n := sent(table, func() {
			if err := lock.ReleaseWith(t.Context(), deposit(table, nil)); err != nil {
				t.Fatal(err)
			}
		})
		if n != 2 || balance(table) != "1" {
			t.Errorf("%d requests; the account holds %s", n, balance(table))
		}
		// With somebody behind it, and an answer that is lost.
		lock = acquire(t, a, waitpolicy.NoWait)
		queued, waits := onceItWaits()
		waiting := lockBy(t, b, waits)
		<-queued
		dbA.Inject(queuelocktest.LoseResponse().Of("TransactWriteItems").Times(2))
		if err := lock.ReleaseWith(t.Context(), deposit(table, nil)); err != nil || balance(table) != "2" {
			t.Errorf("with somebody behind it: %v; the account holds %s", err, balance(table))
		}
		got := <-waiting
		if got.err != nil {
			t.Fatal(got.err)
		}
		// Its own condition.
		err := got.lock.ReleaseWith(t.Context(), deposit(table, aws.String("amount = :one")))
		if _, ok := errors.AsType[*types.TransactionCanceledException](err); !ok || got.lock.Err() != nil || balance(table) != "2" {
			t.Errorf("got %v, the lock's end is %v, the account holds %s", err, got.lock.Err(), balance(table))
		}
		if err := got.lock.ReleaseWith(t.Context(), deposit(table, nil)); err != nil || balance(table) != "3" {
			t.Errorf("then %v; the account holds %s", err, balance(table))
		}
		// Of a lock that was taken away.
		lock = acquire(t, a, waitpolicy.For(10*time.Second))
		operatorTakes(t, table)
		if err := lock.ReleaseWith(t.Context(), deposit(table, nil)); !errors.Is(err, queuelock.ErrLost) || balance(table) != "3" {
			t.Errorf("of a lost lock: %v; the account holds %s", err, balance(table))
		}
	})
}

package release_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestReleaseWith checks that ReleaseWith writes once and releases whatever happens to
// its requests.
func TestReleaseWith(t *testing.T) {
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
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			var log locktest.Journal
			c, db := locktest.Open(t, table, "c", queuelock.Config{TTL: 20 * time.Second, HeartbeatInterval: time.Second, Logger: log.Logger()})
			lock := locktest.Acquire(t, c, waitpolicy.NoWait)
			db.Inject(fault.Of("TransactWriteItems"))
			if err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil)); err != nil {
				t.Fatal(err)
			}
			if !errors.Is(lock.Err(), queuelock.ErrReleased) || !errors.Is(context.Cause(lock.Context()), queuelock.ErrReleased) {
				t.Errorf("the lock's end is %v, its context's %v", lock.Err(), context.Cause(lock.Context()))
			}
			if err := table.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := locktest.Balance(table); got != "1" {
				t.Errorf("the account holds %s after one deposit", got)
			}
			if rows, holders := locktest.RowsAndHolders(t, c); rows != 0 || holders != 0 {
				t.Errorf("%d rows and %d holders are left", rows, holders)
			}
			if log.SaysLost() {
				t.Error("the release was taken for a loss")
			}
			locktest.Release(t, lock) // it was released
			if err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil)); !errors.Is(err, queuelock.ErrReleased) || locktest.Balance(table) != "1" {
				t.Errorf("a second ReleaseWith gave %v, and the account holds %s", err, locktest.Balance(table))
			}
			locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		})
	}
}

func TestReleaseWithRequests(t *testing.T) {
	locktest.InBubble(t, "idle", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		spent := locktest.Cost(table, func() {
			if err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil)); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		})
		if spent.Sent != 2 || spent.WriteUnits != 5 {
			t.Errorf("it took %d requests and %v write units, want 2 and 5", spent.Sent, spent.WriteUnits)
		}
		if spent := locktest.Cost(table, func() { lock = locktest.Acquire(t, c, waitpolicy.NoWait) }); spent.Sent != 1 {
			t.Errorf("the queue is off the short path: the next acquire took %d requests", spent.Sent)
		}
	})
	locktest.InBubble(t, "a waiter queued unnoticed", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, dbA := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		lock := locktest.Acquire(t, a, waitpolicy.NoWait)
		waiting := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
		synctest.Wait()
		before := dbA.Counts()
		if err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil)); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if spent := dbA.Counts().Sub(before).Total(); spent.Sent != 3 {
			t.Errorf("it took %d requests, want the transaction, the fast form and the hand-off", spent.Sent)
		}
		got := <-waiting
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		synctest.Wait() // its row is deleted
		// b came by the queue: the hand-off, and RESET in the background.
		spent := locktest.Cost(table, func() {
			if err := got.Lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil)); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		})
		if spent.Sent != 3 || locktest.Balance(table) != "2" {
			t.Errorf("it took %d requests, want the transaction, the hand-off and RESET; the account holds %s", spent.Sent, locktest.Balance(table))
		}
		if spent := locktest.Cost(table, func() { lock = locktest.Acquire(t, a, waitpolicy.NoWait) }); spent.Sent != 1 {
			t.Errorf("the queue is off the short path: the next acquire took %d requests", spent.Sent)
		}
	})
	locktest.InBubble(t, "the next of its own process", func(t *testing.T) {
		const trip = 4 * time.Millisecond
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(trip))
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		waiting := locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
		time.Sleep(45 * time.Second) // by now it looks once a second
		begun := time.Now()
		if err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil)); err != nil {
			t.Error(err)
		}
		if got := <-waiting; got.Err != nil || got.At.Sub(begun) > 4*trip {
			t.Errorf("the next was served %v after the release (%v)", got.At.Sub(begun), got.Err)
		}
	})
}

// TestReleaseWithRefused checks that a ReleaseWith that the caller's condition refuses
// keeps the lock.
func TestReleaseWithRefused(t *testing.T) {
	for _, queued := range []bool{false, true} {
		locktest.InBubble(t, fmt.Sprint("queued: ", queued), func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := locktest.Open(t, table, "c", queuelock.Config{})
			other, _ := locktest.Open(t, table, "other", queuelock.Config{})
			lock := locktest.Acquire(t, c, waitpolicy.NoWait)
			if queued {
				locktest.QueueUp(t.Context(), other, waitpolicy.Forever)
				synctest.Wait()
			}
			before := db.Counts()
			err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil), types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
				TableName: aws.String(table.Name()), Key: locktest.RecordKeyOf("another"), ConditionExpression: aws.String("attribute_exists(pk)"),
			}})
			canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
			if !ok || aws.ToString(canceled.CancellationReasons[1].Code) != "ConditionalCheckFailed" || errors.Is(err, queuelock.ErrLost) {
				t.Fatalf("got %v, want the caller's own condition", err)
			}
			if spent := db.Counts().Sub(before).Total(); spent.Sent != 1 {
				t.Errorf("what can never succeed was sent %d times", spent.Sent)
			}
			time.Sleep(5 * time.Minute)
			if lock.Err() != nil || lock.Context().Err() != nil || locktest.Balance(table) != "0" {
				t.Fatalf("the lock has ended by it: %v; the account holds %s", lock.Err(), locktest.Balance(table))
			}
			if err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil)); err != nil || locktest.Balance(table) != "1" {
				t.Errorf("then %v, and the account holds %s", err, locktest.Balance(table))
			}
		})
	}
}

// An outcome that is not known leaves the lock held, and a late attempt that the
// release has not waited for is refused.
func TestReleaseWithGivenUp(t *testing.T) {
	locktest.InBubble(t, "HeldAndCallableAgain", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		lost := db.Inject(queuelocktest.LoseRequest().Of("TransactWriteItems"))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := lock.ReleaseWith(ctx, locktest.Deposit(table, nil)); err == nil || errors.Is(err, queuelock.ErrLost) {
			t.Errorf("got %v", err)
		}
		lost.Remove()
		time.Sleep(10 * time.Minute)
		if lock.Err() != nil {
			t.Fatalf("the lock has ended by it: %v", lock.Err())
		}
		if err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil)); err != nil || locktest.Balance(table) != "1" {
			t.Errorf("then %v, and the account holds %s", err, locktest.Balance(table))
		}
	})
	locktest.InBubble(t, "RefusedAfterTheRelease", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		late := db.Inject(queuelocktest.HoldRequest().Of("TransactWriteItems").Times(1).LandingAnyway())
		db.Partition()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := lock.ReleaseWith(ctx, locktest.Deposit(table, nil))
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); !unknown || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want an unknown outcome", err)
		}
		db.Heal()
		locktest.Release(t, lock)
		late.Release()
		if err := table.Settle(t.Context()); err != nil || locktest.Balance(table) != "0" {
			t.Errorf("%v: the writes were made after the release", err)
		}
	})
	locktest.InBubble(t, "LostWhenResumedElsewhere", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		lost := db.Inject(queuelocktest.LoseRequest().Of("TransactWriteItems"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := lock.ReleaseWith(ctx, locktest.Deposit(table, nil)); err == nil {
			t.Fatal("it was answered")
		}
		lost.Remove()
		other, _ := locktest.Open(t, table, "other", queuelock.Config{})
		resumed, err := other.Resume(t.Context(), lock.Handle(), waitpolicy.NoWait)
		if err != nil {
			t.Fatal(err)
		}
		<-lock.Context().Done()
		if !errors.Is(lock.Err(), queuelock.ErrLost) {
			t.Errorf("the lock's end is %v", lock.Err())
		}
		locktest.Release(t, resumed)
	})
	locktest.InBubble(t, "ReleaseErrorWhenTheReleaseFails", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{TTL: 10 * time.Second})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		db.Inject(queuelocktest.LoseRequest().Of("UpdateItem"))
		err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil))
		made, ok := errors.AsType[*queuelock.ReleaseError](err)
		if !ok || made.Err == nil || errors.Is(err, queuelock.ErrLost) || locktest.Balance(table) != "1" {
			t.Errorf("got %v, and the account holds %s", err, locktest.Balance(table))
		}
	})
}

// TestReleaseWithArguments checks that ReleaseWith refuses invalid arguments.
func TestReleaseWithArguments(t *testing.T) {
	locktest.InBubble(t, "arguments", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		spent := locktest.Cost(table, func() {
			for _, n := range []int{0, 100} {
				err := lock.ReleaseWith(t.Context(), make([]types.TransactWriteItem, n)...)
				locktest.Says(t, err, "between 1 and 99")
			}
			err := lock.ReleaseWith(over, locktest.Deposit(table, nil))
			if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); unknown || !errors.Is(err, context.Canceled) {
				t.Errorf("with a context that had ended: %v", err)
			}
		})
		if spent.Sent != 0 || lock.Err() != nil {
			t.Errorf("%d requests were sent, and the lock's end is %v", spent.Sent, lock.Err())
		}
		item := locktest.Deposit(table, nil)
		item.Update.Key = locktest.RecordKey()
		locktest.Says(t, lock.ReleaseWith(t.Context(), item), "multiple operations on one item")
		item = locktest.Deposit(table, nil)
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
		if err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil)); !errors.Is(err, queuelock.ErrReleased) {
			t.Errorf("after Close: %v", err)
		}
	})
	locktest.InBubble(t, "no transactions", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, err := queuelock.New(struct{ queuelock.DynamoDB }{table.Client("c")}, table.Name(), queuelock.Config{})
		if err != nil {
			t.Fatal(err)
		}
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		locktest.Says(t, lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil)), "TransactWriteItems")
		locktest.Release(t, lock)
	})
}

// TestReleaseWithModes checks that ReleaseWith works in every mode.
func TestReleaseWithModes(t *testing.T) {
	for name, opts := range map[string][]queuelock.Option{
		"shared":      {queuelock.Shared()},
		"permits":     {queuelock.Permits(3)},
		"lock delay":  {queuelock.LockDelay(time.Minute)},
		"fail closed": {queuelock.FailClosed()},
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := locktest.Open(t, table, "c", queuelock.Config{})
			db.Inject(queuelocktest.LoseResponse().Of("TransactWriteItems").WithProbability(0.5, 1))
			var locks []*queuelock.Lock
			for range 3 {
				locks = append(locks, locktest.Acquire(t, c, waitpolicy.For(time.Minute), opts...))
				if name != "shared" && name != "permits" {
					break
				}
			}
			for i, lock := range locks {
				if err := lock.ReleaseWith(t.Context(), locktest.Deposit(table, nil)); err != nil || locktest.Balance(table) != fmt.Sprint(i+1) {
					t.Errorf("release %d gave %v, and the account holds %s", i+1, err, locktest.Balance(table))
				}
			}
			time.Sleep(time.Second)
			want := 2
			if name == "fail closed" {
				want = 3 // CONFIRM
			}
			if spent := locktest.Cost(table, func() { locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait, opts...)) }); spent.Sent != want {
				t.Errorf("the queue is off the short path: a turn took %d requests", spent.Sent)
			}
		})
	}
}

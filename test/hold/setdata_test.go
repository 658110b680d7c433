package hold_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestLateSetData checks that a late SetData does not replace a later one. The first
// call's request is held up, its caller gives up, and it arrives after the second was
// confirmed: older data must not come back.
func TestLateSetData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		held := db.Inject(queuelocktest.HoldRequest().LandingAnyway().Mentioning("dataSet").Times(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := lock.SetData(ctx, []byte("old")); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, queuelock.ErrLost) {
			t.Errorf("%v, want the caller's deadline", err)
		}
		if err := lock.SetData(t.Context(), []byte("new")); err != nil {
			t.Fatal(err)
		}
		held.Release()
		if err := table.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := dataOf(t, table); got != "new" || lock.Err() != nil {
			t.Errorf("%q is there, %v", got, lock.Err())
		}
		locktest.Release(t, lock)
	})
}

// TestConcurrentSetData checks that concurrent calls of SetData leave the data of the
// call that began last. An earlier call that is overtaken on its way by a later one is
// answered as if they had come in order.
func TestConcurrentSetData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		first := db.Inject(queuelocktest.HoldRequest().Mentioning("dataSet").Times(1))
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := lock.SetData(t.Context(), []byte("first")); err != nil {
				t.Error(err)
			}
		})
		<-first.Reached()
		for range 9 {
			wg.Go(func() {
				if err := lock.SetData(t.Context(), []byte("another")); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if err := lock.SetData(t.Context(), []byte("last")); err != nil {
			t.Error(err)
		}
		first.Release()
		wg.Wait()
		if got := dataOf(t, table); got != "last" || lock.Err() != nil {
			t.Errorf("%q is there, %v", got, lock.Err())
		}
		locktest.Release(t, lock)
	})
}

// TestSetDataOfLostLock checks that SetData never revives a lost lock. The write is
// conditional on the lock being held, and the caller gets an error.
func TestSetDataOfLostLock(t *testing.T) {
	locktest.InBubble(t, "evicted, and does not know yet", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		if _, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(table.Name()), Key: locktest.RecordKey(),
			UpdateExpression: aws.String("REMOVE holders, servingAfter SET granted = ticketNumber"),
		}); err != nil {
			t.Fatal(err)
		}
		other, _ := locktest.Open(t, table, "b", queuelock.Config{})
		taken := locktest.Acquire(t, other, waitpolicy.NoWait, queuelock.WithData([]byte("b's")))
		err := lock.SetData(t.Context(), []byte("a's"))
		if loss, ok := errors.AsType[*queuelock.LostError](err); !ok || loss.Cause != heartbeat.Evicted || !errors.Is(lock.Err(), queuelock.ErrLost) {
			t.Errorf("%v, and the lock says %v", err, lock.Err())
		}
		if got := dataOf(t, table); got != "b's" {
			t.Errorf("%q is there", got)
		}
		locktest.Release(t, taken)
	})
	locktest.InBubble(t, "arrives after the release", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		held := db.Inject(queuelocktest.HoldRequest().LandingAnyway().Mentioning("dataSet"))
		done := make(chan error)
		go func() { done <- lock.SetData(context.Background(), []byte("a's")) }()
		<-held.Reached()
		locktest.Release(t, lock)
		if err := <-done; !errors.Is(err, queuelock.ErrReleased) {
			t.Errorf("%v, want that it was released", err)
		}
		next := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.WithData([]byte("next")))
		held.Release()
		if err := table.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := dataOf(t, table); got != "next" {
			t.Errorf("%q is there", got)
		}
		locktest.Release(t, next)
	})
}

package hold_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/heartbeat"
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

// TestSetDataOfLostLock checks that SetData never revives a lost lock. The write is
// conditional on the lock being held, and the caller gets an error.
func TestSetDataOfLostLock(t *testing.T) {
	locktest.InTable(t, "evicted, and does not know yet", func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		locktest.Must(db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(table.Name()), Key: locktest.RecordKey(),
			UpdateExpression: aws.String("REMOVE holders, servingAfter SET granted = ticketNumber"),
		}))
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
	locktest.InTable(t, "arrives after the release", func(t *testing.T, table *queuelocktest.Table) {
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
		locktest.OK(t, table.Settle(t.Context()))
		if got := dataOf(t, table); got != "next" {
			t.Errorf("%q is there", got)
		}
		locktest.Release(t, next)
	})
}

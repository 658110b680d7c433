package hold_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// panicking is an SDK client that panics once, after it has sent a transaction.
type panicking struct {
	*queuelocktest.Client
	done *atomic.Bool
}

func (p panicking) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if p.done.Swap(true) {
		return p.Client.TransactWriteItems(ctx, in, opts...)
	}
	go func() { _, _ = p.Client.TransactWriteItems(context.WithoutCancel(ctx), in, opts...) }()
	time.Sleep(100 * time.Millisecond)
	panic("out of order")
}

// TestTransactPanic checks that a transaction during which the SDK client panicked counts as one of unknown outcome: the next
// holder sees its writes, or knows that they may appear.
func TestTransactPanic(t *testing.T) {
	for name, window := range map[string]time.Duration{"visible soon": time.Second, "visible late": time.Minute} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			db := table.Client("a")
			a := locktest.Must(queuelock.New(panicking{db, new(atomic.Bool)}, table.Name(), locktest.TenSeconds))
			t.Cleanup(func() { _ = a.Close(context.Background()) })
			b, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
			lock := locktest.Acquire(t, a, waitpolicy.NoWait)
			db.Inject(queuelocktest.SplitTransaction(window, 0).Times(1)) // the account's item late, the record at once
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the client did not panic")
					}
				}()
				_ = lock.Transact(t.Context(), locktest.Deposit(table, nil))
			}()
			locktest.Release(t, lock)
			next := locktest.Acquire(t, b, waitpolicy.Forever)
			before, unsettled := locktest.Balance(table), next.Unsettled()
			time.Sleep(2 * time.Minute)
			if after := locktest.Balance(table); after != "1" || before != after && !unsettled {
				t.Errorf("the account held %s, and %s later, and Unsettled was %t", before, after, unsettled)
			}
			locktest.Release(t, next)
		})
	}
}

package acquire_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// exiting is an SDK client that ends the goroutine of one of its requests, before it is sent or after it was answered.
type exiting struct {
	*queuelocktest.Client
	left  atomic.Int64 // requests until then
	after bool
}

func exits[I, O any](e *exiting, ctx context.Context, in *I, opts []func(*dynamodb.Options), call func(context.Context, *I, ...func(*dynamodb.Options)) (*O, error)) (*O, error) {
	is := e.left.Add(-1) == 0
	if is && !e.after {
		runtime.Goexit()
	}
	out, err := call(ctx, in, opts...)
	if is {
		runtime.Goexit()
	}
	return out, err
}

func (e *exiting) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return exits(e, ctx, in, opts, e.Client.UpdateItem)
}

func (e *exiting) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return exits(e, ctx, in, opts, e.Client.PutItem)
}

func (e *exiting) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return exits(e, ctx, in, opts, e.Client.DeleteItem)
}

func (e *exiting) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return exits(e, ctx, in, opts, e.Client.GetItem)
}

func (e *exiting) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return exits(e, ctx, in, opts, e.Client.Query)
}

func (e *exiting) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return exits(e, ctx, in, opts, e.Client.TransactWriteItems)
}

// TestExitAtEachRequest ends the goroutine of each request of a client in turn, as a middleware of the SDK may that calls
// runtime.Goexit. One at a time has the lock, whatever the request was, it ends in the goroutine of a call that waits for it, and
// nothing is left in the end.
func TestExitAtEachRequest(t *testing.T) {
	for _, after := range []bool{false, true} {
		for _, block := range []int{1, 64} {
			for n := range locktest.Scaled(45, 12) {
				locktest.InBubble(t, fmt.Sprintf("after %t/block %d/%d", after, block, n+1), func(t *testing.T) {
					table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
					db := &exiting{Client: table.Client("c"), after: after}
					db.left.Store(int64(n + 1))
					c := locktest.Must(queuelock.New(db, table.Name(), queuelock.Config{TTL: 10 * time.Second, Block: block}))
					other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
					var calls sync.WaitGroup
					var inside, ended atomic.Int64
					turn := func(c *queuelock.Client, opts ...queuelock.AcquireOption) {
						done := make(chan struct{})
						go func() {
							returned := false
							defer close(done)
							defer func() {
								if !returned {
									ended.Add(1)
								}
							}()
							lock, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(5*time.Minute), opts...)
							if err != nil {
								t.Error(err)
								return
							}
							defer func() { _ = lock.Release(t.Context()) }()
							defer inside.Add(-1)
							if inside.Add(1) > 1 {
								t.Error("two are in their turns")
							}
							time.Sleep(20 * time.Millisecond)
							_ = lock.SetData(t.Context(), []byte("x"))
							_ = lock.Transact(t.Context(), locktest.Deposit(table, nil))
							returned = true
						}()
						<-done
					}
					for i := range 4 {
						calls.Go(func() {
							for range 2 {
								if turn(c); i == 0 {
									turn(other)
								}
								turn(c, queuelock.WithData([]byte("y")))
							}
						})
					}
					calls.Wait()
					if ended.Load() > 1 {
						t.Errorf("%d goroutines were ended by one request", ended.Load())
					}
					_ = c.Close(t.Context())
					locktest.Release(t, locktest.Acquire(t, other, waitpolicy.For(2*time.Second)))
					time.Sleep(time.Minute)
					if rows, holders := locktest.RowsAndHolders(t, other); rows+holders > 0 {
						t.Errorf("%d rows and %d holders are left", rows, holders)
					}
				})
			}
		}
	}
}

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// foreign is a client whose next requests end with the cancellation of a context that is not the caller's, as with a provider
// of credentials.
type foreign struct {
	*queuelocktest.Client
	puts, updates, transactions atomic.Int64 // that end so
}

var errForeign = fmt.Errorf("get credentials: %w", context.Canceled)

func (f *foreign) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if f.puts.Add(-1) >= 0 {
		return nil, errForeign
	}
	return f.Client.PutItem(ctx, in, o...)
}

func (f *foreign) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if f.updates.Add(-1) >= 0 {
		return nil, errForeign
	}
	return f.Client.UpdateItem(ctx, in, o...)
}

func (f *foreign) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	if f.transactions.Add(-1) >= 0 {
		return nil, errForeign
	}
	return f.Client.TransactGetItems(ctx, in, o...)
}

func (f *foreign) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if f.transactions.Add(-1) >= 0 {
		return nil, errForeign
	}
	return f.Client.TransactWriteItems(ctx, in, o...)
}

// TestForeignCancellation checks that a request is repeated if it ended with the cancellation of a context that is not the
// caller's, and not if that has ended too.
func TestForeignCancellation(t *testing.T) {
	const lasting = 1 << 30
	set := func(t *testing.T) (f *foreign, c *queuelock.Client, table *queuelocktest.Table) {
		table = queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
		f = &foreign{Client: table.Client("f")}
		c = locktest.Must(queuelock.New(f, table.Name(), queuelock.Config{TTL: locktest.TTL}))
		t.Cleanup(func() {
			locktest.Check(t, c.Close(context.Background()))
		})
		return f, c, table
	}
	locktest.InBubble(t, "Enqueue", func(t *testing.T) {
		f, c, table := set(t)
		other, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
		held := locktest.Acquire(t, other, waitpolicy.NoWait)
		f.puts.Store(2)
		done := locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
		time.Sleep(2 * time.Second)
		locktest.StillWaits(t, "the waiter", done)
		if n := f.puts.Load(); n >= 0 {
			t.Errorf("%d requests left", n)
		}
		locktest.Release(t, held)
		locktest.Release(t, locktest.Within(t, "the waiter", time.Minute, done).Lock)
	})
	for name, use := range map[string]func(ctx context.Context, lock *queuelock.Lock) error{
		"Release": func(ctx context.Context, lock *queuelock.Lock) error { return lock.Release(ctx) },
		"SetData": func(ctx context.Context, lock *queuelock.Lock) error {
			return lock.SetData(ctx, []byte("x"))
		},
		"Get": func(ctx context.Context, lock *queuelock.Lock) error {
			_, err := lock.Get(ctx, types.TransactGetItem{Get: &types.Get{TableName: aws.String("queuelock"), Key: av.Item{"pk": av.Str("x"), "sk": av.Str("x")}}})
			return err
		},
		"Transact": func(ctx context.Context, lock *queuelock.Lock) error {
			return lock.Transact(ctx, types.TransactWriteItem{Put: &types.Put{TableName: aws.String("queuelock"), Item: av.Item{"pk": av.Str("x"), "sk": av.Str("x")}}})
		},
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			f, c, _ := set(t)
			lock := locktest.Acquire(t, c, waitpolicy.NoWait)
			requests := &f.updates
			if name == "Get" || name == "Transact" {
				requests = &f.transactions
			}
			requests.Store(2)
			if err := use(t.Context(), lock); err != nil {
				t.Errorf("a foreign cancellation: %v", err)
			}
			if n := requests.Load(); n >= 0 {
				t.Errorf("%d requests left", n)
			}
			if name == "Release" {
				return
			}
			requests.Store(lasting)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begun := time.Now()
			if err := use(ctx, lock); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun).Round(100*time.Millisecond) != time.Second {
				t.Errorf("after %v: %v, want the end of the caller's context", time.Since(begun), err)
			}
			requests.Store(0)
			locktest.Release(t, lock)
		})
	}
}

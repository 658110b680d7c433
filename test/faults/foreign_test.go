package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestForeignCancellation checks that a request is repeated if it ended with the cancellation of a context that is not the
// caller's, as with a provider of credentials, and not if that has ended too.
func TestForeignCancellation(t *testing.T) {
	// set opens a client of which so many requests of an operation end so.
	set := func(t *testing.T, table *queuelocktest.Table, operation string) (*queuelock.Client, *atomic.Int64) {
		left := new(atomic.Int64)
		db := around(table, "f", func(of string, _ any, send func() error) error {
			if of == operation && left.Add(-1) >= 0 {
				return fmt.Errorf("get credentials: %w", context.Canceled)
			}
			return send()
		})
		return newClient(t, db, table.Name(), queuelock.Config{TTL: locktest.TTL}), left
	}
	locktest.InTable(t, "Enqueue", func(t *testing.T, table *queuelocktest.Table) {
		c, left := set(t, table, "PutItem")
		other, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
		held := locktest.Acquire(t, other, waitpolicy.NoWait)
		left.Store(2)
		done := locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
		time.Sleep(2 * time.Second)
		locktest.StillWaits(t, "the waiter", done)
		if n := left.Load(); n >= 0 {
			t.Errorf("%d requests left", n)
		}
		locktest.Release(t, held)
		locktest.Release(t, locktest.Within(t, "the waiter", time.Minute, done).Lock)
	})
	item := av.Item{"pk": av.Str("x"), "sk": av.Str("x")}
	for name, call := range map[string]struct {
		operation string
		use       func(ctx context.Context, lock *queuelock.Lock) error
	}{
		"Release": {"UpdateItem", func(ctx context.Context, lock *queuelock.Lock) error { return lock.Release(ctx) }},
		"SetData": {"UpdateItem", func(ctx context.Context, lock *queuelock.Lock) error { return lock.SetData(ctx, []byte("x")) }},
		"Get": {"TransactGetItems", func(ctx context.Context, lock *queuelock.Lock) error {
			_, err := lock.Get(ctx, types.TransactGetItem{Get: &types.Get{TableName: aws.String("queuelock"), Key: item}})
			return err
		}},
		"Transact": {"TransactWriteItems", func(ctx context.Context, lock *queuelock.Lock) error {
			return lock.Transact(ctx, types.TransactWriteItem{Put: &types.Put{TableName: aws.String("queuelock"), Item: item}})
		}},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			c, left := set(t, table, call.operation)
			lock := locktest.Acquire(t, c, waitpolicy.NoWait)
			left.Store(2)
			if err := call.use(t.Context(), lock); err != nil || left.Load() >= 0 {
				t.Errorf("a foreign cancellation, %d times more: %v", left.Load(), err)
			}
			if name == "Release" {
				return
			}
			left.Store(1 << 30)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begun := time.Now()
			if err := call.use(ctx, lock); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun).Round(100*time.Millisecond) != time.Second {
				t.Errorf("after %v: %v, want the end of the caller's context", time.Since(begun), err)
			}
			left.Store(0)
			locktest.Release(t, lock)
		})
	}
}

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// around returns a client whose calls are made by do, whatever becomes of their contexts: it sends the request, or not.
func around(table *queuelocktest.Table, name string, do func(operation string, in any, send func() error) error) *queuelocktest.Client {
	return table.Client(name, dynamodb.WithAPIOptions(func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("around", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
			err = do(awsmiddleware.GetOperationName(ctx), in.Parameters, func() (err error) {
				out, metadata, err = next.HandleInitialize(ctx, in)
				return err
			})
			return out, metadata, err
		}), middleware.After)
	}))
}

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
			begun := time.Now()
			if err := call.use(limited(t, time.Second), lock); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun).Round(100*time.Millisecond) != time.Second {
				t.Errorf("after %v: %v, want the end of the caller's context", time.Since(begun), err)
			}
			left.Store(0)
			locktest.Release(t, lock)
		})
	}
}

// TestThrottledCopy checks that a TAKE which was throttled counts as one that may have been applied, as a transport may send
// it twice: what it may have left is removed when the caller gives up.
func TestThrottledCopy(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.NoWait))
		ctx, giveUp := context.WithCancel(t.Context())
		a := newClient(t, around(table, "a", func(_ string, in any, send func() error) error {
			err := send()
			if u, ok := in.(*dynamodb.UpdateItemInput); err != nil || !ok || !strings.Contains(*u.UpdateExpression, "if_not_exists") {
				return err
			}
			giveUp()
			answer := &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusBadRequest}}
			return &smithyhttp.ResponseError{Response: answer, Err: &types.ThrottlingException{}}
		}), table.Name(), queuelock.Config{})
		if _, err := a.Acquire(ctx, locktest.Order, waitpolicy.Forever); err == nil {
			t.Fatal("granted after the caller had given up")
		}
		asked := time.Now()
		lock := locktest.Acquire(t, b, waitpolicy.For(2*time.Minute))
		if w := time.Since(asked); w > time.Second {
			t.Errorf("the next lock took %v", w)
		}
		locktest.Release(t, lock)
	})
}

package hold_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestDo checks that Do releases the lock whatever its function does.
func TestDo(t *testing.T) {
	boom := errors.New("boom")
	for name, f := range map[string]func(context.Context, *queuelock.Lock) error{
		"nil":   func(context.Context, *queuelock.Lock) error { return nil },
		"error": func(context.Context, *queuelock.Lock) error { return boom },
		"panic": func(context.Context, *queuelock.Lock) error { panic(boom) },
		"released inside": func(ctx context.Context, lock *queuelock.Lock) error {
			return lock.Release(ctx)
		},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
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
	}
}

// TestDoContext checks that Do distinguishes a loss from the end of the caller's context.
func TestDoContext(t *testing.T) {
	locktest.InTable(t, "lost", func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		err := c.Do(t.Context(), locktest.Order, waitpolicy.Forever, func(ctx context.Context, _ *queuelock.Lock) error {
			db.Partition()
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), queuelock.ErrLost) {
				t.Errorf("cause %v", context.Cause(ctx))
			}
			return nil
		})
		if loss, ok := errors.AsType[*queuelock.LostError](err); !ok || loss.Cause != heartbeat.Unreachable {
			t.Errorf("%v, want a loss", err)
		}
	})
	locktest.InTable(t, "deadline", func(t *testing.T, table *queuelocktest.Table) {
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
	locktest.InTable(t, "not acquired", func(t *testing.T, table *queuelocktest.Table) {
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
}

// TestMissingArguments checks that Do without a function and New without a client are
// refused.
func TestMissingArguments(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		locktest.Says(t, c.Do(t.Context(), locktest.Order, waitpolicy.NoWait, nil), "function is nil")
		locktest.SentNothing(t, db)
		_, err := queuelock.New((*dynamodb.Client)(nil), table.Name(), queuelock.Config{})
		locktest.Says(t, err, "client is nil")
	})
}

package hold_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestDo checks that Do releases the lock whatever its function does.
func TestDo(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		f      func(context.Context, *queuelock.Lock) error
		err    error
		panics any
	}{
		"nil":             {f: func(context.Context, *queuelock.Lock) error { return nil }},
		"error":           {f: func(context.Context, *queuelock.Lock) error { return boom }, err: boom},
		"panic":           {f: func(context.Context, *queuelock.Lock) error { panic(boom) }, panics: boom},
		"released inside": {f: func(ctx context.Context, lock *queuelock.Lock) error { return lock.Release(ctx) }},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			c, _ := locktest.Open(t, table, "a", queuelock.Config{})
			var err error
			panicked := recovered(func() { err = c.Do(t.Context(), locktest.Order, waitpolicy.Forever, test.f) })
			if panicked != test.panics || !errors.Is(err, test.err) {
				t.Errorf("%v, and it panicked with %v", err, panicked)
			}
			if spent := locktest.Cost(table, func() { locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait)) }); spent.Sent != 2 {
				t.Errorf("after Do: %+v, want an idle lock", spent)
			}
		})
	}
}

// TestDoReportsLoss checks that Do reports a loss once, whatever its function returns.
func TestDoReportsLoss(t *testing.T) {
	boom := errors.New("boom")
	for name, returned := range map[string]func(loss error) error{
		"IfReturned":             func(loss error) error { return loss },
		"IfWrapped":              func(loss error) error { return fmt.Errorf("shipping: %w", loss) },
		"IfJoined":               func(loss error) error { return errors.Join(boom, loss) },
		"BesideAnother":          func(error) error { return boom },
		"IfNothingIsReturned":    func(error) error { return nil },
		"BesideAnotherLocksLoss": func(error) error { return &queuelock.LostError{Key: queuelock.Key{Entity: "other"}} },
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
			var want error
			err := c.Do(t.Context(), locktest.Order, waitpolicy.NoWait, func(ctx context.Context, _ *queuelock.Lock) error {
				db.Partition()
				<-ctx.Done()
				want = context.Cause(ctx)
				return returned(want)
			})
			if !errors.Is(err, want) || !errors.Is(want, queuelock.ErrLost) || strings.Count(err.Error(), want.Error()) != 1 {
				t.Errorf("%v: want the loss %v, once", err, want)
			}
		})
	}
}

// TestDoContext checks that Do reports the end of the caller's context, which is no loss.
func TestDoContext(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
		err := c.Do(limited(t, time.Hour), locktest.Order, waitpolicy.Forever, func(ctx context.Context, _ *queuelock.Lock) error {
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
}

// TestDoCallsNothing checks that Do without the lock calls no function, and without a function asks for no lock.
func TestDoCallsNothing(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		locktest.Says(t, c.Do(t.Context(), locktest.Order, waitpolicy.NoWait, nil), "function is nil")
		locktest.SentNothing(t, db)
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		locktest.Is(t, c.Do(t.Context(), locktest.Order, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error {
			t.Error("fn was called")
			return nil
		}), queuelock.ErrNotAcquired)
		locktest.Release(t, lock)
	})
}

func TestReleaseEndsLock(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		type key struct{}
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "trace"))
		lock := locktest.Must(c.Acquire(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.Forever))
		cancel() // the wait's context does not end the lock
		if lock.Err() != nil || lock.Context().Err() != nil || lock.Context().Value(key{}) != "trace" {
			t.Errorf("held: %v, %v, %v", lock.Err(), lock.Context().Err(), lock.Context().Value(key{}))
		}
		if want := (queuelock.Key{Entity: "order-7", Reason: "lock"}); lock.Key() != want {
			t.Errorf("key %v, want %v", lock.Key(), want)
		}
		locktest.Release(t, lock)
		<-lock.Context().Done()
		for _, err := range []error{lock.Err(), context.Cause(lock.Context())} {
			locktest.Is(t, err, queuelock.ErrReleased)
		}
		locktest.Is(t, lock.Context().Err(), context.Canceled)
	})
}

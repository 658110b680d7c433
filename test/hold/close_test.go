package hold_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestCloseBesideGrant checks that Close, which does not wait, leaves no lock that is granted meanwhile.
func TestCloseBesideGrant(t *testing.T) {
	table := queuelocktest.NewTable(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 60 {
		c, _ := locktest.Open(t, table, "a", queuelock.Config{})
		got := locktest.Background(func() (*queuelock.Lock, error) {
			return c.Acquire(t.Context(), queuelock.Key{Entity: fmt.Sprint(i)}, waitpolicy.Forever)
		})
		for range i * 100 {
			runtime.Gosched()
		}
		_ = c.Close(ended)
		if o := <-got; o.Err == nil && o.Lock.Err() == nil || o.Err != nil && !errors.Is(o.Err, queuelock.ErrClosed) {
			t.Fatalf("turn %d: Close has returned, and Acquire %v, %v", i, o.Lock, o.Err)
		}
		locktest.OK(t, c.Close(t.Context()))
	}
}

// TestClose checks that Close tries every release and cancels waiters.
func TestClose(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		var locks []*queuelock.Lock
		for i := range 5 {
			locks = append(locks, locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: fmt.Sprint("entity-", i)}, waitpolicy.Forever)))
		}
		other, _ := locktest.Open(t, table, "b", queuelock.Config{})
		busy := locktest.Acquire(t, other, waitpolicy.Forever)
		waiting := locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
		synctest.Wait()
		db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("UpdateItem").On("entity-2", ""))

		if err := c.Close(t.Context()); err == nil {
			t.Error("Close says nothing of the release that failed")
		}
		locktest.Is(t, (<-waiting).Err, queuelock.ErrClosed)
		for i, lock := range locks {
			locktest.Is(t, lock.Err(), queuelock.ErrReleased)
			free, err := other.Acquire(t.Context(), lock.Key(), waitpolicy.NoWait)
			if (err == nil) != (i != 2) {
				t.Errorf("entity-%d after Close: %v", i, err)
			}
			if err == nil {
				locktest.Release(t, free)
			}
		}
		_, acquired := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait)
		done := c.Do(t.Context(), locktest.Order, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error { return nil })
		_, inspected := c.Viewer().Inspect(t.Context(), locktest.Order)
		_, swept := c.Operator().Sweep(t.Context(), locktest.Order)
		for _, err := range []error{acquired, done, inspected, swept} {
			locktest.Is(t, err, queuelock.ErrClosed)
		}
		locktest.Release(t, busy)
		if n := len(locktest.Must(other.Viewer().Inspect(t.Context(), locktest.Order)).Waiting); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

func TestCloseAfterEndedContext(t *testing.T) {
	for range 20 {
		locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
			a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
			lock := locktest.Acquire(t, a, waitpolicy.NoWait)
			_ = a.Close(limited(t, 0)) // it may not have waited for all that runs
			locktest.Is(t, lock.Err(), queuelock.ErrReleased)
			locktest.Release(t, locktest.Acquire(t, b, waitpolicy.NoWait))
		}, queuelocktest.WithLatency(5*time.Millisecond))
	}
}

// TestCloseAwaitsDo checks that Close cancels the function of a Do, renews the lease until it returns, and releases the lock then;
// and at the end of its context if it does not return.
func TestCloseAwaitsDo(t *testing.T) {
	for name, test := range map[string]struct{ works, patience, took time.Duration }{
		"it returns soon":              {3 * time.Second, time.Minute, 3 * time.Second},
		"it outlasts a lease":          {5 * locktest.TTL, 10 * locktest.TTL, 5 * locktest.TTL},
		"it outlasts the patience":     {20 * time.Second, 7 * time.Second, 7 * time.Second},
		"it has no patience":           {20 * time.Second, 0, 0},
		"it returns before the others": {0, time.Minute, 0},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			a, b := locktest.Two(t, table, locktest.TenSeconds, "a", "b")
			other := locktest.Must(a.Acquire(t.Context(), queuelock.Key{Entity: "other"}, waitpolicy.NoWait))
			began, returned := make(chan bool), make(chan error, 1)
			go func() {
				returned <- a.Do(t.Context(), locktest.Order, waitpolicy.NoWait, func(ctx context.Context, _ *queuelock.Lock) error {
					close(began)
					<-ctx.Done()
					if cause := context.Cause(ctx); !errors.Is(cause, queuelock.ErrClosed) {
						t.Errorf("the cause is %v", cause)
					}
					time.Sleep(test.works)
					return nil
				})
			}()
			<-began
			next := locktest.LockBy(t, b)
			time.Sleep(time.Second)
			begun := time.Now()
			err := a.Close(limited(t, test.patience))
			if took := time.Since(begun); took < test.took || took > test.took+time.Second {
				t.Errorf("Close took %v, want %v", took, test.took)
			}
			if late := test.works > test.patience; (err != nil) != late || late && !strings.Contains(err.Error(), "functions of Do still run") {
				t.Errorf("Close: %v", err)
			}
			locktest.Is(t, other.Err(), queuelock.ErrReleased)
			time.Sleep(5 * time.Second)
			locktest.Release(t, locktest.Granted(t, "the next", next))
			locktest.OK(t, <-returned)
		})
	}
}

// TestCloseWithPanic checks that a panic of the SDK client during a release by Close is one of Close, which releases all other locks.
func TestCloseWithPanic(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		db := &locktest.Breaking{Client: table.Client("a")}
		c := locktest.Must(queuelock.New(db, table.Name(), locktest.TenSeconds))
		other, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
		keys := locktest.KeysOf("entity-0", "entity-1", "entity-2")
		for _, key := range keys {
			locktest.Must(c.Acquire(t.Context(), key, waitpolicy.NoWait))
		}
		started, end, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			done <- c.Do(t.Context(), locktest.Order, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error {
				close(started)
				<-end
				return nil
			})
		}()
		<-started
		db.Left.Store(1)
		time.AfterFunc(time.Second, func() { close(end) })
		if v := recovered(func() { _ = c.Close(t.Context()) }); v != "mistake" {
			t.Errorf("Close panicked with %v", v)
		}
		locktest.OK(t, <-done)
		held := 0
		for _, key := range append(keys, locktest.Order) {
			if locktest.Must(other.IsLocked(t.Context(), key)) {
				held++
			}
		}
		if held != 1 {
			t.Errorf("%d locks are held, want the one whose release has panicked", held)
		}
		locktest.OK(t, c.Close(t.Context()))
	})
}

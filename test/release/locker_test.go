package release_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// panicOf returns the error with which f panics.
func panicOf(f func()) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case error:
			err = v
		default:
			err = fmt.Errorf("%v", v)
		}
	}()
	f()
	return nil
}

func TestLocker(t *testing.T) {
	locktest.InBubble(t, "ExcludesGoroutinesAndProcesses", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		mine := a.Locker(t.Context(), locktest.Order)
		var wg sync.WaitGroup
		running, turns := 0, 0
		for _, l := range []sync.Locker{mine, mine, mine, a.Locker(t.Context(), locktest.Order), b.Locker(t.Context(), locktest.Order)} {
			wg.Go(func() {
				for range 3 {
					l.Lock()
					running++
					if turns++; running > 1 {
						t.Errorf("%d have it", running)
					}
					time.Sleep(time.Second)
					running--
					l.Unlock()
				}
			})
		}
		wg.Wait()
		if rows, holders := locktest.RowsAndHolders(t, a); turns != 15 || rows+holders > 0 {
			t.Errorf("%d turns; %d rows and %d holders are left", turns, rows, holders)
		}
	})
	locktest.InBubble(t, "WaitsForOutage", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, db := locktest.Open(t, table, "a", queuelock.Config{})
		l := a.Locker(t.Context(), locktest.Order)
		db.Partition()
		time.AfterFunc(time.Hour, db.Heal)
		l.Lock()
		if !locktest.Locked(t, a) {
			t.Error("it has no lock")
		}
		l.Unlock()
	})
	locktest.InBubble(t, "PanicsWhenItsContextEnds", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		held := locktest.Acquire(t, a, waitpolicy.NoWait)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		l := a.Locker(ctx, locktest.Order)
		errs := make(chan error)
		for range 2 { // the second waits in the process
			go func() { errs <- panicOf(l.Lock) }()
		}
		for range 2 {
			if err := <-errs; !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		locktest.Release(t, held)
	})
	locktest.InBubble(t, "StaysUsableAfterPanicOfCallback", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		held := locktest.Acquire(t, b, waitpolicy.NoWait)
		first := true
		l := a.Locker(t.Context(), locktest.Order, queuelock.OnProgress(func(queuelock.Progress) {
			if first {
				first = false
				panic("boom")
			}
		}))
		locktest.Says(t, panicOf(l.Lock), "boom")
		locktest.Release(t, held)
		next := make(chan struct{})
		go func() { l.Lock(); close(next) }()
		select {
		case <-next:
			l.Unlock()
		case <-time.After(time.Hour):
			t.Fatal("the Locker is locked, and its lock is free")
		}
	})
	locktest.InBubble(t, "PanicsForBadKeyAndClosedClient", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		bad := a.Locker(t.Context(), queuelock.Key{})
		for range 2 { // the first leaves it unlocked
			locktest.Says(t, panicOf(bad.Lock), "entity is empty")
		}
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := panicOf(a.Locker(t.Context(), locktest.Order).Lock); !errors.Is(err, queuelock.ErrClosed) {
			t.Error(err)
		}
	})
	locktest.InBubble(t, "UnlockPanicsUnlessLocked", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		l := a.Locker(t.Context(), locktest.Order)
		locktest.Says(t, panicOf(l.Unlock), "Unlock", "not locked")
		l.Lock()
		if !locktest.Locked(t, a) {
			t.Error("it has no lock")
		}
		l.Unlock()
		locktest.Says(t, panicOf(l.Unlock), "Unlock", "not locked")
	})
	locktest.InBubble(t, "UnlockAfterLossKeepsNextTurn", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		l := a.Locker(t.Context(), locktest.Order)
		l.Lock()
		db.Partition()
		time.Sleep(time.Minute) // lost, and not visible
		db.Heal()
		next := make(chan struct{})
		go func() { l.Lock(); close(next) }()
		time.Sleep(time.Minute)
		select {
		case <-next:
			t.Error("two goroutines have it")
		default:
		}
		l.Unlock()
		<-next
		if !locktest.Locked(t, a) {
			t.Error("the second turn has no lock")
		}
		l.Unlock()
	})
	locktest.InBubble(t, "UnlockPanicsIfNoLeaseEndsIt", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		a, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		ctx, cancel := context.WithCancel(t.Context())
		l := a.Locker(ctx, locktest.Order, queuelock.FailClosed())
		l.Lock()
		db.Partition()
		cancel()
		if _, ok := errors.AsType[*queuelock.UnreleasedError](panicOf(l.Unlock)); !ok {
			t.Error("it did not panic")
		}
		db.Heal()
	})
}

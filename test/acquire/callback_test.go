package acquire_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestBlockedCallback(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b, c := locktest.Three(t, table, queuelock.Config{}, "a", "b", "c")
		blocked := func(g *locktest.Gate) queuelock.AcquireOption {
			return queuelock.OnProgress(func(queuelock.Progress) { g.Pass() })
		}

		t.Log("The wait ends at its limit, and those behind go on.")
		g := locktest.NewGate(t)
		held := locktest.Acquire(t, a, waitpolicy.NoWait)
		begun := time.Now()
		stuck := locktest.QueueUp(t.Context(), b, waitpolicy.For(20*time.Second), blocked(g))
		<-g.Entered
		behind := locktest.LockBy(t, c)
		got := <-stuck
		if took := got.At.Sub(begun); !errors.Is(got.Err, queuelock.ErrNotAcquired) || took < 20*time.Second || took > 22*time.Second {
			t.Errorf("after %v: %v", took, got.Err)
		}
		if rows, _ := locktest.RowsAndHolders(t, a); rows != 1 {
			t.Errorf("%d rows, want c's alone", rows)
		}
		locktest.Release(t, held)
		held = (<-behind).Lock

		t.Log("Close waits for the callback.")
		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		locktest.Is(t, b.Close(short), context.DeadlineExceeded)
		g.Open()
		locktest.Check(t, b.Close(t.Context()))

		t.Log("A turn that comes meanwhile is taken.")
		g = locktest.NewGate(t)
		b, _ = locktest.Open(t, table, "b2", queuelock.Config{})
		stuck = locktest.LockBy(t, b, blocked(g))
		<-g.Entered
		time.Sleep(10 * time.Minute)
		begun = time.Now()
		locktest.Release(t, held)
		got = <-stuck
		if took := got.At.Sub(begun); got.Err != nil || took > 3*time.Second {
			t.Fatalf("after %v: %v", took, got.Err)
		}
		locktest.Release(t, got.Lock)
		g.Open()
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

// TestCallbackGetsLatestValue lets three turns end while a callback blocks: the next call has the latest place.
func TestCallbackGetsLatestValue(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		held := locktest.Acquire(t, a, waitpolicy.NoWait)
		var ahead []<-chan struct{}
		for range 4 {
			c, _ := locktest.Open(t, table, "ahead", queuelock.Config{})
			ahead = append(ahead, locktest.Attend(t, c, 10*time.Second))
			time.Sleep(100 * time.Millisecond)
		}
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		g := locktest.NewGate(t)
		var w locktest.ProgressLog
		done := locktest.Attend(t, b, 0, queuelock.OnProgress(func(p queuelock.Progress) { w.Add(p); g.Pass() }))
		<-g.Entered
		locktest.Release(t, held)
		<-ahead[2] // and the fourth turn is under way
		time.Sleep(5 * time.Second)
		g.Open()
		time.Sleep(time.Second)
		if got := w.Places(); got != "5/4 a; 1/0 ahead; " {
			t.Errorf("reported %s", got)
		}
		<-ahead[3]
		<-done
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

func TestBlockedOnHandle(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b, c := locktest.Three(t, table, queuelock.Config{}, "a", "b", "c")
		g := locktest.NewGate(t)
		held := locktest.Acquire(t, a, waitpolicy.NoWait)
		begun := time.Now()
		stuck := locktest.QueueUp(t.Context(), b, waitpolicy.For(time.Minute), queuelock.OnHandle(func(queuelock.Handle) { g.Pass() }))
		<-g.Entered
		if rows, _ := locktest.RowsAndHolders(t, a); rows != 0 {
			t.Error("the place was taken before its handle was received")
		}
		behind := locktest.Waiting(t, c)
		locktest.Release(t, held)
		if got := <-behind; got.Err != nil || got.At.Sub(begun) > 3*time.Second {
			t.Errorf("%+v", got)
		}
		got := <-stuck
		if took := got.At.Sub(begun); !errors.Is(got.Err, queuelock.ErrNotAcquired) || took < time.Minute || took > 62*time.Second {
			t.Errorf("after %v: %v", took, got.Err)
		}
		g.Open()
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

// TestCallbackPanic lets a callback panic, or end its goroutine. That reaches the caller of Acquire, when its row is deleted, or its lock
// that was granted meanwhile given back.
func TestCallbackPanic(t *testing.T) {
	boom := func() { panic("boom") }
	progress := func(f func()) queuelock.AcquireOption { return queuelock.OnProgress(func(queuelock.Progress) { f() }) }
	for name, test := range map[string]struct {
		call func(f func()) queuelock.AcquireOption
		end  func()
		want any           // nil: Goexit
		late time.Duration // the callback lasts
	}{
		"OnProgress":       {progress, boom, "boom", 200 * time.Millisecond},
		"OnHandle":         {func(f func()) queuelock.AcquireOption { return queuelock.OnHandle(func(queuelock.Handle) { f() }) }, boom, "boom", 0},
		"Goexit":           {progress, runtime.Goexit, nil, 200 * time.Millisecond},
		"GrantedMeanwhile": {progress, boom, "boom", 1900 * time.Millisecond},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			b, db, a := locktest.Pair(t, table, queuelock.Config{}, "b", "a")
			held := locktest.Acquire(t, a, waitpolicy.NoWait)
			db.Inject(queuelocktest.DelayRequest(300 * time.Millisecond).Of("DeleteItem"))
			time.AfterFunc(time.Second, func() { locktest.Check(t, held.Release(t.Context())) })
			var got any
			rows, holders := -1, -1
			over := make(chan struct{})
			go func() {
				defer close(over)
				defer func() {
					got = recover()
					rows, holders = locktest.RowsAndHolders(t, a)
				}()
				lock, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.Forever, test.call(func() { time.Sleep(test.late); test.end() }))
				t.Errorf("%v, %v", lock, err)
			}()
			begun := time.Now()
			<-over
			if early := time.Since(begun) < time.Second; got != test.want || rows != 0 || early != (holders == 1) {
				t.Errorf("%v reached the caller, with %d rows and %d holders left", got, rows, holders)
			}
			locktest.Check(t, b.Close(t.Context()))
			sent := db.Counts().Total().Sent
			time.Sleep(time.Minute)
			if n := db.Counts().Total().Sent - sent; n != 0 {
				t.Errorf("%d requests after Close", n)
			}
		}, queuelocktest.WithLatency(2*time.Millisecond))
	}
}

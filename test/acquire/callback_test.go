package acquire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestBlockedCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
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
		behind := locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
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
		if err := b.Close(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close beside a blocked callback: %v", err)
		}
		g.Open()
		locktest.Check(t, b.Close(t.Context()))

		t.Log("A turn that comes meanwhile is taken.")
		g = locktest.NewGate(t)
		b, _ = locktest.Open(t, table, "b2", queuelock.Config{})
		stuck = locktest.QueueUp(t.Context(), b, waitpolicy.Forever, blocked(g))
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
	})
}

func TestCallbackGetsLatestValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		held := locktest.Acquire(t, a, waitpolicy.NoWait)
		var ahead []<-chan struct{}
		for i := range 4 {
			c, _ := locktest.Open(t, table, fmt.Sprint("ahead-", i), queuelock.Config{})
			ahead = append(ahead, locktest.Attend(t, c, 10*time.Second))
			time.Sleep(100 * time.Millisecond)
		}
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		g := locktest.NewGate(t)
		var w locktest.ProgressLog
		done := locktest.Attend(t, b, 0, queuelock.OnProgress(func(p queuelock.Progress) { w.Add(p); g.Pass() }))
		<-g.Entered
		locktest.Release(t, held)
		<-ahead[2] // three turns later, and the fourth is under way
		time.Sleep(5 * time.Second)
		g.Open()
		time.Sleep(time.Second)
		if all := w.Seen(); len(all) != 2 || all[0].Position != 5 || all[1].Position != 1 || all[1].Serving.Owner != "ahead-3" {
			t.Errorf("reported %s", w.Places())
		}
		<-ahead[3]
		<-done
	})
}

func TestBlockedOnHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, b, c := locktest.Three(t, table, queuelock.Config{}, "a", "b", "c")
		g := locktest.NewGate(t)
		held := locktest.Acquire(t, a, waitpolicy.NoWait)
		begun := time.Now()
		stuck := locktest.QueueUp(t.Context(), b, waitpolicy.For(time.Minute), queuelock.OnHandle(func(queuelock.Handle) { g.Pass() }))
		<-g.Entered
		if rows, _ := locktest.RowsAndHolders(t, a); rows != 0 {
			t.Error("the place was taken before its handle was received")
		}
		behind := locktest.QueueUp(t.Context(), c, waitpolicy.Forever)
		time.Sleep(time.Second)
		locktest.Release(t, held)
		if got := <-behind; got.Err != nil || got.At.Sub(begun) > 3*time.Second {
			t.Errorf("%+v", got)
		}
		got := <-stuck
		if took := got.At.Sub(begun); !errors.Is(got.Err, queuelock.ErrNotAcquired) || took < time.Minute || took > 62*time.Second {
			t.Errorf("after %v: %v", took, got.Err)
		}
		g.Open()
	})
}

// blockedLog is a slog.Handler that takes no record until its gate is open.
type blockedLog struct{ *locktest.Gate }

func (l blockedLog) Enabled(context.Context, slog.Level) bool  { return true }
func (l blockedLog) Handle(context.Context, slog.Record) error { l.Pass(); return nil }
func (l blockedLog) WithAttrs([]slog.Attr) slog.Handler        { return l }
func (l blockedLog) WithGroup(string) slog.Handler             { return l }

func TestBlockedLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		g := locktest.NewGate(t)
		a, dbA := locktest.Open(t, table, "a", queuelock.Config{})
		b, db := locktest.Open(t, table, "b", queuelock.Config{Logger: slog.New(blockedLog{g})})
		locktest.Acquire(t, a, waitpolicy.NoWait)
		waiting := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
		time.Sleep(time.Second)
		db.Inject(queuelocktest.Refuse(queuelocktest.Throttling).Times(10))
		time.Sleep(time.Minute)
		<-g.Entered // by the requests that failed
		died := time.Now()
		dbA.Partition()
		got := locktest.Within(t, "the next", time.Hour, waiting) // which logs the eviction
		if took := got.At.Sub(died); got.Err != nil || took > 70*time.Second {
			t.Fatalf("after %v: %v", took, got.Err)
		}
		db.Partition()
		<-got.Lock.Context().Done() // the loss is logged
		db.Heal()
		begun := time.Now()
		if err := b.Close(t.Context()); err == nil || time.Since(begun) > 5*time.Second {
			t.Errorf("Close beside a blocked Logger: %v after %v", err, time.Since(begun))
		}
		g.Open()
		locktest.Check(t, b.Close(t.Context()))
	})
}

// TestLoggerUnderLoad checks that steps below the Logger's level take no room: a loss among them is logged, and a Logger
// that takes each record at once is not called slow.
func TestLoggerUnderLoad(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		var text bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelWarn}))
		c, _ := locktest.Open(t, table, "c", queuelock.Config{Logger: logger})
		lost := locktest.Acquire(t, c, waitpolicy.NoWait)
		state := locktest.Must(c.Viewer().Inspect(t.Context(), locktest.Order))
		if err := c.Operator().Evict(t.Context(), locktest.Order, state.Serving[0]); err != nil { // a warning
			t.Fatal(err)
		}
		if err := lost.Extend(t.Context()); !errors.Is(err, queuelock.ErrLost) { // an error
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i := range locktest.Scaled(3000, 300) {
			wg.Go(func() {
				lock, err := c.Acquire(t.Context(), queuelock.Key{Entity: fmt.Sprint(i)}, waitpolicy.NoWait)
				if err == nil {
					err = lock.Release(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		locktest.OK(t, c.Close(t.Context()))
		got := text.String()
		if strings.Count(got, "\n") != 2 || !strings.Contains(got, "lost a lock") || !strings.Contains(got, "evicted a holder") {
			t.Errorf("the log says\n%s", got)
		}
	})
}

func TestCallbackPanic(t *testing.T) {
	key, whole := locktest.OrderItem()
	boom := func() { time.Sleep(200 * time.Millisecond); panic("boom") }
	exit := func() { time.Sleep(200 * time.Millisecond); runtime.Goexit() }
	progress := func(f func()) queuelock.AcquireOption { return queuelock.OnProgress(func(queuelock.Progress) { f() }) }
	handle := func(f func()) queuelock.AcquireOption { return queuelock.OnHandle(func(queuelock.Handle) { f() }) }
	for _, test := range []struct {
		name string
		item bool
		opt  queuelock.AcquireOption
		want any // nil: Goexit
	}{
		{"LeavesTheQueueOfAcquire", false, progress(boom), "boom"},
		{"LeavesTheQueueOfLockItem", true, progress(boom), "boom"},
		{"LeavesTheQueueAfterOnHandle", false, handle(boom), "boom"},
		{"LeavesTheQueueAfterGoexit", false, progress(exit), nil},
	} {
		locktest.InBubble(t, test.name, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
			u := locktest.NewItemTable(t, table, key)
			u.Put(whole)
			a, _ := locktest.Open(t, table, "a", queuelock.Config{})
			b, db := locktest.Open(t, table, "b", queuelock.Config{})
			var held interface{ Release(context.Context) error }
			if test.item {
				held = locktest.LockItem(t, a, u.Key(key), waitpolicy.NoWait)
			} else {
				held = locktest.Acquire(t, a, waitpolicy.NoWait)
			}
			db.Inject(queuelocktest.DelayRequest(300 * time.Millisecond).Of("DeleteItem"))
			var got any
			rows := -1
			over := make(chan struct{})
			go func() {
				defer close(over)
				defer func() {
					got, rows = recover(), 0
					for _, i := range table.Items() {
						if i["createdAt"] != nil {
							rows++
						}
					}
				}()
				var err error
				if test.item {
					_, err = b.LockItem(t.Context(), u.Key(key), waitpolicy.Forever, test.opt.(queuelock.Option))
				} else {
					_, err = b.Acquire(t.Context(), locktest.Order, waitpolicy.Forever, test.opt)
				}
				t.Errorf("it returned %v", err)
			}()
			<-over
			if got != test.want || rows != 0 {
				t.Errorf("%v reached the caller, with %d rows left", got, rows)
			}
			locktest.Check(t, b.Close(t.Context()))
			sent := db.Counts().Total().Sent
			time.Sleep(time.Minute)
			if n := db.Counts().Total().Sent - sent; n != 0 {
				t.Errorf("%d requests after Close", n)
			}
			locktest.Check(t, held.Release(t.Context()))
		})
	}
	locktest.InBubble(t, "GivesBackALockGrantedMeanwhile", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		held := locktest.Acquire(t, a, waitpolicy.NoWait)
		entered := make(chan struct{})
		over := make(chan struct{})
		go func() {
			defer close(over)
			defer func() {
				if got := recover(); got != "boom" {
					t.Errorf("%v reached the caller", got)
				}
			}()
			lock, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.Forever, queuelock.OnProgress(func(queuelock.Progress) {
				close(entered)
				time.Sleep(1900 * time.Millisecond)
				panic("boom")
			}))
			t.Errorf("%v, %v", lock, err)
		}()
		<-entered
		time.Sleep(time.Second)
		locktest.Release(t, held)
		<-over
		if rows, holders := locktest.RowsAndHolders(t, a); rows != 0 || holders != 0 {
			t.Errorf("%d rows and %d holders are left", rows, holders)
		}
	})
}

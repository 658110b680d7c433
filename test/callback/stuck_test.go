package callback_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Attention is after how long without a look a waiter of the default Config counts
// as stuck: twice the slowest poll and a request.
const attention = 2 * (15*time.Second + 3750*time.Millisecond)

// gate blocks its callers until it is opened, at the latest by the test's end.
type gate struct {
	entered chan struct{} // closed by the first caller
	opened  chan struct{}
	enter   func()
	open    func()
}

func newGate(t *testing.T) *gate {
	g := &gate{entered: make(chan struct{}), opened: make(chan struct{})}
	g.enter = sync.OnceFunc(func() { close(g.entered) })
	g.open = sync.OnceFunc(func() { close(g.opened) })
	t.Cleanup(g.open)
	return g
}

func (g *gate) pass() { g.enter(); <-g.opened }

// hanging is an SDK client whose looks hang, whatever becomes of their context.
type hanging struct {
	*dynamodb.Client
	looks func() *gate // nil: they do not hang
}

func (h hanging) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if g := h.looks(); g != nil {
		g.pass()
	}
	return h.Client.Query(ctx, in, opts...)
}

func (h hanging) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if g := h.looks(); g != nil {
		g.pass()
	}
	return h.Client.GetItem(ctx, in, opts...)
}

// hangingUpdates is an SDK client whose updates hang while the gate is set,
// whatever becomes of their context.
type hangingUpdates struct {
	*dynamodb.Client
	current *atomic.Pointer[gate]
}

func (h hangingUpdates) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if g := h.current.Load(); g != nil {
		g.pass()
	}
	return h.Client.UpdateItem(ctx, in, opts...)
}

// openHanging is open of a client whose looks pass the gate that is set.
func openHanging(t *testing.T, table *queuelocktest.Table, name string, cfg queuelock.Config) (c *queuelock.Client, hang func(*gate)) {
	t.Helper()
	var mu sync.Mutex
	var current *gate
	cfg.Owner = name
	c, err := queuelock.New(hanging{table.Client(name).Client, func() *gate {
		mu.Lock()
		defer mu.Unlock()
		return current
	}}, table.Name(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c, func(g *gate) {
		mu.Lock()
		defer mu.Unlock()
		current = g
	}
}

// within is what an Acquire came to that must return in that time.
func within(t *testing.T, what string, limit time.Duration, done <-chan locktest.Outcome) locktest.Outcome {
	t.Helper()
	select {
	case got := <-done:
		return got
	case <-time.After(limit):
		t.Fatalf("%s has not returned after %v", what, limit)
	}
	return locktest.Outcome{}
}

// notYet fails the test if the Acquire has returned.
func notYet(t *testing.T, what string, done <-chan locktest.Outcome) {
	t.Helper()
	synctest.Wait()
	select {
	case got := <-done:
		t.Errorf("%s returned: %+v", what, got)
	default:
	}
}

func TestBlockedCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		blocked := func(g *gate) queuelock.Option { return queuelock.OnProgress(func(queuelock.Progress) { g.pass() }) }

		t.Log("The wait ends at its limit, and those behind go on.")
		g := newGate(t)
		held := locktest.Acquire(t, a, waitpolicy.NoWait)
		begun := time.Now()
		stuck := locktest.QueueUp(t.Context(), b, waitpolicy.For(20*time.Second), blocked(g))
		<-g.entered
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
		g.open()
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}

		t.Log("A turn that comes meanwhile is taken.")
		g = newGate(t)
		b, _ = locktest.Open(t, table, "b2", queuelock.Config{})
		stuck = locktest.QueueUp(t.Context(), b, waitpolicy.Forever, blocked(g))
		<-g.entered
		time.Sleep(10 * time.Minute)
		begun = time.Now()
		locktest.Release(t, held)
		got = <-stuck
		if took := got.At.Sub(begun); got.Err != nil || took > 3*time.Second {
			t.Fatalf("after %v: %v", took, got.Err)
		}
		locktest.Release(t, got.Lock)
		g.open()
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
		g := newGate(t)
		var w locktest.ProgressLog
		done := locktest.Attend(t, b, 0, queuelock.OnProgress(func(p queuelock.Progress) { w.Add(p); g.pass() }))
		<-g.entered
		locktest.Release(t, held)
		<-ahead[2] // three turns later, and the fourth is under way
		time.Sleep(5 * time.Second)
		g.open()
		time.Sleep(time.Second)
		if all := w.Seen(); len(all) != 2 || all[0].Position != 5 || all[1].Position != 1 || all[1].Serving.Owner != "ahead-3" {
			t.Errorf("told of %s", w.Places())
		}
		<-ahead[3]
		<-done
	})
}

func TestBlockedOnHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		g := newGate(t)
		held := locktest.Acquire(t, a, waitpolicy.NoWait)
		begun := time.Now()
		stuck := locktest.QueueUp(t.Context(), b, waitpolicy.For(time.Minute), queuelock.OnHandle(func(queuelock.Handle) { g.pass() }))
		<-g.entered
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
		g.open()
	})
}

// blockedLog is a slog.Handler that blocks in every method that a Logger calls.
type blockedLog struct{ *gate }

func (l blockedLog) Enabled(context.Context, slog.Level) bool  { l.pass(); return true }
func (l blockedLog) Handle(context.Context, slog.Record) error { l.pass(); return nil }
func (l blockedLog) WithAttrs([]slog.Attr) slog.Handler        { return l }
func (l blockedLog) WithGroup(string) slog.Handler             { return l }

func TestBlockedLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		g := newGate(t)
		a, dbA := locktest.Open(t, table, "a", queuelock.Config{})
		b, db := locktest.Open(t, table, "b", queuelock.Config{Logger: slog.New(blockedLog{g})})
		locktest.Acquire(t, a, waitpolicy.NoWait)
		waiting := locktest.QueueUp(t.Context(), b, waitpolicy.Forever)
		time.Sleep(time.Second)
		db.Inject(queuelocktest.Refuse(queuelocktest.Throttling).Times(10))
		time.Sleep(time.Minute)
		<-g.entered // by the requests that failed
		died := time.Now()
		dbA.Partition()
		got := within(t, "the next", time.Hour, waiting) // which logs the eviction
		if took := got.At.Sub(died); got.Err != nil || took > 70*time.Second {
			t.Fatalf("after %v: %v", took, got.Err)
		}
		db.Partition()
		<-got.Lock.Done() // the loss is logged
		db.Heal()
		begun := time.Now()
		if err := b.Close(t.Context()); err == nil || time.Since(begun) > 5*time.Second {
			t.Errorf("Close beside a blocked Logger: %v after %v", err, time.Since(begun))
		}
		g.open()
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestStuckWaiter(t *testing.T) {
	// setUp has a hold the lock, b's waiter stuck at a look, and c wait behind it.
	type scene struct {
		table         *queuelocktest.Table
		a, b, c       *queuelock.Client
		held          *queuelock.Lock
		g             *gate
		hang          func(*gate)
		stuck, behind <-chan locktest.Outcome
		since         time.Time
	}
	setUp := func(t *testing.T, wait waitpolicy.Wait) *scene {
		s := &scene{table: queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond)), g: newGate(t)}
		s.a, _ = locktest.Open(t, s.table, "a", queuelock.Config{})
		s.b, s.hang = openHanging(t, s.table, "b", queuelock.Config{})
		s.c, _ = locktest.Open(t, s.table, "c", queuelock.Config{})
		s.held = locktest.Acquire(t, s.a, waitpolicy.NoWait)
		s.stuck = locktest.QueueUp(t.Context(), s.b, wait)
		time.Sleep(time.Second)
		s.behind = locktest.QueueUp(t.Context(), s.c, waitpolicy.Forever)
		time.Sleep(time.Second)
		s.hang(s.g)
		<-s.g.entered
		s.since = time.Now()
		return s
	}
	rows := func(t *testing.T, s *scene, want int) {
		t.Helper()
		if got, _ := locktest.RowsAndHolders(t, s.a); got != want {
			t.Errorf("%v after the last look: %d rows, want %d", time.Since(s.since), got, want)
		}
	}
	locktest.InBubble(t, "StopsRenewalsWithoutALook", func(t *testing.T) {
		s := setUp(t, waitpolicy.Forever)
		locktest.Release(t, s.held)
		time.Sleep(attention - time.Second)
		rows(t, s, 2)
		got := within(t, "the waiter behind", time.Hour, s.behind)
		if took := got.At.Sub(s.since); got.Err != nil || took > attention+15*time.Second+2*time.Second {
			t.Fatalf("served %v after the last look of the waiter ahead: %v", took, got.Err)
		}
		notYet(t, "the stuck Acquire", s.stuck)
		locktest.Release(t, got.Lock)
		time.Sleep(time.Hour)
		rows(t, s, 0)
		s.hang(nil)
		s.g.open()
		if got := <-s.stuck; got.Err != nil {
			t.Errorf("it was overtaken, and takes a new ticket: %v", got.Err)
		}
	})
	locktest.InBubble(t, "KeepsItsPlaceIfItLooksAgain", func(t *testing.T) {
		s := setUp(t, waitpolicy.Forever)
		time.Sleep(10 * time.Minute) // its row is swept, and not put again
		for range 60 {
			rows(t, s, 1)
			time.Sleep(time.Second)
		}
		s.hang(nil)
		s.g.open()
		time.Sleep(time.Second)
		rows(t, s, 2)
		time.Sleep(10 * time.Minute)
		rows(t, s, 2)
		locktest.Release(t, s.held)
		got := <-s.stuck
		if got.Err != nil || got.Lock.Ticket().String() != "2" {
			t.Fatalf("%+v", got)
		}
		locktest.Release(t, got.Lock)
		locktest.Release(t, (<-s.behind).Lock)
	})
	locktest.InBubble(t, "LeavesNoRowAfterItsLimit", func(t *testing.T) {
		s := setUp(t, waitpolicy.For(10*time.Second))
		time.Sleep(9 * time.Second)
		rows(t, s, 1)
		locktest.Release(t, s.held)
		got := within(t, "the waiter behind", time.Minute, s.behind)
		if took := got.At.Sub(s.since); got.Err != nil || took > 10*time.Second {
			t.Fatalf("served after %v: %v", took, got.Err)
		}
		notYet(t, "the stuck Acquire", s.stuck)
		s.hang(nil)
		s.g.open()
		if got := <-s.stuck; !errors.Is(got.Err, queuelock.ErrNotAcquired) {
			t.Error(got.Err)
		}
	})
	locktest.InBubble(t, "LetsOthersOfItsClientLook", func(t *testing.T) {
		s := setUp(t, waitpolicy.Forever)
		second := locktest.QueueUp(t.Context(), s.b, waitpolicy.Forever)
		time.Sleep(time.Second)
		s.hang(nil) // the first alone hangs
		locktest.Release(t, s.held)
		locktest.Release(t, within(t, "the waiter behind", time.Hour, s.behind).Lock)
		got := within(t, "the second of the client", time.Hour, second)
		if took := got.At.Sub(s.since); got.Err != nil || took > attention+2*15*time.Second+5*time.Second {
			t.Fatalf("served after %v: %v", took, got.Err)
		}
		locktest.Release(t, got.Lock)
		s.g.open()
		locktest.Release(t, (<-s.stuck).Lock)
	})
}

func TestStuckHeartbeat(t *testing.T) {
	// Release waits for the heartbeat, and its context ends meanwhile.
	locktest.InBubble(t, "LetsReleaseReportTheLoss", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		var current atomic.Pointer[gate]
		c := locktest.Must(queuelock.New(hangingUpdates{table.Client("a").Client, &current}, table.Name(), queuelock.Config{}))
		defer func() { _ = c.Close(context.Background()) }()
		for i := range 20 {
			lock := locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: fmt.Sprint(i)}, waitpolicy.NoWait))
			g := newGate(t)
			current.Store(g)
			<-lock.Done()
			current.Store(nil)
			time.AfterFunc(time.Minute, g.open)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := lock.Release(ctx); !errors.Is(err, queuelock.ErrLost) {
				t.Errorf("released: %v, want a loss", err)
			}
			cancel()
		}
	})
}

// Waiters that do not look, because another of their client does, and those that
// sleep for as long as the schedule allows, are no stuck waiters.
func TestSlowWaitersKeepTheirRows(t *testing.T) {
	quick := locktest.Scaled(20*time.Millisecond, 50*time.Millisecond)
	for name, cfg := range map[string]queuelock.Config{
		"DefaultSchedule": {},
		"SlowSchedule":    {Poll: waitpolicy.Schedule{Fastest: time.Minute, SlowestNext: 3 * time.Minute, Slowest: 10 * time.Minute}},
		"QuickSchedule":   {TTL: time.Second, Poll: waitpolicy.Schedule{Fastest: quick, SlowestNext: quick, Slowest: quick}},
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
			a, _ := locktest.Open(t, table, "a", queuelock.Config{})
			b, db := locktest.Open(t, table, "b", cfg)
			held := locktest.Acquire(t, a, waitpolicy.NoWait)
			var done []<-chan locktest.Outcome
			for range 3 {
				done = append(done, locktest.QueueUp(t.Context(), b, waitpolicy.Forever))
				time.Sleep(time.Second)
			}
			minutes := locktest.Scaled(60, 25)
			if name == "QuickSchedule" {
				minutes = 1
			}
			// Its looks fail for as long as it has patience, and its heartbeats do not.
			failing := db.Inject(queuelocktest.SwallowRequest().Of("Query", "GetItem"))
			time.Sleep(20 * time.Second)
			failing.Remove()
			for range minutes {
				time.Sleep(time.Minute)
				if rows, _ := locktest.RowsAndHolders(t, a); rows != 3 {
					t.Fatalf("%d rows, want 3", rows)
				}
			}
			locktest.Release(t, held)
			for _, d := range done {
				got := <-d
				if got.Err != nil {
					t.Fatal(got.Err)
				}
				locktest.Release(t, got.Lock)
			}
			if n := db.Counts()["PutItem"].Sent; n != 3 {
				t.Errorf("%d rows were put, want 3", n)
			}
		})
	}
}

func TestStuckAcquireAll(t *testing.T) {
	locksOf := func(t *testing.T, c *queuelock.Client, entity string) int {
		t.Helper()
		return len(locktest.Must(c.Inspect(t.Context(), queuelock.Key{Entity: entity})).Serving)
	}
	for _, scope := range []queuelock.Scope{queuelock.ScopeQueue, queuelock.ScopeShared} {
		cfg := queuelock.Config{Scope: scope}
		locktest.InBubble(t, fmt.Sprint("GivesAllBackWhenACallbackBlocks/", scope), func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
			a, _ := locktest.Open(t, table, "a", cfg)
			b, _ := locktest.Open(t, table, "b", cfg)
			held := locktest.AcquireAll(t, a, waitpolicy.NoWait, "b")
			g := newGate(t)
			begun := time.Now()
			locks, err := b.AcquireAll(t.Context(), locktest.KeysOf("a", "b"), waitpolicy.For(20*time.Second), queuelock.OnProgress(func(queuelock.Progress) { g.pass() }))
			if took := time.Since(begun); !errors.Is(err, queuelock.ErrNotAcquired) || took > 22*time.Second {
				t.Errorf("after %v: %v, %v", took, locks, err)
			}
			<-g.entered
			g.open()
			locktest.ReleaseAll(t, held)
			locktest.NothingLeft(t, table)
		})
		locktest.InBubble(t, fmt.Sprint("GivesAllBackWhenALookHangs/", scope), func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
			a, _ := locktest.Open(t, table, "a", cfg)
			b, hang := openHanging(t, table, "b", cfg)
			held := locktest.AcquireAll(t, a, waitpolicy.NoWait, "b")
			g := newGate(t)
			done := locktest.QueueUpAll(t.Context(), b, waitpolicy.For(20*time.Second), "a", "b")
			time.Sleep(time.Second)
			hang(g)
			<-g.entered
			time.Sleep(18 * time.Second)
			if n := locksOf(t, a, "a"); n != 1 {
				t.Errorf("%d hold a before the limit, want the AcquireAll", n)
			}
			time.Sleep(4 * time.Second)
			if n := locksOf(t, a, "a"); n != 0 {
				t.Errorf("%d hold a after the limit", n)
			}
			hang(nil)
			g.open()
			if got := <-done; !errors.Is(got.Err, queuelock.ErrNotAcquired) {
				t.Errorf("%+v", got)
			}
			locktest.ReleaseAll(t, held)
			locktest.NothingLeft(t, table)
		})
	}
}

func TestCallbackPanic(t *testing.T) {
	key, whole := locktest.OrderItem()
	boom := func() { time.Sleep(200 * time.Millisecond); panic("boom") }
	exit := func() { time.Sleep(200 * time.Millisecond); runtime.Goexit() }
	progress := func(f func()) queuelock.Option { return queuelock.OnProgress(func(queuelock.Progress) { f() }) }
	handle := func(f func()) queuelock.Option { return queuelock.OnHandle(func(queuelock.Handle) { f() }) }
	for _, test := range []struct {
		name string
		item bool
		opt  queuelock.Option
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
					_, err = b.LockItem(t.Context(), u.Key(key), waitpolicy.Forever, test.opt)
				} else {
					_, err = b.Acquire(t.Context(), locktest.Order, waitpolicy.Forever, test.opt)
				}
				t.Errorf("it returned %v", err)
			}()
			<-over
			if got != test.want || rows != 0 {
				t.Errorf("%v reached the caller, with %d rows left", got, rows)
			}
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
			sent := db.Counts().Total().Sent
			time.Sleep(time.Minute)
			if n := db.Counts().Total().Sent - sent; n != 0 {
				t.Errorf("%d requests after Close", n)
			}
			if err := held.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	locktest.InBubble(t, "GivesBackALockGrantedMeanwhile", func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{})
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

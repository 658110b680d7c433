package faults_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Attention is after how long without a look a waiter of the default Config counts
// as stuck: twice the slowest poll and a request.
const attention = 2 * (15*time.Second + 3750*time.Millisecond)

// openHanging opens a client whose requests of some operations pass the gate that is set.
func openHanging(t *testing.T, table *queuelocktest.Table, cfg queuelock.Config, operations ...string) (c *queuelock.Client, hang func(*locktest.Gate)) {
	t.Helper()
	var current atomic.Pointer[locktest.Gate]
	c = locktest.Must(queuelock.New(around(table, "hangs", func(operation string, _ any, send func() error) error {
		if g := current.Load(); g != nil && slices.Contains(operations, operation) {
			g.Pass()
		}
		return send()
	}), table.Name(), cfg))
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c, current.Store
}

func TestStuckWaiter(t *testing.T) {
	// setUp has a hold the lock, b's waiter stuck at a look, and c wait behind it.
	type scene struct {
		table         *queuelocktest.Table
		a, b, c       *queuelock.Client
		held          *queuelock.Lock
		g             *locktest.Gate
		hang          func(*locktest.Gate)
		stuck, behind <-chan locktest.Outcome
		since         time.Time
	}
	setUp := func(t *testing.T, wait waitpolicy.Wait) *scene {
		s := &scene{table: queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond)), g: locktest.NewGate(t)}
		s.a, _ = locktest.Open(t, s.table, "a", queuelock.Config{})
		s.b, s.hang = openHanging(t, s.table, queuelock.Config{}, "Query", "GetItem")
		s.c, _ = locktest.Open(t, s.table, "c", queuelock.Config{})
		s.held = locktest.Acquire(t, s.a, waitpolicy.NoWait)
		s.stuck = locktest.QueueUp(t.Context(), s.b, wait)
		time.Sleep(time.Second)
		s.behind = locktest.QueueUp(t.Context(), s.c, waitpolicy.Forever)
		time.Sleep(time.Second)
		s.hang(s.g)
		<-s.g.Entered
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
		got := locktest.Within(t, "the waiter behind", time.Hour, s.behind)
		if took := got.At.Sub(s.since); got.Err != nil || took > 2*attention+15*time.Second+2*time.Second { // its second look hangs, too
			t.Fatalf("served %v after the last look of the waiter ahead: %v", took, got.Err)
		}
		locktest.Is(t, locktest.Within(t, "the stuck Acquire", time.Second, s.stuck).Err, queuelock.ErrUnavailable)
		locktest.Release(t, got.Lock)
		time.Sleep(time.Hour)
		rows(t, s, 0)
		s.hang(nil)
		s.g.Open()
	})
	locktest.InBubble(t, "KeepsItsPlaceIfItLooksAgain", func(t *testing.T) {
		s := setUp(t, waitpolicy.Forever)
		time.Sleep(attention - time.Second)
		s.hang(nil)
		s.g.Open()
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
		got := locktest.Within(t, "the waiter behind", time.Minute, s.behind)
		if took := got.At.Sub(s.since); got.Err != nil || took > 10*time.Second {
			t.Fatalf("served after %v: %v", took, got.Err)
		}
		locktest.StillWaits(t, "the stuck Acquire", s.stuck)
		s.hang(nil)
		s.g.Open()
		locktest.Is(t, (<-s.stuck).Err, queuelock.ErrUnavailable)
	})
	locktest.InBubble(t, "LooksAgain", func(t *testing.T) {
		s := setUp(t, waitpolicy.Forever)
		second := locktest.QueueUp(t.Context(), s.b, waitpolicy.Forever)
		time.Sleep(time.Second)
		s.hang(nil) // the first alone hangs
		locktest.Release(t, s.held)
		got := locktest.Within(t, "the stuck Acquire", time.Hour, s.stuck)
		if took := got.At.Sub(s.since); got.Err != nil || got.Lock.Ticket().String() != "2" || took > attention+2*time.Second {
			t.Fatalf("served after %v: %+v", took, got)
		}
		s.g.Open()
		locktest.Release(t, got.Lock)
		for _, next := range []<-chan locktest.Outcome{s.behind, second} {
			locktest.Release(t, locktest.Within(t, "one behind it", time.Minute, next).Lock)
		}
	})
}

// TestStuckDate checks that the request for DynamoDB's time, which comes before the first ticket of a client, does not hang a caller
// that will not wait: it counts as one without an answer after a while, as others do.
func TestStuckDate(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, hang := openHanging(t, table, queuelock.Config{}, "GetItem")
		g := locktest.NewGate(t)
		hang(g)
		begun := time.Now()
		got := locktest.Within(t, "the stuck Acquire", attention+time.Second, locktest.QueueUp(t.Context(), c, waitpolicy.NoWait))
		locktest.Is(t, got.Err, queuelock.ErrUnavailable)
		if took := got.At.Sub(begun); took < 3*time.Second {
			t.Errorf("it has ended after %v", took)
		}
		hang(nil)
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
	})
}

// TestHungClaim checks that a CLAIM of which the answer hangs counts as one that may have been applied. It was: the waiter has the lock as
// soon as it looks again. If it has given up meanwhile, the lock is free then.
func TestHungClaim(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		locktest.InTable(t, fmt.Sprint("Leaves", leaves), func(t *testing.T, table *queuelocktest.Table) {
			holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
			gate, hung := locktest.NewGate(t), new(atomic.Bool)
			c := locktest.Must(queuelock.New(around(table, "c", func(_ string, in any, send func() error) error {
				err := send()
				u, ok := in.(*dynamodb.UpdateItemInput)
				claims := ok && u.ConditionExpression != nil && strings.Contains(*u.ConditionExpression, "size") && !strings.Contains(*u.UpdateExpression, "REMOVE")
				if claims && !hung.Swap(true) {
					gate.Pass()
				}
				return err
			}), table.Name(), queuelock.Config{}))
			held := locktest.Acquire(t, holder, waitpolicy.Forever)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			next := locktest.QueueUp(ctx, c, waitpolicy.Forever)
			time.Sleep(5 * time.Second)
			locktest.Release(t, held)
			<-gate.Entered
			begun := time.Now()
			if leaves {
				time.AfterFunc(10*time.Second, leave)
			}
			got := locktest.Within(t, "the waiter", 10*time.Minute, next)
			if took := got.At.Sub(begun); (got.Err != nil) != leaves || took > attention+2*time.Second {
				t.Fatalf("%v after its CLAIM: %+v", took, got)
			}
			if !leaves {
				locktest.Release(t, got.Lock)
			}
			locktest.Release(t, locktest.Acquire(t, holder, waitpolicy.For(5*time.Second)))
			gate.Open()
			locktest.Check(t, c.Close(context.Background()))
		})
	}
}

// TestStuckHeartbeat checks that a release which waits for a heartbeat reports the loss, also if its context ends meanwhile.
func TestStuckHeartbeat(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, hang := openHanging(t, table, queuelock.Config{}, "UpdateItem")
		for i := range 20 {
			lock := locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: fmt.Sprint(i)}, waitpolicy.NoWait))
			g := locktest.NewGate(t)
			hang(g)
			<-lock.Context().Done()
			hang(nil)
			time.AfterFunc(time.Minute, g.Open)
			locktest.Is(t, lock.Release(limited(t, time.Second)), queuelock.ErrLost)
		}
	})
}

// TestSlowWaiters checks that slow waiters keep their rows. Waiters that do not look,
// because another of their client does, and those that sleep for as long as the schedule
// allows, are no stuck waiters.
func TestSlowWaiters(t *testing.T) {
	quick := locktest.Scaled(20*time.Millisecond, 50*time.Millisecond)
	for name, cfg := range map[string]queuelock.Config{
		"DefaultSchedule": {},
		"SlowSchedule":    {Poll: waitpolicy.Schedule{Fastest: time.Minute, SlowestNext: 3 * time.Minute, Slowest: 10 * time.Minute}},
		"QuickSchedule":   {TTL: time.Second, Poll: waitpolicy.Schedule{Fastest: quick, SlowestNext: quick, Slowest: quick}},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
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
				locktest.Release(t, locktest.Lock(t, <-d))
			}
			if n := db.Counts()["PutItem"].Sent; n != 3 {
				t.Errorf("%d rows were put, want 3", n)
			}
		}, queuelocktest.WithLatency(2*time.Millisecond))
	}
}

// hangingAll is an AcquireAll that has a, and hangs in a look at b, which another client holds.
type hangingAll struct {
	table *queuelocktest.Table
	a     *queuelock.Client // holds b
	held  *queuelock.Locks
	done  <-chan locktest.SeveralOutcome
	goOn  func()
}

func hangAll(t *testing.T, cfg queuelock.Config, wait waitpolicy.Wait) hangingAll {
	t.Helper()
	h := hangingAll{table: queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))}
	h.a, _ = locktest.Open(t, h.table, "a", cfg)
	b, hang := openHanging(t, h.table, cfg, "Query", "GetItem")
	h.held = locktest.AcquireAll(t, h.a, waitpolicy.NoWait, "b")
	g := locktest.NewGate(t)
	h.done = locktest.QueueUpAll(t.Context(), b, wait, "a", "b")
	h.goOn = func() { hang(nil); g.Open() }
	time.Sleep(time.Second)
	hang(g)
	<-g.Entered
	return h
}

// holders are those of a.
func (h hangingAll) holders(t *testing.T) []queue.Holder {
	t.Helper()
	return locktest.Must(h.a.Viewer().Inspect(t.Context(), queuelock.Key{Entity: "a"})).Serving
}

func TestStuckAcquireAll(t *testing.T) {
	for _, scope := range []ticket.Scope{ticket.ScopeQueue, ticket.ScopeTable} {
		cfg := queuelock.Config{Scope: scope}
		locktest.InTable(t, fmt.Sprint("GivesAllBackWhenACallbackBlocks/", scope), func(t *testing.T, table *queuelocktest.Table) {
			a, b := locktest.Two(t, table, cfg, "a", "b")
			held := locktest.AcquireAll(t, a, waitpolicy.NoWait, "b")
			g := locktest.NewGate(t)
			begun := time.Now()
			locks, err := b.AcquireAll(t.Context(), locktest.KeysOf("a", "b"), waitpolicy.For(20*time.Second), queuelock.OnProgress(func(queuelock.Progress) { g.Pass() }))
			if took := time.Since(begun); !errors.Is(err, queuelock.ErrNotAcquired) || took > 22*time.Second {
				t.Errorf("after %v: %v, %v", took, locks, err)
			}
			<-g.Entered
			g.Open()
			locktest.Release(t, held)
			locktest.NothingLeft(t, table)
		}, queuelocktest.WithLatency(2*time.Millisecond))
		for name, c := range map[string]struct {
			wait             waitpolicy.Wait
			holds, givesBack time.Duration // after the look began to hang
		}{
			"GivesAllBackWhenALookHangs": {waitpolicy.For(20 * time.Second), 18 * time.Second, 22 * time.Second},
			"GivesBackWithoutALimit":     {waitpolicy.Forever, 30 * time.Second, 40 * time.Second}, // once its request for b counts as hung
		} {
			locktest.InBubble(t, fmt.Sprint(name, "/", scope), func(t *testing.T) {
				h := hangAll(t, cfg, c.wait)
				time.Sleep(c.holds)
				if n := len(h.holders(t)); n != 1 {
					t.Errorf("%d hold a after %v, want the AcquireAll", n, c.holds)
				}
				time.Sleep(c.givesBack - c.holds)
				if n := len(h.holders(t)); n != 0 {
					t.Errorf("%d hold a after %v", n, c.givesBack)
				}
				h.goOn()
				locktest.Release(t, h.held)
				locktest.Is(t, (<-h.done).Err, queuelock.ErrUnavailable)
				locktest.NothingLeft(t, h.table)
			})
		}
		// A stall that ends before the row does is no reason.
		locktest.InBubble(t, fmt.Sprint("KeepsAllIfItGoesOnSoon/", scope), func(t *testing.T) {
			h := hangAll(t, cfg, waitpolicy.Forever)
			of := h.holders(t)[0].Ticket
			time.Sleep(30 * time.Second)
			h.goOn()
			time.Sleep(time.Minute)
			locktest.Release(t, h.held)
			got := locktest.Lock(t, <-h.done)
			for _, lock := range got.All() {
				if lock.Key().Entity == "a" && lock.Ticket() != of {
					t.Errorf("a has ticket %s, want %s as before", lock.Ticket(), of)
				}
			}
			locktest.Release(t, got)
			locktest.NothingLeft(t, h.table)
		})
	}
}

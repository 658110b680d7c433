package acquire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// witness keeps the events that it observes.
type witness struct {
	mu     sync.Mutex
	events []event.Event
}

func (w *witness) Observe(e event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// names returns the types of the events, in order.
func (w *witness) names() string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, e := range w.events {
		all = append(all, reflect.TypeOf(e).Name())
	}
	return strings.Join(all, " ")
}

// only returns the event of a type, of which there must be one.
func only[E event.Event](t *testing.T, w *witness) (found E) {
	t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, e := range w.events {
		if e, ok := e.(E); ok {
			found, n = e, n+1
		}
	}
	if n != 1 {
		t.Errorf("%d events of type %T, want 1", n, found)
	}
	return found
}

func within(t *testing.T, what string, got, least, most time.Duration) {
	t.Helper()
	if got < least || got > most {
		t.Errorf("%s is %v, want %v to %v", what, got, least, most)
	}
}

// granted returns the lock that an Acquire waits for.
func granted(t *testing.T, waiting <-chan locktest.Outcome) *queuelock.Lock {
	t.Helper()
	got := locktest.Lock(t, locktest.Within(t, "the lock", time.Hour, waiting))
	return got
}

type traceKey struct{}

func TestObserver(t *testing.T) {
	locktest.InTable(t, "ReceivesTurnOfWaiter", func(t *testing.T, table *queuelocktest.Table) {
		var w witness
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{Observer: &w})
		held := locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.WithData([]byte("trace")))
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), traceKey{}, "parent"))
		waiting := locktest.QueueUp(ctx, b, waitpolicy.Forever)
		time.Sleep(10 * time.Second)
		if got := w.names(); got != "Ticketed Queued" {
			t.Fatalf("%s while it waits", got)
		}
		locktest.Release(t, held)
		lock := granted(t, waiting)
		cancel()
		time.Sleep(70 * time.Second)
		locktest.Release(t, lock)
		if got := w.names(); got != "Ticketed Queued Granted Renewed Renewed Released" {
			t.Fatal(got)
		}
		queued, grant, released := only[event.Queued](t, &w), only[event.Granted](t, &w), only[event.Released](t, &w)
		if queued.Ahead != 0 || queued.Serving == nil || string(queued.Serving.Data) != "trace" {
			t.Errorf("queued behind %d waiters and %+v", queued.Ahead, queued.Serving)
		}
		within(t, "Waited", grant.Waited, 10*time.Second, 12*time.Second)
		within(t, "Handover", grant.Handover, time.Millisecond, 3*time.Second)
		within(t, "Held", released.Held, 70*time.Second, 71*time.Second)
		within(t, "Took", released.Took, 2*time.Millisecond, time.Second)
		for _, e := range w.events {
			o := e.From()
			if o.Acquire != w.events[0].From().Acquire || o.Acquire == 0 || o.Entity != locktest.Order.Entity || o.Reason != "lock" || o.Mode != event.Exclusive ||
				o.Owner != "b" || o.Ticket != lock.Ticket() || o.Time.IsZero() {
				t.Errorf("%T of %+v", e, o)
			}
			if o.Context.Value(traceKey{}) != "parent" || o.Context.Err() != nil {
				t.Errorf("%T without the context of its call", e)
			}
			if r, ok := e.(event.Renewed); ok {
				within(t, "Margin", r.Margin, 27*time.Second, 32*time.Second)
				within(t, "Lag", r.Lag, 0, 10*time.Millisecond)
			}
		}
	}, queuelocktest.WithLatency(2*time.Millisecond))
	locktest.InTable(t, "ReceivesPlaces", func(t *testing.T, table *queuelocktest.Table) {
		var w witness
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{Observer: &w})
		held := locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.Permits(1))
		ahead := locktest.Waiting(t, a, queuelock.Permits(1))
		waiting := locktest.Waiting(t, b, queuelock.Permits(1))
		locktest.Release(t, held)
		held = granted(t, ahead)
		time.Sleep(20 * time.Second)
		locktest.Release(t, held)
		locktest.Release(t, granted(t, waiting))
		if queued, moved := only[event.Queued](t, &w), only[event.Moved](t, &w); queued.Ahead != 1 || moved.Ahead != 0 || moved.Mode != event.Semaphore {
			t.Errorf("%d ahead, then %d, %v", queued.Ahead, moved.Ahead, moved.Mode)
		}
	})
	locktest.InTable(t, "ReceivesLossesAndEvictions", func(t *testing.T, table *queuelocktest.Table) {
		var loser, evictor witness
		a, db := locktest.Open(t, table, "a", queuelock.Config{TTL: locktest.TTL, Observer: &loser})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{TTL: locktest.TTL, Observer: &evictor})
		lost := locktest.Acquire(t, a, waitpolicy.Forever)
		dead := locktest.LockBy(t, a)
		time.Sleep(2 * time.Second)
		db.Partition()
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.Forever))
		if e := only[event.Lost](t, &loser); e.Cause != heartbeat.Unreachable || e.Err == nil || e.Ticket != lost.Ticket() {
			t.Errorf("%+v", e)
		}
		if e := only[event.Evicted](t, &evictor); e.Count != 1 || e.By != event.ByExpiry || e.Holder != lost.Ticket() || e.Owner != "a" {
			t.Errorf("%+v", e)
		}
		if e := only[event.Swept](t, &evictor); e.Removed != 1 || e.Expired != 1 {
			t.Errorf("%+v", e)
		}
		<-dead
		synctest.Wait()
		if names := loser.names(); !strings.HasSuffix(names, "NotAcquired") || strings.Contains(names, "Released") {
			t.Error(names)
		}
	})
	locktest.InTable(t, "ReceivesEvictionsByOperators", func(t *testing.T, table *queuelocktest.Table) {
		var loser, operator witness
		a, _ := locktest.Open(t, table, "a", queuelock.Config{Observer: &loser})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{Observer: &operator})
		lock := locktest.Acquire(t, a, waitpolicy.NoWait)
		state := locktest.Must(b.Viewer().Inspect(t.Context(), locktest.Order))
		locktest.OK(t, b.Operator().Evict(t.Context(), locktest.Order, state.Serving[0]))
		if err := lock.Release(t.Context()); !errors.Is(err, queuelock.ErrLost) { // which finds the loss
			t.Errorf("%v", err)
		}
		if e := only[event.Lost](t, &loser); e.Cause != heartbeat.Evicted {
			t.Errorf("%+v", e)
		}
		if e := only[event.Evicted](t, &operator); e.By != event.ByOperatorForce || e.Holder != lock.Ticket() || e.Acquire != 0 {
			t.Errorf("%+v", e)
		}
	})
	locktest.InTable(t, "ReceivesExtensionsWithoutLag", func(t *testing.T, table *queuelocktest.Table) {
		var w witness
		c, _ := locktest.Open(t, table, "c", queuelock.Config{Observer: &w})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.NoHeartbeat())
		time.Sleep(40 * time.Second)
		locktest.OK(t, lock.Extend(t.Context()))
		e := only[event.Renewed](t, &w)
		within(t, "Margin", e.Margin, 17*time.Second, 18*time.Second)
		within(t, "Lag", e.Lag, 0, 0)
	})
	locktest.InTable(t, "ReceivesRefusals", func(t *testing.T, table *queuelocktest.Table) {
		var w witness
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{Observer: &w})
		locktest.Acquire(t, a, waitpolicy.NoWait)
		_, err := b.AcquireAll(t.Context(), []queuelock.Key{{Entity: "free"}, locktest.Order}, waitpolicy.NoWait)
		locktest.Is(t, err, queuelock.ErrNotAcquired)
		if got := w.names(); got != "Ticketed Granted Released NotAcquired" {
			t.Error(got)
		}
		if e := only[event.NotAcquired](t, &w); !errors.Is(e.Err, queuelock.ErrNotAcquired) || e.Entity != locktest.Order.Entity {
			t.Errorf("%+v", e)
		}
	})
}

// blockedLog is a slog.Handler that takes no record until its gate is open.
type blockedLog struct{ *locktest.Gate }

func (l blockedLog) Enabled(context.Context, slog.Level) bool  { return true }
func (l blockedLog) Handle(context.Context, slog.Record) error { l.Pass(); return nil }
func (l blockedLog) WithAttrs([]slog.Attr) slog.Handler        { return l }
func (l blockedLog) WithGroup(string) slog.Handler             { return l }

// fragile is a slog.Handler that panics.
type fragile struct{ slog.Handler }

func (fragile) Enabled(context.Context, slog.Level) bool { panic("mistake") }

// TestTroublesomeObserver checks that an Observer that blocks, panics or ends its goroutine delays no lock, and that
// the events after it arrive. A Logger that blocks or panics delays none either. Close waits for what blocks, but not
// for long.
func TestTroublesomeObserver(t *testing.T) {
	for name, trouble := range map[string]func(){
		"ObserverBlocks": nil, "LoggerBlocks": func() {}, "LoggerPanics": func() {},
		"Panics": func() { panic("boom") }, "Exits": runtime.Goexit,
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			var w witness
			var log locktest.Journal
			g, first, logger := locktest.NewGate(t), true, log.Logger()
			switch name {
			case "ObserverBlocks":
				trouble = g.Pass
			case "LoggerBlocks":
				logger = slog.New(blockedLog{g})
			case "LoggerPanics":
				logger = slog.New(fragile{slog.DiscardHandler})
			}
			c, _ := locktest.Open(t, table, "c", queuelock.Config{Logger: logger, Observer: event.Func(func(e event.Event) {
				if first || name == "Panics" {
					first = false
					trouble()
				}
				w.Observe(e)
			})})
			begun := time.Now()
			const turns = 20 // of three events each
			for range turns {
				locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
			}
			within(t, "each turn", time.Since(begun)/turns, 4*time.Millisecond, 5*time.Millisecond)
			if who, blocks := strings.CutSuffix(name, "Blocks"); blocks {
				closing := time.Now()
				locktest.Says(t, c.Close(t.Context()), who)
				within(t, "Close", time.Since(closing), time.Second, 2*time.Second)
			}
			g.Open()
			locktest.Check(t, c.Close(t.Context()))
			want := 3 * turns
			switch name {
			case "Exits":
				want--
			case "Panics":
				want = 0
			}
			if len(w.events) != want || log.Says("the Observer panicked") != (name == "Panics") {
				t.Errorf("%d events, want %d", len(w.events), want)
			}
		}, queuelocktest.WithLatency(2*time.Millisecond))
	}
}

// TestDebugLog checks that a Logger receives a line for each change of state.
func TestDebugLog(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		var text bytes.Buffer
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := locktest.Open(t, table, "b", queuelock.Config{
			Logger: slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		held := locktest.Acquire(t, a, waitpolicy.NoWait)
		waiting := locktest.Waiting(t, b)
		locktest.Release(t, held)
		locktest.Release(t, granted(t, waiting))
		synctest.Wait()
		var lines []string
		for _, m := range regexp.MustCompile(`msg="queuelock: ([a-z ]+)" queue="order-7 lock" ticket=\d+|msg="?queuelock: ([a-z]+)"? queue`).FindAllStringSubmatch(text.String(), -1) {
			lines = append(lines, m[1]+m[2])
		}
		if got := fmt.Sprint(lines); got != "[took a ticket queued granted a lock released a lock]" {
			t.Errorf("%s in\n%s", got, &text)
		}
	})
}

// TestHandoverTime checks that Release wakes the next waiter of its own client: it is granted the lock within four
// round trips, and the lock counts as idle for at most the two of a release and a grant.
func TestHandoverTime(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		var w witness
		c, _ := locktest.Open(t, table, "c", queuelock.Config{Observer: &w})
		held := locktest.Acquire(t, c, waitpolicy.NoWait)
		waiting := locktest.LockBy(t, c)
		time.Sleep(45*time.Second + 300*time.Millisecond) // by now it looks once a second
		begun := time.Now()
		locktest.Release(t, held)
		got := <-waiting
		within(t, "the hand-over", got.At.Sub(begun), 0, 8*time.Millisecond)
		locktest.Release(t, locktest.Lock(t, got))
		synctest.Wait()
		var handovers []time.Duration
		for _, e := range w.events {
			if e, ok := e.(event.Granted); ok {
				handovers = append(handovers, e.Handover)
			}
		}
		if len(handovers) != 2 || handovers[0] != 0 || handovers[1] <= 0 || handovers[1] > 4*time.Millisecond {
			t.Errorf("%v", handovers)
		}
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

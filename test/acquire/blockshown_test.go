package acquire_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// lives returns the types of the events of each acquire, in order.
func (w *witness) lives() map[uint64]string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[uint64]string{}
	for _, e := range w.events {
		all[e.From().Acquire] = strings.TrimSpace(all[e.From().Acquire] + " " + reflect.TypeOf(e).Name())
	}
	return all
}

// ordered checks that the turns of a client's observer follow each other, with the tickets that were reported.
func (w *witness) ordered(t *testing.T) {
	t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	issued, last := map[uint64]ticket.Number{}, ticket.Number{}
	var holder uint64
	for i, e := range w.events {
		o := e.From()
		switch e := e.(type) {
		case event.Ticketed:
			issued[o.Acquire] = o.Ticket
		case event.Queued, event.Moved:
			if issued[o.Acquire] != o.Ticket {
				t.Errorf("event %d: %T with ticket %s, issued %s", i, e, o.Ticket, issued[o.Acquire])
			}
		case event.Granted:
			if holder != 0 || issued[o.Acquire] != o.Ticket || !last.Less(o.Ticket) {
				t.Errorf("event %d: acquire %d is granted %s after %s, while %d holds; its ticket is %s", i, o.Acquire, o.Ticket, last, holder, issued[o.Acquire])
			}
			holder, last = o.Acquire, o.Ticket
		case event.Released:
			if holder != o.Acquire {
				t.Errorf("event %d: acquire %d is released while %d holds", i, o.Acquire, holder)
			}
			holder = 0
		}
	}
}

var whole = regexp.MustCompile(`^Ticketed (Queued (Moved )*)?Granted Released$`)

func TestBlockEvents(t *testing.T) {
	locktest.InTable(t, "OfEachTurn", func(t *testing.T, table *queuelocktest.Table) {
		var w witness
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := inBlocks(t, table, "b", queuelock.Config{Observer: &w})
		held := locktest.Acquire(t, a, waitpolicy.NoWait)
		waiting := gathered(t.Context(), b, 4)
		time.Sleep(10 * time.Second)
		for acquire, life := range w.lives() {
			if life != "Ticketed Queued" && !strings.HasPrefix(life, "Ticketed Queued Moved") {
				t.Errorf("acquire %d: %s while it waits", acquire, life)
			}
		}
		state := locktest.Must(a.Viewer().Inspect(t.Context(), locktest.Order))
		if len(state.Waiting) != 2 || state.Waiting[1].Turns != 3 || state.Waiting[1].Position != 2 || state.Waiters() != 4 {
			t.Errorf("waiting: %+v", state.Waiting)
		}
		locktest.Release(t, held)
		for i, call := range waiting {
			lock := granted(t, call)
			time.Sleep(time.Duration(i+1) * time.Second)
			if i == 1 {
				state := locktest.Must(a.Viewer().Inspect(t.Context(), locktest.Order))
				if h, ok := state.Holder(lock.Ticket().Plus(1)); !ok || h.Turns != 3 || h.Follow() != 2 || len(state.Waiting) != 0 {
					t.Errorf("a block holds: %+v", state)
				}
			}
			locktest.Release(t, lock)
		}
		w.ordered(t)
		turn := 0
		var waited time.Duration
		for _, e := range w.events {
			switch e := e.(type) {
			case event.Granted:
				turn++
				within(t, "Waited", e.Waited, max(10*time.Second, waited), 30*time.Second)
				if waited = e.Waited; turn > 2 && e.Handover != 1 {
					t.Errorf("in memory, turn %d begins after %v, want 1ns: not zero", turn, e.Handover)
				}
			case event.Released:
				within(t, "Held", e.Held, time.Duration(turn)*time.Second, time.Duration(turn)*time.Second+100*time.Millisecond)
			}
		}
		if turn != 4 {
			t.Errorf("%d turns", turn)
		}
		if lives := w.lives(); len(lives) != 4 {
			t.Errorf("%d acquires: %v", len(lives), lives)
		}
	}, queuelocktest.WithLatency(2*time.Millisecond))
	locktest.InTable(t, "OfOneThatLeaves", func(t *testing.T, table *queuelocktest.Table) {
		var w witness
		b, _ := inBlocks(t, table, "b", queuelock.Config{Observer: &w})
		held := locktest.Acquire(t, b, waitpolicy.Forever)
		ctx, cancel := context.WithCancel(t.Context())
		leaving, waiting := gathered(ctx, b, 3), gathered(t.Context(), b, 1)
		time.Sleep(10 * time.Second)
		cancel()
		for i, call := range leaving {
			err := locktest.Within(t, "the end", time.Second, call).Err
			if gone, ok := errors.AsType[*queuelock.NotAcquiredError](err); !ok || gone.Position < 1 || gone.Position > i+1 || gone.Own != held.Ticket() {
				t.Errorf("call %d: %v", i, err)
			}
		}
		locktest.Release(t, held)
		locktest.Release(t, granted(t, waiting[0]))
		w.ordered(t)
		left := 0
		for acquire, life := range w.lives() {
			if strings.HasSuffix(life, "NotAcquired") && strings.HasPrefix(life, "Ticketed Queued") {
				left++
			} else if !whole.MatchString(life) {
				t.Errorf("acquire %d: %s", acquire, life)
			}
		}
		if left != 3 {
			t.Errorf("%d left: %v", left, w.lives())
		}
	}, queuelocktest.WithLatency(2*time.Millisecond))
	locktest.InTable(t, "OfLoss", func(t *testing.T, table *queuelocktest.Table) {
		var w witness
		b, _ := inBlocks(t, table, "b", queuelock.Config{Observer: &w})
		held := locktest.Acquire(t, b, waitpolicy.Forever)
		waiting := gathered(t.Context(), b, 3)
		time.Sleep(time.Second)
		locktest.Release(t, held)
		lock := granted(t, waiting[0])
		locktest.Evict(t, table, locktest.Order.Entity)
		<-lock.Context().Done()
		for _, call := range waiting[1:] {
			locktest.Release(t, granted(t, call))
		}
		lives := map[string]int{}
		for _, life := range w.lives() {
			lives[strings.ReplaceAll(life, " Moved", "")]++
		}
		for life, n := range map[string]int{
			"Ticketed Granted Released": 1, "Ticketed Queued Granted Lost": 1, // and of those with new tickets, one is granted at once
			"Ticketed Queued Ticketed Granted Released": 1, "Ticketed Queued Ticketed Queued Granted Released": 1,
		} {
			if lives[life] != n {
				t.Errorf("%d of %s: %v", lives[life], life, lives)
			}
		}
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

// An acquire may wait again after it has given up, or its block was lost. Others than its own events are of its requests and those of
// its block.
var (
	others    = regexp.MustCompile(` ?\b(Throttled|Swept|Evicted|Renewed|Revoked)\b`)
	wholeLife = regexp.MustCompile(`^(Ticketed( Queued( Moved)*)?)?( Ticketed( Queued( Moved)*)?)* ?(NotAcquired|Granted( Released| Lost)?( NotAcquired)?)$`)
)

// TestBlockEventsOfMany checks the events of turns in blocks. While callers give up, and requests fail, each acquire has one end all
// the same, and no event after it.
func TestBlockEventsOfMany(t *testing.T) {
	for name, fails := range map[string]float64{"Turns": 0, "UnderFaults": 0.05} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			r := rand.New(rand.NewPCG(1, 1))
			var seen [2]witness
			var all sync.WaitGroup
			ends := time.Now().Add(30 * time.Second)
			for i := range seen {
				c, db := inBlocks(t, table, fmt.Sprint(i), queuelock.Config{TTL: locktest.TTL, RequestTimeout: time.Second, Observer: &seen[i]})
				for _, f := range []queuelocktest.Fault{
					queuelocktest.LoseRequest(), queuelocktest.LoseResponse(), queuelocktest.SwallowResponse(), queuelocktest.LandLate(8 * time.Second),
					queuelocktest.DelayRequest(700 * time.Millisecond), queuelocktest.Duplicate(5 * time.Second), queuelocktest.Throttle(event.OnDemand),
				} {
					db.Inject(f.WithProbability(fails, r.Uint64()))
				}
				for range 8 {
					r := rand.New(rand.NewPCG(1, r.Uint64()))
					all.Go(func() {
						for time.Now().Before(ends) {
							ctx, cancel := context.WithCancel(t.Context())
							if fails > 0 {
								time.AfterFunc(time.Duration(1+r.IntN(5000))*time.Millisecond, cancel)
							}
							if lock, err := c.Acquire(ctx, locktest.Order, waitpolicy.Forever); err == nil {
								time.Sleep(time.Duration(r.IntN(50)) * time.Millisecond)
								_ = lock.Release(ctx)
							}
							cancel()
						}
						time.Sleep(time.Minute) // what is late, and leases
					})
				}
			}
			all.Wait()
			for i := range seen {
				lives, want := seen[i].lives(), whole
				if fails > 0 {
					want = wholeLife
				} else {
					seen[i].ordered(t)
				}
				for acquire, life := range lives {
					if !want.MatchString(others.ReplaceAllString(life, "")) {
						t.Errorf("acquire %d: %s", acquire, life)
					}
				}
				if len(lives) < 20 {
					t.Errorf("%d acquires", len(lives))
				}
			}
		}, queuelocktest.WithLatency(2*time.Millisecond))
	}
}

// TestBlockPlaces follows the places of callers behind another block, and inside the block that holds.
func TestBlockPlaces(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, _ := inBlocks(t, table, "a", queuelock.Config{})
		b, _ := inBlocks(t, table, "b", queuelock.Config{})
		held := locktest.Acquire(t, a, waitpolicy.Forever)
		before := gathered(t.Context(), a, 5)
		time.Sleep(time.Second)
		var logs [4]locktest.ProgressLog
		var waiting []<-chan locktest.Outcome
		for i := range logs {
			waiting = append(waiting, locktest.LockBy(t, b, queuelock.OnProgress(logs[i].Add)))
			time.Sleep(time.Microsecond)
		}
		last := func(i int) queuelock.Progress { seen := logs[i].Seen(); return seen[len(seen)-1] }
		time.Sleep(10 * time.Second)
		for i := range logs {
			if p := last(i); p.Position != 6+i {
				t.Errorf("behind a block of five, caller %d is at %d", i, p.Position)
			}
		}
		locktest.Release(t, held)
		for _, call := range before {
			locktest.Release(t, granted(t, call))
		}
		locktest.Release(t, granted(t, waiting[0]))
		for turn := 1; turn <= 2; turn++ {
			lock := granted(t, waiting[turn])
			time.Sleep(5 * time.Minute)
			p := last(3)
			if p.Position != 3-turn || p.TicketsAhead != 2-turn || p.Own != lock.Ticket() || p.Serving.Turn() != lock.Ticket() || p.Serving.Expired() {
				t.Errorf("inside the block that holds: %+v behind %+v", p, p.Serving)
			}
			locktest.Release(t, lock)
		}
		locktest.Release(t, granted(t, waiting[3]))
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

// TestOldReleaseOfBlock lets a client that knows no blocks grant the lock to the row of one: the entry has one ticket.
func TestOldReleaseOfBlock(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, _ := locktest.Open(t, table, "a", queuelock.Config{})
		b, _ := inBlocks(t, table, "b", queuelock.Config{})
		lock := locktest.Acquire(t, b, waitpolicy.Forever)
		queued := locktest.LockBy(t, a)
		time.Sleep(10 * time.Millisecond)
		waiting := gathered(t.Context(), b, 3)
		time.Sleep(100 * time.Millisecond)
		found := false
		for _, item := range table.Items() {
			if _, row := item["entryId"]; row && item["turns"] != nil {
				found = true
				delete(item, "turns") // as an older client reads it
				locktest.Write(t, table, item)
			}
		}
		if !found {
			t.Fatal("no row of a block")
		}
		last := locktest.Waiting(t, a)
		locktest.Release(t, lock)
		var before ticket.Number
		for i, call := range append(append([]<-chan locktest.Outcome{queued}, waiting...), last) {
			lock := granted(t, call)
			if !before.Less(lock.Ticket()) {
				t.Errorf("ticket %s after %s", lock.Ticket(), before)
			}
			before = lock.Ticket()
			state := locktest.Must(a.Viewer().Inspect(t.Context(), locktest.Order))
			if h := state.Serving[0]; len(state.Serving) != 1 || i == 1 && !h.Named || h.Turns != 1 {
				t.Errorf("turn %d: holders %+v", i, state.Serving)
			}
			time.Sleep(500 * time.Millisecond)
			locktest.Release(t, lock)
		}
		if before.Compare(ticket.FromUint64(6)) != 0 {
			t.Errorf("the last ticket is %s, want 6: none was taken again", before)
		}
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

package queuelock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// told remembers what OnProgress was told.
type told struct {
	mu  sync.Mutex
	all []queuelock.Progress
}

func (w *told) tell(p queuelock.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, p)
}

func (w *told) seen() []queuelock.Progress {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]queuelock.Progress(nil), w.all...)
}

// places is what was told, in short: position, tickets ahead, who is served.
func (w *told) places() string {
	s := ""
	for _, p := range w.seen() {
		owner := "nobody"
		if p.Serving != nil {
			owner = p.Serving.Owner
		}
		s += fmt.Sprintf("%d/%d %s; ", p.Position, p.TicketsAhead, owner)
	}
	return s
}

// attend queues up, and takes turns of that length once served.
func attend(t *testing.T, c *queuelock.Client, turn time.Duration, opts ...queuelock.Option) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := c.Do(t.Context(), order, waitpolicy.Forever, func(context.Context, *queuelock.Lock) error {
			time.Sleep(turn)
			return nil
		}, opts...)
		if err != nil {
			t.Error(err)
		}
	}()
	return done
}

func TestProgressFollowsTheQueueAndTellsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		var done []<-chan struct{}
		for _, name := range []string{"a", "b", "c"} {
			c, _ := open(t, table, name, queuelock.Config{})
			done = append(done, attend(t, c, 10*time.Second))
			time.Sleep(100 * time.Millisecond)
		}
		c, db := open(t, table, "d", queuelock.Config{})
		var w told
		done = append(done, attend(t, c, time.Second, queuelock.OnProgress(w.tell)))
		for _, d := range done {
			<-d
		}
		var last queuelock.Progress
		places := ""
		for i, p := range w.seen() {
			if p.Key != (queuelock.Key{Entity: "order-7", Reason: "lock"}) || p.Ticket.String() != "4" {
				t.Errorf("%+v", p)
			}
			if i > 0 && p.Position == last.Position && p.TicketsAhead == last.TicketsAhead && (p.Serving == nil) == (last.Serving == nil) {
				t.Errorf("told twice of %+v", p)
			}
			last = p
			if p.Serving == nil {
				continue // a look between two turns
			}
			places += fmt.Sprintf("%d/%d %s; ", p.Position, p.TicketsAhead, p.Serving.Owner)
			if late := p.Waited - time.Duration(3-p.Position)*10*time.Second; late > 6*time.Second {
				t.Errorf("told of place %d after %v", p.Position, p.Waited)
			}
		}
		if places != "3/2 a; 2/1 b; 1/0 c; " {
			t.Errorf("told of %s", w.places())
		}
		counts := db.Counts()
		if others := counts.Total().Sent - counts["Query"].Sent - counts["GetItem"].Sent; others > 6+4 { // and heartbeats of its row
			t.Errorf("%d requests beside looks", others)
		}
	})
}

func TestProgressEstimatesByTheRateThatWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		first, _ := open(t, table, "first", queuelock.Config{})
		held := acquire(t, first, waitpolicy.Forever)
		var w told
		var done []<-chan struct{}
		for i := range 5 {
			c, _ := open(t, table, fmt.Sprint("waiter-", i), queuelock.Config{})
			if i == 4 {
				done = append(done, attend(t, c, time.Second, queuelock.OnProgress(w.tell)))
				break
			}
			done = append(done, attend(t, c, 20*time.Second))
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(20 * time.Second)
		release(t, held)
		for _, d := range done {
			<-d
		}
		all := w.seen()
		if len(all) == 0 {
			t.Fatal("nothing was told")
		}
		const served = 100 * time.Second // five turns of 20 s
		if all[0].EstimatedWait != 0 {
			t.Errorf("an estimate of %v before any turn has ended", all[0].EstimatedWait)
		}
		for _, p := range all[1:] {
			if p.Serving == nil {
				continue
			}
			most := 50 * time.Second // two turns and a half
			if p.Position == 4 {
				most = 75 * time.Second // the look after the first turn is up to 15 s late, and so is each turn by that rate
			}
			if off := (p.Waited + p.EstimatedWait - served).Abs(); off > most {
				t.Errorf("at place %d, after %v, %v more were estimated, want about %v in all", p.Position, p.Waited, p.EstimatedWait, served)
			}
		}
		// Somebody who comes now has seen nothing, and goes by the turns that
		// were recorded.
		c, _ := open(t, table, "late", queuelock.Config{})
		held = acquire(t, first, waitpolicy.Forever)
		var late told
		mean := must(c.Inspect(t.Context(), order)).Turn.Mean
		end := attend(t, c, 0, queuelock.OnProgress(late.tell))
		time.Sleep(time.Second)
		if all := late.seen(); len(all) != 1 || all[0].EstimatedWait <= 0 || all[0].EstimatedWait > mean {
			t.Errorf("%+v, want an estimate of at most a turn, %v", all, mean)
		}
		release(t, held)
		<-end
	})
}

func TestProgressIsNotToldOfALockThatIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := open(t, table, "a", queuelock.Config{})
		b, _ := open(t, table, "b", queuelock.Config{})
		var w told
		for range 2 {
			held := acquire(t, a, waitpolicy.Forever, queuelock.OnProgress(w.tell))
			if _, err := b.Acquire(t.Context(), order, waitpolicy.NoWait, queuelock.OnProgress(w.tell)); !errors.Is(err, queuelock.ErrNotAcquired) {
				t.Error(err)
			}
			release(t, held)
		}
		held := acquire(t, a, waitpolicy.Forever)
		waiting := attend(t, b, 0, queuelock.OnProgress(w.tell), queuelock.OnProgress(nil))
		time.Sleep(time.Second)
		release(t, held)
		<-waiting
		if got := w.places(); got != "" {
			t.Errorf("told of %s", got)
		}
	})
}

func TestProgressIsNeverToldAfterAcquireHasReturned(t *testing.T) {
	for round := range 40 {
		inBubble(t, fmt.Sprint(round), func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
			a, _ := open(t, table, "a", queuelock.Config{})
			b, _ := open(t, table, "b", queuelock.Config{})
			held := acquire(t, a, waitpolicy.Forever)
			x, _ := open(t, table, "x", queuelock.Config{})
			ahead := attend(t, x, 50*time.Millisecond)
			time.Sleep(20 * time.Millisecond)
			var returned atomic.Bool
			calls := 0
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1000+round)*time.Millisecond)
			defer cancel()
			go func() { time.Sleep(time.Second); release(t, held) }()
			lock, err := b.Acquire(ctx, order, waitpolicy.For(time.Duration(900+7*round)*time.Millisecond), queuelock.OnProgress(func(queuelock.Progress) {
				calls++ // by this goroutine: the race detector would object
				if returned.Load() {
					t.Error("told after Acquire had returned")
				}
			}))
			returned.Store(true)
			if calls == 0 {
				t.Error("never told")
			}
			time.Sleep(time.Minute)
			if err == nil {
				_ = lock.Release(t.Context())
			}
			<-ahead
		})
	}
}

// One client's waiters share a poller: those behind another are told by their
// tickets at first.
func TestProgressOfWaitersOfOneClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := open(t, table, "a", queuelock.Config{})
		b, _ := open(t, table, "b", queuelock.Config{})
		held := acquire(t, a, waitpolicy.Forever)
		var first, second told
		one := attend(t, b, 5*time.Second, queuelock.OnProgress(first.tell))
		time.Sleep(time.Second)
		two := attend(t, b, 5*time.Second, queuelock.OnProgress(second.tell))
		time.Sleep(time.Minute)
		if first.places() != "1/0 a; " || second.places() != "2/1 a; " {
			t.Errorf("told of %s and of %s", first.places(), second.places())
		}
		release(t, held)
		<-one
		<-two
		if got := second.places(); got != "2/1 a; 1/0 b; " && got != "2/1 a; " {
			t.Errorf("told of %s", got)
		}
	})
}

func TestProgressTellsOfTheHoldersData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := open(t, table, "a", queuelock.Config{})
		b, _ := open(t, table, "b", queuelock.Config{})
		held := acquire(t, a, waitpolicy.Forever, queuelock.WithData([]byte("step 1")))
		var w told
		done := attend(t, b, 0, queuelock.OnProgress(w.tell))
		time.Sleep(10 * time.Second)
		if err := held.SetData(t.Context(), []byte("step 2")); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		release(t, held)
		<-done
		all := w.seen()
		if len(all) != 2 || string(all[0].Serving.Data) != "step 1" || string(all[1].Serving.Data) != "step 2" {
			t.Errorf("%+v", all)
		}
	})
}

// f runs in the caller's goroutine: its panic is the caller's, and leaves no
// row.
func TestAPanicOfOnProgressLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
		a, _ := open(t, table, "a", queuelock.Config{})
		b, _ := open(t, table, "b", queuelock.Config{})
		held := acquire(t, a, waitpolicy.Forever)
		func() {
			defer func() {
				if recover() != "boom" {
					t.Error("the panic was lost")
				}
			}()
			_, err := b.Acquire(t.Context(), order, waitpolicy.Forever, queuelock.OnProgress(func(queuelock.Progress) { panic("boom") }))
			t.Errorf("Acquire returned %v", err)
		}()
		time.Sleep(time.Second)
		if rows, holders := rowsAndHolders(t, a); rows != 0 || holders != 1 {
			t.Errorf("%d rows and %d holders", rows, holders)
		}
		release(t, held)
		release(t, acquire(t, b, waitpolicy.For(time.Minute)))
	})
}

func TestEngineProgressIsTold(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, table *queuelocktest.Table) {
		a, _ := open(t, table, "a", queuelock.Config{})
		b, _ := open(t, table, "b", queuelock.Config{})
		held := acquire(t, a, waitpolicy.Forever)
		told := make(chan queuelock.Progress, 8)
		waiting := attend(t, b, 0, queuelock.OnProgress(func(p queuelock.Progress) { told <- p }))
		if p := <-told; p.Position != 1 || p.TicketsAhead != 0 || p.Serving == nil || p.Serving.Owner != "a" || !held.Ticket().Less(p.Ticket) {
			t.Errorf("%+v", p)
		}
		release(t, held)
		<-waiting
	})
}

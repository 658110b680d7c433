package acquire_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestProgress checks that the reported progress follows the queue, and nothing is reported twice.
func TestProgress(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		var done []<-chan struct{}
		for _, name := range []string{"a", "b", "c"} {
			c, _ := locktest.Open(t, table, name, queuelock.Config{})
			done = append(done, locktest.Attend(t, c, 10*time.Second))
			time.Sleep(100 * time.Millisecond)
		}
		c, db := locktest.Open(t, table, "d", queuelock.Config{})
		var w locktest.ProgressLog
		done = append(done, locktest.Attend(t, c, time.Second, queuelock.OnProgress(w.Add)))
		for _, d := range done {
			<-d
		}
		var last queuelock.Progress
		places := ""
		for i, p := range w.Seen() {
			if p.Key != (queuelock.Key{Entity: "order-7", Reason: "lock"}) || p.Ticket.String() != "4" {
				t.Errorf("%+v", p)
			}
			if i > 0 && p.Position == last.Position && p.TicketsAhead == last.TicketsAhead && (p.Serving == nil) == (last.Serving == nil) {
				t.Errorf("reported twice: %+v", p)
			}
			last = p
			if p.Serving == nil {
				continue // a look between two turns
			}
			places += fmt.Sprintf("%d/%d %s; ", p.Position, p.TicketsAhead, p.Serving.Owner)
			if late := p.Waited - time.Duration(3-p.Position)*10*time.Second; late > 6*time.Second {
				t.Errorf("reported position %d after %v", p.Position, p.Waited)
			}
		}
		if places != "3/2 a; 2/1 b; 1/0 c; " {
			t.Errorf("reported %s", w.Places())
		}
		counts := db.Counts()
		if others := counts.Total().Sent - counts["Query"].Sent - counts["GetItem"].Sent; others > 6+4 { // and heartbeats of its row
			t.Errorf("%d requests beside looks", others)
		}
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

// TestProgressEstimate checks that the estimated wait follows the observed rate of turns.
func TestProgressEstimate(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		first, _ := locktest.Open(t, table, "first", queuelock.Config{})
		over, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := first.Acquire(over, locktest.Order, waitpolicy.Forever)
		if notAcquired(t, err).Estimated {
			t.Error("an estimate of a queue that was not seen")
		}
		held := locktest.Acquire(t, first, waitpolicy.Forever)
		var w locktest.ProgressLog
		var done []<-chan struct{}
		for i := range 5 {
			c, _ := locktest.Open(t, table, fmt.Sprint("waiter-", i), queuelock.Config{})
			if i == 4 {
				done = append(done, locktest.Attend(t, c, time.Second, queuelock.OnProgress(w.Add)))
				break
			}
			done = append(done, locktest.Attend(t, c, 20*time.Second))
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(20 * time.Second)
		locktest.Release(t, held)
		for _, d := range done {
			<-d
		}
		all := w.Seen()
		if len(all) == 0 {
			t.Fatal("nothing was reported")
		}
		const served = 100 * time.Second // five turns of 20 s
		if all[0].Estimated || all[0].EstimatedWait != 0 {
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
			if !p.Estimated {
				t.Errorf("no estimate at place %d", p.Position)
			}
			if off := (p.Waited + p.EstimatedWait - served).Abs(); off > most {
				t.Errorf("at place %d, after %v, %v more were estimated, want about %v in all", p.Position, p.Waited, p.EstimatedWait, served)
			}
		}
		// A client that comes now has observed nothing, and uses the recorded turns.
		c, _ := locktest.Open(t, table, "late", queuelock.Config{})
		held = locktest.Acquire(t, first, waitpolicy.Forever)
		var late locktest.ProgressLog
		mean := locktest.Must(c.Viewer().Inspect(t.Context(), locktest.Order)).HoldTime.Mean
		end := locktest.Attend(t, c, 0, queuelock.OnProgress(late.Add))
		time.Sleep(time.Second)
		if all := late.Seen(); len(all) != 1 || !all[0].Estimated || all[0].EstimatedWait <= 0 || all[0].EstimatedWait > mean {
			t.Errorf("%+v, want an estimate of at most a turn, %v", all, mean)
		}
		for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(time.Second)} {
			_, err := first.Acquire(t.Context(), locktest.Order, wait)
			busy, ok := errors.AsType[*queuelock.NotAcquiredError](err)
			if !ok || !busy.Estimated || busy.EstimatedWait <= 0 || busy.EstimatedWait > 2*mean {
				t.Errorf("%v: %v, with an estimate of %v", wait, err, busy.EstimatedWait)
			}
		}
		locktest.Release(t, held)
		<-end
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

func TestProgressWithoutWait(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		var w locktest.ProgressLog
		for range 2 {
			held := locktest.Acquire(t, a, waitpolicy.Forever, queuelock.OnProgress(w.Add))
			_, err := b.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, queuelock.OnProgress(w.Add))
			locktest.Is(t, err, queuelock.ErrNotAcquired)
			locktest.Release(t, held)
		}
		held := locktest.Acquire(t, a, waitpolicy.Forever)
		waiting := locktest.Attend(t, b, 0, queuelock.OnProgress(w.Add), queuelock.OnProgress(nil))
		time.Sleep(time.Second)
		locktest.Release(t, held)
		<-waiting
		if got := w.Places(); got != "" {
			t.Errorf("reported %s", got)
		}
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

func TestProgressAfterAcquire(t *testing.T) {
	for round := range locktest.Scaled(40, 10) {
		locktest.InTable(t, fmt.Sprint(round), func(t *testing.T, table *queuelocktest.Table) {
			a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
			held := locktest.Acquire(t, a, waitpolicy.Forever)
			x, _ := locktest.Open(t, table, "x", queuelock.Config{})
			ahead := locktest.Attend(t, x, 50*time.Millisecond)
			time.Sleep(20 * time.Millisecond)
			var returned atomic.Bool
			calls := 0
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1000+round)*time.Millisecond)
			defer cancel()
			go func() { time.Sleep(time.Second); locktest.Release(t, held) }()
			lock, err := b.Acquire(ctx, locktest.Order, waitpolicy.For(time.Duration(900+7*round)*time.Millisecond), queuelock.OnProgress(func(queuelock.Progress) {
				calls++ // by this goroutine: the race detector would object
				if returned.Load() {
					t.Error("reported after Acquire had returned")
				}
			}))
			returned.Store(true)
			if calls == 0 {
				t.Error("nothing was reported")
			}
			time.Sleep(time.Minute)
			if err == nil {
				_ = lock.Release(t.Context())
			}
			<-ahead
		}, queuelocktest.WithLatency(2*time.Millisecond))
	}
}

func TestProgressShowsData(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, queuelock.Config{}, "a", "b")
		held := locktest.Acquire(t, a, waitpolicy.Forever, queuelock.WithData([]byte("step 1")))
		var w locktest.ProgressLog
		done := locktest.Attend(t, b, 0, queuelock.OnProgress(w.Add))
		time.Sleep(10 * time.Second)
		locktest.Check(t, held.SetData(t.Context(), []byte("step 2")))
		time.Sleep(10 * time.Second)
		locktest.Release(t, held)
		<-done
		all := w.Seen()
		if len(all) != 2 || string(all[0].Serving.Data) != "step 1" || string(all[1].Serving.Data) != "step 2" {
			t.Errorf("%+v", all)
		}
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

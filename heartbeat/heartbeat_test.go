package heartbeat_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

var rhythm = heartbeat.Config{TTL: time.Minute, Interval: 30 * time.Second, Margin: 2 * time.Second, First: 30 * time.Second}

// table answers renewals, and remembers when they came.
type table struct {
	answer func(ctx context.Context, n int) error // of the n-th, from 1; nil: granted at once

	mu       sync.Mutex
	start    time.Time
	sent     []time.Duration
	underWay int
	most     int // under way at one time
}

func newTable(answer func(ctx context.Context, n int) error) *table {
	return &table{answer: answer, start: time.Now()}
}

func (tb *table) renew(ctx context.Context) error {
	tb.mu.Lock()
	tb.sent = append(tb.sent, time.Since(tb.start))
	n := len(tb.sent)
	tb.underWay++
	tb.most = max(tb.most, tb.underWay)
	tb.mu.Unlock()
	defer func() {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		tb.underWay--
	}()
	if tb.answer == nil {
		return nil
	}
	return tb.answer(ctx, n)
}

func (tb *table) seen() (sent []time.Duration, underWay, most int) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return append([]time.Duration(nil), tb.sent...), tb.underWay, tb.most
}

// wantLoss waits for the loss and checks when it came, and its cause.
func wantLoss(t *testing.T, k *heartbeat.Keeper, start time.Time, after time.Duration, cause heartbeat.Cause) *heartbeat.LossError {
	t.Helper()
	select {
	case <-k.Lost():
	case <-time.After(after + time.Hour):
		t.Fatalf("no loss was reported within %v", after+time.Hour)
	}
	if got := time.Since(start); got != after {
		t.Errorf("the loss was reported after %v, want %v", got, after)
	}
	loss, ok := errors.AsType[*heartbeat.LossError](k.Err())
	if !ok || loss.Cause != cause {
		t.Fatalf("lost by %v, want cause %v", k.Err(), cause)
	}
	if again := k.Check(); again != k.Err() {
		t.Errorf("Check gives %v, Err %v", again, k.Err())
	}
	return loss
}

func wantKept(t *testing.T, k *heartbeat.Keeper) {
	t.Helper()
	select {
	case <-k.Lost():
		t.Fatalf("lost: %v", k.Err())
	default:
	}
	if k.Err() != nil || k.Check() != nil {
		t.Fatalf("lost: %v, %v", k.Err(), k.Check())
	}
}

// TestSpread checks that renewals are early by a random part of the interval.
func TestSpread(t *testing.T) {
	c := rhythm
	c.Spread = 0.1
	instants := func(t *testing.T, seed uint64) []time.Duration {
		tb := newTable(nil)
		k := heartbeat.Start(random.Seed(t.Context(), seed, 1), time.Now(), c, tb.renew)
		time.Sleep(time.Hour)
		wantKept(t, k)
		k.Stop()
		sent, _, _ := tb.seen()
		return sent
	}
	locktest.InBubble(t, "RenewsEarlierAndNeverLater", func(t *testing.T) {
		before, early := time.Duration(0), 0
		for i, at := range instants(t, 1) {
			if wait := at - before; wait > 30*time.Second || wait < 27*time.Second {
				t.Errorf("renewal %d came after %v, want between 27 s and 30 s", i, wait)
			} else if wait < 29*time.Second {
				early++
			}
			before = at
		}
		if early < 60 {
			t.Errorf("%d renewals of an hour came more than a second early", early)
		}
	})
	locktest.InBubble(t, "SeparatesLeasesOfOneInstant", func(t *testing.T) {
		first := map[time.Duration]bool{}
		for seed := range uint64(50) {
			first[instants(t, seed)[0].Truncate(100*time.Millisecond)] = true
		}
		if len(first) < 15 {
			t.Errorf("50 leases are first renewed in %d different tenths of a second", len(first))
		}
	})
}

func TestFirstRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(nil)
		c := rhythm
		c.First = 15 * time.Second
		k := heartbeat.Start(t.Context(), time.Now().Add(-10*time.Second), c, tb.renew)
		time.Sleep(66 * time.Second)
		k.Stop()
		if sent, _, _ := tb.seen(); fmt.Sprint(sent) != "[5s 35s 1m5s]" {
			t.Errorf("renewals were sent at %v, want 15 s after the lease was taken and each 30 s", sent)
		}
	})
}

var errNetwork = errors.New("network is down")

// TestFailedRenewals checks that failed renewals are tried again quickly, in a second outage as in the first, and that
// recovery keeps the lease.
func TestFailedRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, recovered := time.Now(), 0
		recovers := start.Add(55 * time.Second)
		tb := newTable(func(ctx context.Context, n int) error {
			if time.Now().Before(recovers) {
				return errNetwork
			}
			if recovered++; recovered == 2 {
				return errNetwork
			}
			return nil
		})
		k := heartbeat.Start(t.Context(), start, rhythm, tb.renew)
		time.Sleep(59 * time.Second)
		wantKept(t, k)
		sent, _, most := tb.seen()
		if len(sent) < 12 || len(sent) > 60 || most != 1 {
			t.Errorf("%d attempts in 25 s, %d at one time: want a dozen or more, one by one", len(sent), most)
		}
		for i := 1; i < len(sent); i++ {
			if wait := sent[i] - sent[i-1]; wait > 3*time.Second || i == 1 && wait > 500*time.Millisecond {
				t.Errorf("attempt %d came after %v", i+1, wait)
			}
		}
		last := len(sent) - 1
		if k.Deadline() != start.Add(sent[last]+58*time.Second) {
			t.Errorf("the deadline is %v after the start, want 58 s after the renewal at %v", k.Deadline().Sub(start), sent[last])
		}
		time.Sleep(10 * time.Minute)
		wantKept(t, k)
		k.Stop()
		if sent, _, _ = tb.seen(); sent[last+2]-sent[last+1] > 500*time.Millisecond {
			t.Errorf("after a second failure it took %v to try again", sent[last+2]-sent[last+1])
		}
	})
}

// TestGivenDeadline checks that a lease that has run for some time has the deadline that it is given, until it is renewed.
func TestGivenDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := rhythm
		c.First, c.Deadline = time.Second, start.Add(5*time.Second)
		k := heartbeat.Start(t.Context(), start, c, newTable(func(context.Context, int) error { return errNetwork }).renew)
		wantLoss(t, k, start, 5*time.Second, heartbeat.Unreachable)
		k.Stop()
		start = time.Now()
		c.Deadline = start.Add(5 * time.Second)
		k = heartbeat.Start(t.Context(), start, c, newTable(nil).renew)
		time.Sleep(2 * time.Second)
		if got := k.Deadline().Sub(start); got != 59*time.Second {
			t.Errorf("after a renewal the deadline is at %v, want 59s", got)
		}
		k.Stop()
	})
}

// TestLossString checks that losses and causes print what happened.
func TestLossString(t *testing.T) {
	for want, got := range map[string]string{
		"evicted":            heartbeat.Evicted.String(),
		"expired":            heartbeat.Expired.String(),
		"unreachable":        heartbeat.Unreachable.String(),
		"heartbeat.Cause(9)": heartbeat.Cause(9).String(),
		"lease lost (unreachable): network is down": (&heartbeat.LossError{Cause: heartbeat.Unreachable, Err: errNetwork}).Error(),
		"lease lost (expired)":                      (&heartbeat.LossError{Cause: heartbeat.Expired}).Error(),
	} {
		if got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
	}
}

// TestStop checks that Stop waits for the renewal under way, and that nothing is sent after it.
func TestStop(t *testing.T) {
	for name, stubborn := range map[string]bool{"renewal that ends with its context": false, "renewal that does not": true} {
		locktest.InBubble(t, name, func(t *testing.T) {
			start := time.Now()
			tb := newTable(func(ctx context.Context, n int) error {
				if stubborn {
					time.Sleep(3 * time.Second)
					return nil
				}
				select {
				case <-ctx.Done():
				case <-time.After(3 * time.Second):
				}
				time.Sleep(time.Second) // to return
				return ctx.Err()
			})
			k := heartbeat.Start(t.Context(), start, rhythm, tb.renew)
			time.Sleep(31 * time.Second)
			if _, underWay, _ := tb.seen(); underWay != 1 {
				t.Fatal("no renewal is under way")
			}
			k.Stop()
			want := map[bool]time.Duration{false: 32 * time.Second, true: 33 * time.Second}[stubborn]
			if got := time.Since(start); got != want {
				t.Errorf("Stop returned at %v, want %v, when the renewal had", got, want)
			}
			if _, underWay, _ := tb.seen(); underWay != 0 {
				t.Error("a renewal is under way after Stop")
			}
			time.Sleep(time.Hour)
			if sent, _, _ := tb.seen(); len(sent) != 1 {
				t.Errorf("%d renewals were sent, want none after Stop", len(sent))
			}
			select {
			case <-k.Lost():
				t.Errorf("a loss after Stop was reported: %v", k.Err())
			default:
			}
			k.Stop()
		})
	}
}

// TestCheck checks that Check looks at the clock itself, and warns: the timers may be late.
func TestCheck(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			c, b := warned(10 * time.Second)
			c.First = 2 * time.Hour
			k := heartbeat.Start(t.Context(), time.Now().Add(-58*time.Second), c, newTable(nil).renew)
			if loss, ok := errors.AsType[*heartbeat.LossError](k.Check()); !ok || loss.Cause != heartbeat.Expired || b.times() != "[0s]" {
				t.Errorf("at the deadline Check gave %v, after warnings at %s", loss, b.times())
			}
			<-k.Lost()
			k.Stop()

			k = heartbeat.Start(t.Context(), time.Now().Add(-58*time.Second+1), c, newTable(nil).renew)
			if err := k.Check(); err != nil {
				t.Errorf("a nanosecond before the deadline Check gave %v", err)
			}
			k.Stop()
		})
	}
}

// TestCancelledContext checks that a cancelled context of the caller does not end the lease.
func TestCancelledContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
		tb := newTable(func(ctx context.Context, n int) error {
			if ctx.Value(key{}) != "kept" {
				t.Error("the caller's values are gone")
			}
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("a renewal has no deadline")
			}
			return ctx.Err()
		})
		k := heartbeat.Start(ctx, time.Now(), rhythm, tb.renew)
		cancel()
		time.Sleep(10 * time.Minute)
		wantKept(t, k)
		k.Stop()
	})
}

// TestTimeOfLoss checks that a loss is reported exactly 58 s after the sending of the last confirmed renewal, or at once
// when evicted, whether renewals fail, hang, answer late or succeed, and that never two are under way.
func TestTimeOfLoss(t *testing.T) {
	for range 100 {
		type fate struct {
			after time.Duration
			err   error
		}
		fates := make([]fate, 1+rand.IntN(30))
		for i := range fates {
			fates[i] = fate{
				after: time.Duration(rand.IntN([]int{1, 5000, 120_000}[rand.IntN(3)])) * time.Millisecond,
				err:   []error{nil, nil, nil, errNetwork, errNetwork, heartbeat.ErrEvicted}[rand.IntN(6)],
			}
		}
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			confirmed := start // guarded by the table's mutex from here on
			var evicted time.Time
			var tb *table
			tb = newTable(func(ctx context.Context, n int) error {
				sent := time.Now()
				f := fate{err: errNetwork} // at the end nothing succeeds any more
				if n <= len(fates) {
					f = fates[n-1]
				}
				select {
				case <-time.After(f.after):
				case <-ctx.Done():
					return ctx.Err()
				}
				tb.mu.Lock()
				defer tb.mu.Unlock()
				if f.err == nil {
					confirmed = sent
				}
				if f.err == heartbeat.ErrEvicted {
					evicted = time.Now()
				}
				return f.err
			})
			k := heartbeat.Start(t.Context(), start, rhythm, tb.renew)
			<-k.Lost()
			at := time.Now()
			k.Stop()
			tb.mu.Lock()
			defer tb.mu.Unlock()
			want := confirmed.Add(58 * time.Second)
			loss := k.Err().(*heartbeat.LossError)
			if loss.Cause == heartbeat.Evicted {
				want = evicted
			}
			if !at.Equal(want) {
				t.Fatalf("after %v: lost (%v) at %v, want %v", fates, loss, at.Sub(start), want.Sub(start))
			}
			if tb.most > 1 {
				t.Fatalf("after %v: %d renewals were under way at one time", fates, tb.most)
			}
		})
	}
}

// TestCauseOfLoss checks that a loss names the last failure, and not the end of the
// renewal that was under way at the deadline.
func TestCauseOfLoss(t *testing.T) {
	for range 50 { // both end at one instant, in any order
		synctest.Test(t, func(t *testing.T) {
			spoilt, calls := errors.New("spoilt"), 0
			k := heartbeat.Start(t.Context(), time.Now(), heartbeat.Config{TTL: 10 * time.Second, Interval: 5 * time.Second, Margin: time.Second, First: 5 * time.Second},
				func(ctx context.Context) error {
					if calls++; calls == 1 {
						return spoilt
					}
					<-ctx.Done()
					return ctx.Err()
				})
			<-k.Lost()
			if loss, ok := errors.AsType[*heartbeat.LossError](k.Err()); !ok || loss.Cause != heartbeat.Unreachable || !errors.Is(loss, spoilt) {
				t.Fatalf("%v", k.Err())
			}
			k.Stop()
		})
	}
}

var endless = heartbeat.Config{TTL: time.Minute, Interval: 30 * time.Second, First: 30 * time.Second, Endless: true}

func TestEndlessLease(t *testing.T) {
	for name, answer := range map[string]func(context.Context, int) error{
		"renewals fail":   func(context.Context, int) error { return errNetwork },
		"a renewal hangs": func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() },
		"renewals succeed": func(ctx context.Context, _ int) error {
			if _, bounded := ctx.Deadline(); bounded {
				t.Error("a renewal has a deadline")
			}
			return nil
		},
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			c := endless
			c.Warnings = []heartbeat.Warning{{Margin: time.Minute, Func: func() { t.Error("warned of a deadline") }}}
			tb := newTable(answer)
			k := heartbeat.Start(t.Context(), time.Now(), c, tb.renew)
			if !k.Deadline().IsZero() {
				t.Errorf("its deadline is %v", k.Deadline())
			}
			time.Sleep(24 * time.Hour)
			wantKept(t, k)
			k.Stop()
			wantKept(t, k)
			sent, underWay, most := tb.seen()
			if name != "a renewal hangs" && (len(sent) < 24*120-150 || len(sent) > 25*120) || most != 1 || underWay != 0 {
				t.Errorf("%d renewals in a day, %d at one time, %d under way after Stop", len(sent), most, underWay)
			}
		})
	}
}

// TestExtend checks that Extend renews at once and the next renewal counts from it.
func TestExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(nil)
		k := heartbeat.Start(t.Context(), time.Now(), rhythm, tb.renew)
		time.Sleep(10 * time.Second)
		locktest.OK(t, k.Extend(t.Context()))
		if left := time.Until(k.Deadline()); left != 58*time.Second {
			t.Errorf("%v are left, want all", left)
		}
		if due := time.Until(k.Due()); due <= 0 || due > 30*time.Second {
			t.Errorf("the next renewal is due in %v", due)
		}
		time.Sleep(time.Minute + time.Second)
		k.Stop()
		if sent, _, _ := tb.seen(); fmt.Sprint(sent) != "[10s 40s 1m10s]" {
			t.Errorf("renewals were sent at %v", sent)
		}
	})
}

// TestExtendDuringRenewal checks that Extend waits for the renewal under way, which says nothing of a lease that runs
// from now, and sends one of its own. Calls that wait share it.
func TestExtendDuringRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		tb := newTable(func(context.Context, int) error { time.Sleep(4 * time.Second); return nil })
		k := heartbeat.Start(t.Context(), start, rhythm, tb.renew)
		time.Sleep(31 * time.Second)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				locktest.Check(t, k.Extend(t.Context()))
				if took := time.Since(start); took != 38*time.Second {
					t.Errorf("returned at %v, want with the second answer", took)
				}
				if deadline := k.Deadline().Sub(start); deadline != 92*time.Second {
					t.Errorf("the deadline is at %v, want 58 s after 34 s", deadline)
				}
			})
		}
		wg.Wait()
		time.Sleep(30 * time.Second)
		k.Stop()
		if sent, _, most := tb.seen(); fmt.Sprint(sent) != "[30s 34s 1m4s]" || most != 1 {
			t.Errorf("renewals were sent at %v, %d at one time", sent, most)
		}
	})
}

// TestFailedExtend checks that an Extend that fails returns the error, and the renewal is tried again.
func TestFailedExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		tb := newTable(func(ctx context.Context, n int) error {
			if n == 1 {
				return errNetwork
			}
			return nil
		})
		k := heartbeat.Start(t.Context(), start, rhythm, tb.renew)
		time.Sleep(10 * time.Second)
		locktest.Is(t, k.Extend(t.Context()), errNetwork)
		if left := k.Deadline().Sub(start); left != 58*time.Second {
			t.Errorf("a renewal that failed set the deadline to %v", left)
		}
		time.Sleep(time.Second)
		wantKept(t, k)
		if left := k.Deadline().Sub(start); left < 68*time.Second {
			t.Errorf("the deadline is at %v: it was not tried again", left)
		}
		k.Stop()
	})
}

func TestExtendAfterEnd(t *testing.T) {
	locktest.InBubble(t, "evicted", func(t *testing.T) {
		k := heartbeat.Start(t.Context(), time.Now(), rhythm, func(context.Context) error { return heartbeat.ErrEvicted })
		for range 2 {
			loss, ok := errors.AsType[*heartbeat.LossError](k.Extend(t.Context()))
			if !ok || loss.Cause != heartbeat.Evicted {
				t.Errorf("%v", loss)
			}
		}
		k.Stop()
	})
	locktest.InBubble(t, "the deadline passed", func(t *testing.T) {
		for range 50 {
			tb := newTable(nil)
			k := heartbeat.Start(t.Context(), time.Now().Add(-58*time.Second), heartbeat.Config{TTL: rhythm.TTL, Interval: rhythm.Interval, Margin: rhythm.Margin, First: time.Hour}, tb.renew)
			loss, ok := errors.AsType[*heartbeat.LossError](k.Extend(t.Context()))
			if sent, _, _ := tb.seen(); !ok || loss.Cause != heartbeat.Expired || len(sent) != 0 {
				t.Errorf("%v, after %d renewals", loss, len(sent))
			}
			k.Stop()
		}
	})
	locktest.InBubble(t, "its answer comes after the deadline", func(t *testing.T) {
		k := heartbeat.Start(t.Context(), time.Now(), rhythm, func(context.Context) error { time.Sleep(time.Hour); return nil })
		time.Sleep(10 * time.Second)
		loss, ok := errors.AsType[*heartbeat.LossError](k.Extend(t.Context()))
		if !ok || loss.Cause != heartbeat.Unreachable {
			t.Errorf("%v", loss)
		}
		k.Stop()
	})
	locktest.InBubble(t, "stopped", func(t *testing.T) {
		tb := newTable(func(ctx context.Context, n int) error { time.Sleep(5 * time.Second); return nil })
		k := heartbeat.Start(t.Context(), time.Now(), rhythm, tb.renew)
		var wg sync.WaitGroup
		for range 2 { // one under way, one that waits for it
			wg.Go(func() {
				locktest.Is(t, k.Extend(t.Context()), heartbeat.ErrStopped)
			})
			time.Sleep(time.Second)
		}
		k.Stop()
		locktest.Is(t, k.Extend(t.Context()), heartbeat.ErrStopped)
		wg.Wait()
		if sent, underWay, _ := tb.seen(); len(sent) != 1 || underWay != 0 {
			t.Errorf("%d renewals were sent, %d are under way", len(sent), underWay)
		}
	})
}

func TestExtendContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		tb := newTable(func(context.Context, int) error { time.Sleep(5 * time.Second); return nil })
		k := heartbeat.Start(t.Context(), start, rhythm, tb.renew)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := k.Extend(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		locktest.Is(t, k.Extend(ctx), context.DeadlineExceeded)
		time.Sleep(5 * time.Second)
		if left := k.Deadline().Sub(start); left != 58*time.Second {
			t.Errorf("the deadline is at %v, want 58 s after the renewal that was sent at once", left)
		}
		k.Stop()
		if sent, _, _ := tb.seen(); len(sent) != 1 {
			t.Errorf("%d renewals were sent", len(sent))
		}
	})
}

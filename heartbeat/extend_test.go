package heartbeat_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

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

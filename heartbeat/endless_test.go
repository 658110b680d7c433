package heartbeat_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
)

var endless = heartbeat.Config{TTL: time.Minute, Interval: 30 * time.Second, First: 30 * time.Second, Endless: true}

// TestEndlessLease checks that a lease without an end has no deadline.
func TestEndlessLease(t *testing.T) {
	for name, answer := range map[string]func(context.Context, int) error{
		"renewals fail":    func(context.Context, int) error { return errNetwork },
		"a renewal hangs":  func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() },
		"renewals succeed": nil,
	} {
		bubble(name, t, func(t *testing.T) {
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

// TestEndlessLeaseEviction checks that a lease without an end is lost by eviction alone.
func TestEndlessLeaseEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		tb := newTable(func(_ context.Context, n int) error {
			switch {
			case n < 3:
				return nil
			case n < 10:
				return errNetwork
			}
			return heartbeat.ErrEvicted
		})
		k := heartbeat.Start(t.Context(), start, endless, tb.renew)
		<-k.Lost()
		if loss, ok := errors.AsType[*heartbeat.LossError](k.Err()); !ok || loss.Cause != heartbeat.Evicted {
			t.Errorf("%v", k.Err())
		}
		// Failures are tried again soon at first.
		sent, _, _ := tb.seen()
		if len(sent) != 10 || sent[2] != 90*time.Second || sent[3]-sent[2] > time.Second || sent[9]-sent[8] > 30*time.Second {
			t.Errorf("renewals were sent at %v", sent)
		}
		k.Stop()
	})
}

// TestExtendEndlessLease checks that Extend of a lease without an end asks the table.
func TestExtendEndlessLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := false
		tb := newTable(func(context.Context, int) error {
			if gone {
				return heartbeat.ErrEvicted
			}
			return nil
		})
		k := heartbeat.Start(t.Context(), time.Now(), endless, tb.renew)
		if err := k.Extend(t.Context()); err != nil || !k.Deadline().IsZero() {
			t.Errorf("%v, deadline %v", err, k.Deadline())
		}
		gone = true
		if err := k.Extend(t.Context()); !errors.Is(err, heartbeat.ErrEvicted) {
			t.Errorf("%v", err)
		}
		k.Stop()
	})
}

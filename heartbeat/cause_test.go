package heartbeat_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
)

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

package heartbeat_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// bell remembers when it was rung.
type bell struct {
	mu    sync.Mutex
	start time.Time
	rung  []time.Duration
}

func (b *bell) at(margin time.Duration) heartbeat.Warning {
	return heartbeat.Warning{Margin: margin, Func: func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.rung = append(b.rung, time.Since(b.start))
	}}
}

func (b *bell) times() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprint(b.rung)
}

// warned is the rhythm with a bell at each of the margins.
func warned(margins ...time.Duration) (heartbeat.Config, *bell) {
	c, b := rhythm, &bell{start: time.Now()}
	for _, margin := range margins {
		c.Warnings = append(c.Warnings, b.at(margin))
	}
	return c, b
}

// TestWarning checks that each warning is given before the deadline. TestMachine has when it is given, and when not.
func TestWarning(t *testing.T) {
	for name, fail := range map[string]func(ctx context.Context, n int) error{
		"renewals fail": func(context.Context, int) error { return errNetwork },
		"renewals hang": func(ctx context.Context, n int) error { <-ctx.Done(); return ctx.Err() },
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			c, b := warned(20*time.Second, 5*time.Second, 20*time.Second)
			k := heartbeat.Start(t.Context(), time.Now(), c, newTable(fail).renew)
			wantLoss(t, k, b.start, 58*time.Second, heartbeat.Unreachable)
			time.Sleep(time.Hour)
			k.Stop()
			if b.times() != "[38s 38s 53s]" {
				t.Errorf("rung at %s, want at 20, 20 and 5 s before the deadline", b.times())
			}
		})
	}
}

// TestLateWarning checks that a process that was paused past the deadline is warned before the loss is reported. The first
// warning holds the keeper up here, as a pause would. TestMachine has an answer that comes after a pause.
func TestLateWarning(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			c, b := warned(10 * time.Second)
			c.First = 2 * time.Hour // no renewal waits for the keeper
			var k *heartbeat.Keeper
			started, told := make(chan struct{}), true
			c.Warnings[0].Func = func() {
				<-started
				b.rung = append(b.rung, time.Since(b.start))
				select {
				case <-k.Lost():
				default:
					told = false
				}
			}
			c.Warnings = append(c.Warnings, heartbeat.Warning{Margin: 20 * time.Second, Func: func() { time.Sleep(time.Hour) }})
			k = heartbeat.Start(t.Context(), time.Now(), c, newTable(func(context.Context, int) error { return errNetwork }).renew)
			close(started)
			<-k.Lost()
			if len(b.rung) != 1 || b.rung[0] < time.Hour || told {
				t.Errorf("rung at %v, with the loss reported before: %v", b.rung, told)
			}
			k.Stop()
		})
	}
}

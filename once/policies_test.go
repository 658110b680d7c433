package once_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/once"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

// TestPolicies checks what the callers get that wait for a result with the option of a policy, or with tickets of a wider scope, and when.
func TestPolicies(t *testing.T) {
	const takes = 10 * time.Minute
	for name, c := range map[string]struct {
		cfg   queuelock.Config
		opt   queuelock.Option
		wants [3]error // of the callers in their order
	}{
		"MaxWaiters":  {opt: queuelock.MaxWaiters(1), wants: [3]error{2: queuelock.ErrQueueFull}},
		"Supersede":   {opt: queuelock.Supersede(), wants: [3]error{1: queuelock.ErrSuperseded}},
		"HoldAtLeast": {opt: queuelock.HoldAtLeast(time.Hour)},
		"ScopeEntity": {cfg: queuelock.Config{Scope: ticket.ScopeEntity}},
		"ScopeTable":  {cfg: locktest.SharedScope},
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			calls, begun, done := 0, time.Now(), make(chan error)
			for i, want := range c.wants {
				p, _ := locktest.Open(t, table, fmt.Sprint("p", i), c.cfg)
				go func() {
					value, err := once.Do(t.Context(), p, locktest.Order, time.Minute, returns("it", takes, &calls), c.opt)
					late := time.Since(begun) - takes
					if good := err == nil && string(value) == "it" && late <= 3*time.Second; want == nil && !good || !errors.Is(err, want) {
						done <- fmt.Errorf("caller %d has %q, %v, %v after the result", i, value, err, late)
						return
					}
					done <- nil
				}()
				time.Sleep(5 * time.Second)
			}
			for range c.wants {
				locktest.Check(t, <-done)
			}
			if calls != 1 {
				t.Errorf("%d computed", calls)
			}
		})
	}
}

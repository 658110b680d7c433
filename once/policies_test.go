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
)

// TestPolicies checks what the callers get that wait for a result with the option of a policy, and when.
func TestPolicies(t *testing.T) {
	const takes = 10 * time.Minute
	for name, c := range map[string]struct {
		opt   queuelock.Option
		wants [3]error      // of the callers in their order
		late  time.Duration // at most, after the result
	}{
		"MaxWaiters":  {opt: queuelock.MaxWaiters(1), wants: [3]error{2: queuelock.ErrQueueFull}, late: 3 * time.Second},
		"Supersede":   {opt: queuelock.Supersede(), wants: [3]error{1: queuelock.ErrSuperseded}, late: 3 * time.Second},
		"HoldAtLeast": {opt: queuelock.HoldAtLeast(time.Hour), late: 3 * time.Second},
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond))
			calls, begun, done := 0, time.Now(), make(chan error)
			for i, want := range c.wants {
				p, _ := locktest.Open(t, table, fmt.Sprint("p", i), queuelock.Config{})
				go func() {
					value, err := once.Do(t.Context(), p, locktest.Order, time.Minute, returns("it", takes, &calls), c.opt)
					late := time.Since(begun) - takes
					if good := err == nil && string(value) == "it" && late <= c.late; want == nil && !good || !errors.Is(err, want) {
						done <- fmt.Errorf("caller %d has %q, %v, %v after the result", i, value, err, late)
						return
					}
					done <- nil
				}()
				time.Sleep(5 * time.Second)
			}
			for range c.wants {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			if calls != 1 {
				t.Errorf("%d computed", calls)
			}
		})
	}
}

package group_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/internal/group"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestGroup(t *testing.T) {
	locktest.InBubble(t, "WaitReturnsWhenEmpty", func(t *testing.T) {
		var g group.Group
		locktest.Check(t, g.Wait(t.Context()))
		begun := time.Now()
		g.Enter()
		g.Run(func() { time.Sleep(2 * time.Second) })
		g.Run(func() { time.Sleep(time.Second); g.Leave() })
		if err := g.Wait(t.Context()); err != nil || time.Since(begun) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
	locktest.InBubble(t, "WaitEndsWithContext", func(t *testing.T) {
		var g group.Group
		g.Enter()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		locktest.Is(t, g.Wait(ctx), context.DeadlineExceeded)
		g.Enter()
		g.Leave()
		g.Leave()
		locktest.Check(t, g.Wait(t.Context()))
	})
}

// TestAll checks that all goroutines run to their ends, and that one which does not return ends the goroutine that waits for them.
func TestAll(t *testing.T) {
	for name, test := range map[string]struct {
		end     func()
		value   any
		returns bool
	}{
		"returns": {func() {}, nil, true},
		"panics":  {func() { panic("mistake") }, "mistake", false},
		"exits":   {runtime.Goexit, nil, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var all group.All
			var ended atomic.Int32
			for range 3 {
				all.Go(func() { time.Sleep(time.Second); ended.Add(1) })
			}
			all.Go(test.end)
			returned := false
			go func() {
				defer func() {
					if v := recover(); v != test.value || ended.Load() != 3 {
						t.Errorf("%s: it panicked with %v after %d ends", name, v, ended.Load())
					}
				}()
				all.Wait()()
				returned = true
			}()
			time.Sleep(time.Minute)
			synctest.Wait()
			if returned != test.returns {
				t.Errorf("%s: it returned %t", name, returned)
			}
		})
	}
}

package group_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/internal/group"
)

func TestGroup(t *testing.T) {
	t.Run("WaitReturnsWhenEmpty", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var g group.Group
			if err := g.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			begun := time.Now()
			g.Enter()
			g.Run(func() { time.Sleep(2 * time.Second) })
			g.Run(func() { time.Sleep(time.Second); g.Leave() })
			if err := g.Wait(t.Context()); err != nil || time.Since(begun) != 2*time.Second {
				t.Errorf("%v after %v", err, time.Since(begun))
			}
		})
	})
	t.Run("WaitEndsWithContext", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var g group.Group
			g.Enter()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := g.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			g.Enter()
			g.Leave()
			g.Leave()
			if err := g.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
}

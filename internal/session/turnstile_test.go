package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestTurnstile(t *testing.T) {
	t.Run("OneAtATime", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			turns, through := newTurnstile(), 0
			for range 3 {
				go func() {
					_ = turns.Lock(t.Context())
					through++
				}()
			}
			for want := 1; want <= 3; want++ {
				synctest.Wait()
				if through != want {
					t.Fatalf("%d are through, want %d", through, want)
				}
				turns.Unlock()
			}
		})
	})
	t.Run("FreeThoughContextEnded", func(t *testing.T) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			turns := newTurnstile()
			if err := turns.Lock(ended); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("WaitEndsWithContext", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			turns := newTurnstile()
			_ = turns.Lock(t.Context())
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := turns.Lock(ctx); err != context.DeadlineExceeded {
				t.Errorf("the wait ended with %v", err)
			}
			turns.Unlock()
			if err := turns.Lock(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
}

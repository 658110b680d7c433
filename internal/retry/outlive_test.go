package retry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/internal/retry"
)

type key struct{}

// TestOutlive checks that a context ends a grace period after that of the caller, also if that one has already ended.
func TestOutlive(t *testing.T) {
	for ended, want := range map[bool]time.Duration{false: time.Minute + time.Second, true: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			caller, end := context.WithTimeout(context.WithValue(t.Context(), key{}, "kept"), time.Minute)
			defer end()
			if ended {
				end()
			}
			lingering, cancel := retry.Outlive(caller, time.Second)
			defer cancel()
			if lingering.Value(key{}) != "kept" {
				t.Error("the caller's values are gone")
			}
			start := time.Now()
			<-lingering.Done()
			if got := time.Since(start); got != want {
				t.Errorf("it ended after %v, want %v", got, want)
			}
		})
	}
}

// TestOutliveCancelled checks that cancel ends the context at once and leaves nothing behind.
func TestOutliveCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller, end := context.WithCancel(t.Context())
		lingering, cancel := retry.Outlive(caller, time.Second)
		if lingering.Err() != nil {
			t.Error("it ended by itself")
		}
		cancel()
		if lingering.Err() == nil {
			t.Error("it goes on after cancel")
		}
		end()
		cancel()
	})
}

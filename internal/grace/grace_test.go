package grace_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/internal/grace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type key struct{}

// TestGrace checks that a context ends a grace period after that of the caller.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller, end := context.WithTimeout(context.WithValue(t.Context(), key{}, "kept"), time.Minute)
		defer end()
		lingering, cancel := grace.Context(caller, time.Second)
		defer cancel()
		if lingering.Value(key{}) != "kept" {
			t.Error("the caller's values are gone")
		}
		start := time.Now()
		<-lingering.Done()
		if got := time.Since(start); got != time.Minute+time.Second {
			t.Errorf("it ended after %v, want the caller's minute and a second of grace", got)
		}
	})
}

// TestEndedContext checks that a context of the caller that has already ended leaves the
// whole grace period.
func TestEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller, end := context.WithCancel(t.Context())
		end()
		lingering, cancel := grace.Context(caller, time.Second)
		defer cancel()
		start := time.Now()
		<-lingering.Done()
		if got := time.Since(start); got != time.Second {
			t.Errorf("it ended after %v, want a second", got)
		}
	})
}

// TestCancel checks that cancel ends the context at once and leaves nothing behind.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller, end := context.WithCancel(t.Context())
		lingering, cancel := grace.Context(caller, time.Second)
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

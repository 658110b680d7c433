package acquire_test

import (
	"errors"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestOwnHolder checks that a wait for a lock of the same client says so, and no other wait does.
func TestOwnHolder(t *testing.T) {
	for name, opts := range map[string][]queuelock.Option{"Exclusive": nil, "Permits": {queuelock.Permits(2)}} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			a, _ := locktest.Open(t, table, "a", queuelock.Config{})
			b, _ := locktest.Open(t, table, "b", queuelock.Config{})
			first := a
			if len(opts) > 0 {
				first = b // the own lock is not that of the lowest ticket
			}
			lowest := locktest.Acquire(t, first, waitpolicy.NoWait, opts...)
			own := lowest
			if first == b {
				own = locktest.Acquire(t, a, waitpolicy.NoWait, opts...)
			}
			other, _ := locktest.Open(t, table, "c", queuelock.Config{})
			for c, want := range map[*queuelock.Client]bool{a: true, other: false} {
				_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.For(5*time.Second), opts...)
				busy, ok := errors.AsType[*queuelock.NotAcquiredError](err)
				if !ok || (busy.Own == own.Ticket()) != want || busy.Own.IsZero() == want {
					t.Errorf("%v, own %v, want %v", err, busy, want)
				}
				if len(opts) > 0 {
					locktest.Says(t, err, "2 of 2 permits in use")
				}
			}
		})
	}
}

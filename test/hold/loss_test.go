package hold_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestLossDuringHang checks that a loss is reported before the lease ends while requests hang.
func TestLossDuringHang(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		lock, db := hold(t, table, locktest.TenSeconds)
		granted := time.Now()
		db.Inject(queuelocktest.SwallowRequest())
		<-lock.Context().Done()
		if at := time.Since(granted); at > locktest.TTL-500*time.Millisecond || at < locktest.TTL/2 {
			t.Errorf("the loss was reported %v after the grant, want shortly before %v", at, locktest.TTL)
		}
		lost, ok := errors.AsType[*queuelock.LostError](context.Cause(lock.Context()))
		if !ok || lost.Cause != heartbeat.Unreachable || !errors.Is(lost, queuelock.ErrLost) {
			t.Errorf("cause %v, want unreachable", context.Cause(lock.Context()))
		}
	})
}

func TestCauseOfLoss(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		lock, _ := hold(t, table, locktest.TenSeconds)
		locktest.Evict(t, table, locktest.Order.Entity)
		<-lock.Context().Done()
		for _, err := range []error{lock.Err(), context.Cause(lock.Context()), lock.Release(t.Context()), lock.Release(t.Context())} {
			lost, ok := errors.AsType[*queuelock.LostError](err)
			if !ok || lost.Cause != heartbeat.Evicted || lost.Ticket != lock.Ticket() || !errors.Is(err, queuelock.ErrLost) {
				t.Errorf("%v, want evicted", err)
			}
		}
	})
}

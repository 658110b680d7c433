package hold_test

import (
	"errors"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestRemaining checks that Remaining falls to zero at the deadline, and is zero after the end.
func TestRemaining(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		before := db.Counts().Total().Sent
		for _, step := range []struct{ after, least, most time.Duration }{
			{0, 9 * time.Second, 9 * time.Second},
			{4 * time.Second, 5 * time.Second, 5 * time.Second},
			{2 * time.Second, 7500 * time.Millisecond, 8 * time.Second}, // renewed between 4.5 s and 5 s
		} {
			time.Sleep(step.after)
			if got := lock.Remaining(); got < step.least || got > step.most {
				t.Errorf("%v remain, want between %v and %v", got, step.least, step.most)
			}
		}
		if n := db.Counts().Total().Sent - before; n != 1 {
			t.Errorf("%d requests, want the heartbeat alone", n)
		}
		db.Partition()
		time.Sleep(lock.Remaining() - 1)
		if got := lock.Remaining(); got != 1 {
			t.Errorf("%v remain, want 1ns", got)
		}
		time.Sleep(time.Nanosecond)
		if got := lock.Remaining(); got != 0 || !errors.Is(lock.Err(), queuelock.ErrLost) {
			t.Errorf("%v remain of a lost lock, %v", got, lock.Err())
		}
		db.Heal()
		_ = lock.Release(t.Context())
		lock = locktest.Acquire(t, c, waitpolicy.Forever)
		locktest.Release(t, lock)
		if got := lock.Remaining(); got != 0 {
			t.Errorf("%v remain of a released lock", got)
		}
	})
}

// TestExtend checks that Extend is one request, from which the next heartbeat counts.
func TestExtend(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "a", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait))
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		full := lock.Remaining()
		time.Sleep(20 * time.Second)
		spent := locktest.Cost(table, func() { locktest.OK(t, lock.Extend(t.Context())) })
		if spent.Sent != 1 || spent.WriteUnits != 1 || spent.ReadUnits != 0 {
			t.Errorf("it cost %+v, want one request", spent)
		}
		if got := lock.Remaining(); got != full {
			t.Errorf("%v remain, want %v", got, full)
		}
		before := db.Counts().Total().Sent
		time.Sleep(26900 * time.Millisecond)
		if n := db.Counts().Total().Sent - before; n != 0 {
			t.Errorf("%d requests within 26.9 s of it", n)
		}
		time.Sleep(4100 * time.Millisecond)
		if n := db.Counts().Total().Sent - before; n != 1 {
			t.Errorf("%d requests within 31 s of it, want a heartbeat", n)
		}
		// Others leave it as long as its holder believes in it.
		if h := locktest.Must(c.Viewer().Inspect(t.Context(), locktest.Order)).Serving[0]; h.Remaining < lock.Remaining() {
			t.Errorf("to others %v remain, to its holder %v", h.Remaining, lock.Remaining())
		}
		locktest.Release(t, lock)
		before = db.Counts().Total().Sent
		if err := lock.Extend(t.Context()); !errors.Is(err, queuelock.ErrReleased) || db.Counts().Total().Sent != before {
			t.Errorf("after the release: %v", err)
		}
	})
}

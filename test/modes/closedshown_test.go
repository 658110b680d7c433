package modes_test

import (
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestClosedAtAnUnknownTime checks what an error says of a closed queue whose opening is not known.
func TestClosedAtAnUnknownTime(t *testing.T) {
	refused := func(t *testing.T, c *queuelock.Client, opts []queuelock.AcquireOption, want ...string) {
		t.Helper()
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.NoWait, opts...)
		locktest.Says(t, err, want...)
		if strings.Contains(err.Error(), "0001") {
			t.Errorf("%q has a time that is none", err)
		}
	}
	locktest.InBubble(t, "WithoutDate", func(t *testing.T) {
		a, b := locktest.Two(t, queuelocktest.NewTable(t, queuelocktest.WithoutDate()), queuelock.Config{}, "a", "b")
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.Every(time.Hour)))
		refused(t, b, nil, ", closed by ticket 1")
	})
	locktest.InBubble(t, "AnotherPermitIsHeld", func(t *testing.T) {
		a, b, c := locktest.Three(t, queuelocktest.NewTable(t), queuelock.Config{}, "a", "b", "c")
		permits := queuelock.Permits(2)
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait, permits, queuelock.Every(time.Hour)))
		locktest.Acquire(t, b, waitpolicy.NoWait, permits)
		refused(t, c, []queuelock.AcquireOption{permits}, "2 of 2 permits in use, closed until 2000-01-01T01:00:0", " by ticket 1 and 1 more")
	})
}

package docs_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestLimitsOfOneQueue compares the formula for the holders of a queue with the constants of the code, and how many
// holders there can be with what a client does.
func TestLimitsOfOneQueue(t *testing.T) {
	const page, kilobyte = "docs/costs.md", 1 << 10
	says(t, page, "size = %d KB + n * (%d bytes + owner + data) at most %d KB",
		constantOf(t, "queue", "recordBase")/kilobyte, constantOf(t, "queue", "entryBase"), constantOf(t, "queue", "maxRecord")/kilobyte)
	says(t, page, "units = n / HeartbeatInterval * size in KB at most %d a second", constantOf(t, "queue", "maxUnits"))
	says(t, page, "each holder of `Permits` and `Shared` about %d bytes", constantOf(t, "queue", "entryBase"))
	says(t, page, "At most %d holders share a queue", queue.MaxPermits)

	var permits, readers int
	synctest.Test(t, func(t *testing.T) {
		c, _ := locktest.Open(t, newTable(t), "a", queuelock.Config{Owner: "worker-1:12345"})
		for n := 2; n <= queue.MaxPermits; n++ {
			lock, err := c.Acquire(t.Context(), queuelock.Key{Entity: fmt.Sprint(n)}, waitpolicy.NoWait, queuelock.Permits(n))
			if err != nil {
				break
			}
			release(t, lock)
			permits = n
		}
		var held []*queuelock.Lock
		for {
			lock, err := c.Acquire(t.Context(), order, waitpolicy.NoWait, queuelock.Shared())
			if err != nil {
				if !errors.Is(err, queuelock.ErrNotAcquired) {
					t.Error(err)
				}
				break
			}
			held = append(held, lock)
		}
		readers = len(held)
		for _, lock := range held {
			release(t, lock)
		}
	})
	says(t, page, "With defaults and no data that is about %s permits, and about %s readers with `Shared`",
		whole(significant(float64(permits))), whole(significant(float64(readers))))
}

// Package acquire_test tests how a lock is acquired: what callers pass in, the queue, waits, attempts and progress,
// callbacks, how soon the next waiter is granted, Resume, and what each costs.
package acquire_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/internal/testbed/engines"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(engines.Main(m)) }

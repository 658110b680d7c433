// Package acquire_test tests how a lock is acquired: what callers pass in, the queue, waits, attempts and progress,
// callbacks, how soon the next waiter is granted, Resume, and what each costs.
package acquire_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

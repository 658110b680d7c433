// Package multilock_test tests locks of several keys: AcquireAll and the wider scopes.
package multilock_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) {
	locktest.SmallTickets()
	locktest.Main(m)
}

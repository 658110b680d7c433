// Package queuelock_test has the examples. The tests are under test/, by topic.
package queuelock_test

import (
	"os"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) {
	locktest.SmallTickets()
	os.Exit(engines.Main(m).Run())
}

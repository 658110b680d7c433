// Package lockdelay_test tests the LockDelay after a lock that was lost.
package lockdelay_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

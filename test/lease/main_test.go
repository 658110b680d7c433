// Package lease_test tests how long a lock lasts: clocks, heartbeats, Extend and OnExpiring.
package lease_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

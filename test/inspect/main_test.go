// Package inspect_test tests what others see of a lock: Inspect, IsLocked, Sweep and SetData.
package inspect_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

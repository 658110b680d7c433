// Package budget_test tests how many requests and capacity units Acquire and Release
// cost, idle and queued.
package budget_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

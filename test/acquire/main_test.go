// Package acquire_test tests the queue of Acquire: order, waits, attempts and progress.
package acquire_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

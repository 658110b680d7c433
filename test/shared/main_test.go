// Package shared_test tests shared locks and semaphores: Shared, Permits and Downgrade.
package shared_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

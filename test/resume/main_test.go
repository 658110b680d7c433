// Package resume_test tests Resume: another process takes over a lock or a place in the queue.
package resume_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

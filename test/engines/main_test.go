// Package engines_test tests the lock on every engine, in real time.
package engines_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

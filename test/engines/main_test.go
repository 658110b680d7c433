// Package engines_test tests the lock on every engine, in real time and over the
// engine's own protocol.
package engines_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// Package hold_test tests a lock that is held: how long it lasts, how it ends, the writes that are made only while it is
// held, and what others see of it.
package hold_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/internal/testbed/engines"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(engines.Main(m)) }

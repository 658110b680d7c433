// Package pace_test measures how soon the next waiter is granted, after even and uneven turns, and with what requests. It compares
// figures, and looks for no data race: it runs without the race detector.
package pace_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/internal/testbed/engines"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(engines.Main(m)) }

const ms = time.Millisecond

// Package pace_test measures how soon the next waiter is granted, after even and uneven turns, and with what requests. It compares
// figures, and looks for no data race: it runs without the race detector.
package pace_test

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

const ms = time.Millisecond

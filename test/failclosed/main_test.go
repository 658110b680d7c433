// Package failclosed_test tests locks that only an operator ends: FailClosed and Evict.
package failclosed_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// Package callback_test tests callbacks of the caller that block, panic or come late.
package callback_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// Package input_test tests what callers pass in: configuration, keys, tables and credentials.
package input_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// Package simulation_test plays random schedules of faults and checks what the table went through.
package simulation_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// Package transact_test tests writes that are made only while the lock is held: Transact and its condition.
package transact_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

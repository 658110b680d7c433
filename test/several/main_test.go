// Package several_test tests locks of several keys: AcquireAll and the wider scopes.
package several_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

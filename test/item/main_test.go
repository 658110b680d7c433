// Package item_test tests locks on the caller's own items: LockItem and UpdateAndRelease.
package item_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

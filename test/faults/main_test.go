// Package faults_test tests the lock under outages, crashes, hanging requests and malformed
// items.
package faults_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// Package faults_test tests the lock under outages, crashes, hanging requests, malformed items and load, and on every
// engine, in real time and over the engine's own protocol.
package faults_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/internal/testbed/engines"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(engines.Main(m)) }

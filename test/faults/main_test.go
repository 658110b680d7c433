// Package faults_test tests the lock under outages, crashes, hanging requests, malformed items and load, and on every
// engine, in real time and over the engine's own protocol.
package faults_test

import (
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

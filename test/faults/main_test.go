// Package faults_test tests the lock under outages, crashes, hanging requests, malformed items and load, and on every
// engine, in real time and over the engine's own protocol.
package faults_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/queuelocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(engines.Main(m)) }

// limited returns a context that ends after a time.
func limited(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

type releaser interface{ Release(context.Context) error }

// released releases a lock that was granted.
func released(lock releaser, err error) error {
	if err != nil {
		return err
	}
	return lock.Release(context.Background())
}

// hasItems checks how many items a table has. An idle queue has one, its record.
func hasItems(t *testing.T, table *queuelocktest.Table, want int) {
	t.Helper()
	if items := table.Items(); len(items) != want {
		t.Errorf("%d items, want %d: %.1000v", len(items), want, items)
	}
}

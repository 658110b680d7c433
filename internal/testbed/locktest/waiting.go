package locktest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
)

// Waiting calls [LockBy], and returns a second later: the call waits with its row.
func Waiting(t *testing.T, c *queuelock.Client, opts ...queuelock.AcquireOption) <-chan Outcome {
	waiting := LockBy(t, c, opts...)
	time.Sleep(time.Second) // in a bubble
	return waiting
}

// Pair calls [Open] for two clients of one configuration, of which the first has faults.
func Pair(t *testing.T, table *queuelocktest.Table, cfg queuelock.Config, one, other string) (
	*queuelock.Client, *queuelocktest.Client, *queuelock.Client,
) {
	t.Helper()
	a, db := Open(t, table, one, cfg)
	b, _ := Open(t, table, other, cfg)
	return a, db, b
}

// WithWatched is [WithTable] with a table that is [Watched].
func WithWatched(t *testing.T, f func(t *testing.T, table *queuelocktest.Table)) {
	synctest.Test(t, func(t *testing.T) { f(t, Watched(t)) })
}

// InWatched is [InTable] with a table that is [Watched].
func InWatched(t *testing.T, name string, f func(t *testing.T, table *queuelocktest.Table)) {
	t.Run(name, func(t *testing.T) { WithWatched(t, f) })
}

// Sends checks how many requests a client sends, or all clients of a table, while f runs.
func Sends(t *testing.T, of interface{ Counts() queuelocktest.Counts }, want int, what string, f func()) {
	t.Helper()
	before := of.Counts()
	if f(); of.Counts().Sub(before).Total().Sent != want {
		t.Errorf("%s: %+v, want %d requests", what, of.Counts().Sub(before).Total(), want)
	}
}

package locktest

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/queuelock/queuelock/queuelocktest"
)

// Cost returns what f cost one client, or all clients of a table. Use one where another polls meanwhile.
func Cost(to interface{ Counts() queuelocktest.Counts }, f func()) queuelocktest.Tally {
	before := to.Counts()
	f()
	return to.Counts().Sub(before).Total()
}

// SentNothing checks that a client, or all clients of a table, have sent no request.
func SentNothing(t *testing.T, of interface{ Counts() queuelocktest.Counts }) {
	t.Helper()
	if n := of.Counts().Total().Sent; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// Sends checks how many requests a client sends, or all clients of a table, while f runs.
func Sends(t *testing.T, of interface{ Counts() queuelocktest.Counts }, want int, what string, f func()) {
	t.Helper()
	before := of.Counts()
	if f(); of.Counts().Sub(before).Total().Sent != want {
		t.Errorf("%s: %+v, want %d requests", what, of.Counts().Sub(before).Total(), want)
	}
}

// Sent counts the requests that f makes. It leaves out heartbeats, whose number
// depends on how slow the engine is.
func Sent(table *queuelocktest.Table, f func()) int {
	var n atomic.Int64
	counting := table.Inject(queuelocktest.DelayRequest(0).Where(func(r queuelocktest.Request) bool {
		if !strings.Contains(r.Expression(), ".beat + 1") {
			n.Add(1)
		}
		return false
	}))
	f()
	counting.Remove()
	return int(n.Load())
}

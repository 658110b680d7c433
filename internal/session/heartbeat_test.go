package session

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestSince checks that heartbeats add the time of the grant until an answer has shown it: the grant had no date yet.
func TestSince(t *testing.T) {
	inWorld(t, "UntilShown", heartbeat.Terms{}, func(w *world) {
		var adding atomic.Int64
		w.holder.Inject(queuelocktest.LoseRequest().Where(func(r queuelocktest.Request) bool {
			if strings.Contains(r.Expression(), "since") {
				adding.Add(1)
			}
			return false
		}))
		w.holder.Inject(queuelocktest.LoseRequest().Of("UpdateItem").Times(1))
		time.Sleep(3 * time.Minute)
		rec, err := serving.Get(w.Context(), w.queue)
		if h, _ := rec.Mine("holder"); err != nil || h.Since.IsZero() || h.Lease.Beat < 5 {
			w.Errorf("%+v, %v", h, err)
		}
		if n := adding.Load(); n != 2 {
			w.Errorf("%d requests added it, want one and its repetition", n)
		}
	})
}

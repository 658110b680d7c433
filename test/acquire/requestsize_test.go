package acquire_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestIdleRecordSize bounds the size of an idle record with Forget. TestCosts prints that without.
func TestIdleRecordSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))) // tickets begin at the time
		size := 0
		engine := embedded.New(embedded.Config{Applied: func(_ *http.Request, changes []embedded.Change) {
			size = changes[len(changes)-1].Item.Size()
		}})
		table := queuelocktest.NewTable(t, queuelocktest.WithEngine(engine))
		c, _ := locktest.OpenMet(t, table, "a", queuelock.Config{Forget: 24 * time.Hour})
		lock := locktest.Acquire(t, c, waitpolicy.Forever)
		time.Sleep(time.Second)
		locktest.Release(t, lock)
		if size < 200 || size > 270 {
			t.Errorf("an idle record of a short key has %d bytes, want about 250", size)
		}
		t.Log(size)
	})
}

package waiter

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/queue"
)

// TestSuspects checks that each holder that was granted by name is doubted by looks of its own: one that shows it, and
// a later one.
func TestSuspects(t *testing.T) {
	w := newTestWaiter(t, Config{})
	w.ticket = n(9)
	see := func(ids ...string) (left []time.Duration) {
		w.looks++
		rec := record(8)
		for _, id := range ids {
			rec.Holders = append(rec.Holders, queue.Holder{ID: id, Ticket: n(7), Named: true, Lease: queue.Lease{TTL: time.Minute}})
		}
		w.snapshot = queue.SnapshotOf(rec, time.Now())
		w.snapshot.Whole, w.snapshot.ReadAt = true, time.Now()
		return w.observe().Holders
	}
	for i, test := range []struct {
		ids  []string
		over []bool
	}{
		{[]string{"a-n7"}, []bool{false}},
		{[]string{"a-n7", "b-n7"}, []bool{true, false}},
		{[]string{"b-n7"}, []bool{true}},
		{[]string{"a-n7"}, []bool{false}}, // it was gone meanwhile: forgotten
	} {
		for j, left := range see(test.ids...) {
			if over := left <= 0; over != test.over[j] {
				t.Errorf("look %d: %s counts as expired: %v", i+1, test.ids[j], over)
			}
		}
	}
}

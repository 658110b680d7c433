package waiter

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/queue"
)

// TestEnds checks from which request the lease of a row counts whose end a grant by name has.
func TestEnds(t *testing.T) {
	const ttl = 15 * time.Second
	begun := time.Now().Truncate(time.Millisecond)
	at := func(seconds int) time.Time { return begun.Add(time.Duration(seconds) * time.Second) }
	for name, test := range map[string]struct {
		written [][2]int // the end, and when it was sent
		until   int
		sent    int // -1: not known
	}{
		"Known":                 {written: [][2]int{{15, 0}, {22, 7}}, until: 15, sent: 0},
		"Last":                  {written: [][2]int{{15, 0}, {22, 7}}, until: 22, sent: 7},
		"FirstWithThatEnd":      {written: [][2]int{{15, 0}, {15, 7}}, until: 15, sent: 0},
		"NeverWritten":          {written: [][2]int{{15, 0}}, until: 16, sent: -1},
		"KeptWhileItMayLast":    {written: [][2]int{{15, 0}, {30, 15}}, until: 15, sent: 0},
		"ForgottenWhenItIsOver": {written: [][2]int{{15, 0}, {31, 16}}, until: 15, sent: -1},
	} {
		t.Run(name, func(t *testing.T) {
			var e ends
			for _, w := range test.written {
				e.add(at(w[0]), at(w[1]), ttl)
			}
			sent, known := e.sent(at(test.until).Add(300 * time.Microsecond)) // the table keeps milliseconds
			if known != (test.sent >= 0) || known && !sent.Equal(at(test.sent)) {
				t.Errorf("sent %v after the beginning, known: %v", sent.Sub(begun), known)
			}
		})
	}
}

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

package waiter

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// TestForesee checks whether a waiter, whose row was put during the turn before its own, counts on a holder that reads it.
func TestForesee(t *testing.T) {
	const second = time.Second
	for name, test := range map[string]struct {
		put      time.Duration // after the begin of the turn; zero: it is not
		holder   int           // its ticket; the waiter has 4
		first    int           // that was served when the lock was not idle any more
		others   int           // that hold the lock, too
		foreseen bool
		expected time.Duration // after which time of the turn a grant by name is expected; zero: it is not
	}{
		"InTime":         {put: second / 4, holder: 3, first: 1, foreseen: true, expected: second / 2},
		"TooLate":        {put: second * 3 / 4, holder: 3, first: 1},
		"Not":            {holder: 3, first: 1},
		"OfIdleLock":     {put: second / 4, holder: 3, first: 3},
		"NotNext":        {put: second / 4, holder: 2, first: 1},
		"SeveralHolders": {put: second / 4, holder: 3, first: 1, others: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := table.NewStore(nil, table.Layout{Table: "t"}, second).Queue("e", "lock", nil)
				q.Clock().Observe(time.Now(), time.Now(), time.Now())
				rec := record(test.holder, queue.Holder{ID: "h", Ticket: n(test.holder), Since: q.Clock().Middle(time.Now())})
				for range test.others {
					rec.Holders = append(rec.Holders, queue.Holder{ID: "i", Ticket: n(2)})
				}
				rec.Present, rec.Granted, rec.ServingAfter, rec.HoldTime.Mean = true, n(test.holder), n(test.first-1), second
				lines := handover.New(time.Hour)
				w := &Waiter{player: player{sender: sender{cfg: &Config{Queue: q, Local: lines, Row: heartbeat.Terms{TTL: 16 * second}}}}}
				w.sight = sight{cfg: w.cfg, wait: &w.wait}
				w.wait.Ticket, w.wait.Snapshot = n(4), queue.SnapshotOf(rec, time.Now())
				w.sight.record(n(4), &w.wait.Snapshot, handover.Ahead{})
				local := lines.Join(q, n(4), 0, nil)
				defer local.RowDeleted()
				defer local.Leave()
				w.sight.turn.local = local
				begun, expected := time.Now(), time.Duration(0)
				for d := time.Duration(0); d < 4*second; d += second / 8 {
					time.Sleep(time.Until(begun.Add(d)))
					if d == test.put && d > 0 {
						local.RowInserted()
					}
					w.sight.foresee()
					if w.sight.expected() && expected == 0 {
						expected = d
					}
				}
				if w.sight.turn.foreseen != test.foreseen || expected != test.expected {
					t.Errorf("foreseen %v, expected after %v", w.sight.turn.foreseen, expected)
				}
				if w.sight.rings(rec.Holders) != test.foreseen {
					t.Error("a bell is expected only if the row was read")
				}
				if w.sight.expected() {
					t.Error("what was read is too old to be named")
				}
			})
		})
	}
}

package waiter

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestReports(t *testing.T) {
	var got []Progress
	p := &sight{cfg: &Config{Progress: func(p Progress) { got = append(got, p) }}}
	holder := queue.Holder{ID: "h", Ticket: n(3)}
	see := func(ahead int, h queue.Holder) queue.Record {
		rec := record(3, h)
		p.record(n(7), &queue.Snapshot{Record: rec, ReadAt: instant}, handover.Tickets(ahead))
		return rec
	}
	changed := holder
	changed.DataSet = 1
	for _, step := range []struct {
		name   string
		ahead  int
		holder queue.Holder
		want   int // reports so far
	}{
		{"First", 3, holder, 1},
		{"NotWithoutChange", 3, holder, 1},
		{"AfterOneHasLeft", 2, holder, 2},
		{"AfterNewHolder", 2, queue.Holder{ID: "i", Ticket: n(3)}, 3},
		{"AfterNewData", 2, changed, 4},
	} {
		t.Run(step.name, func(t *testing.T) {
			p.send(n(7), see(step.ahead, step.holder), waitpolicy.Estimate{Wait: time.Second, Known: true})
			if len(got) != step.want {
				t.Fatalf("%d reports, want %d", len(got), step.want)
			}
			if last := got[len(got)-1]; last.Status.Ahead != step.ahead || last.Tickets != 3 || last.Wait.Wait != time.Second {
				t.Errorf("report %+v", last)
			}
		})
	}
	t.Run("CountsWaitersInWiderScopes", func(t *testing.T) {
		p.cfg.Counter = &Counter{}
		p.send(n(7), see(1, holder), waitpolicy.Estimate{})
		if last := got[len(got)-1]; last.Tickets != 1 {
			t.Errorf("report %+v", last)
		}
	})
}

func TestTicketsAhead(t *testing.T) {
	for name, test := range map[string]struct{ ticket, floor, want int }{
		"NoneRightAboveFloor": {ticket: 4, floor: 3},
		"ThoseBetween":        {ticket: 7, floor: 3, want: 3},
		"NoneBelowFloor":      {ticket: 2, floor: 3},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ticketsAhead(n(test.ticket), record(test.floor)); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}

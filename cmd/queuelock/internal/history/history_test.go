package history

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/demo/timeline"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var (
	n     = ticket.FromUint64
	begun = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

const sec = time.Second

func holder(number uint64, owner string, age time.Duration) queue.Holder {
	return queue.Holder{Ticket: n(number), ID: owner, Owner: owner, Since: begun, Age: age, Remaining: sec}
}

func waiter(number uint64, owner string, age time.Duration) queue.Waiter {
	return queue.Waiter{Ticket: n(number), ID: owner, Owner: owner, Age: age, Remaining: sec}
}

// see adds looks a second apart, and returns the lines of the turns that ended.
func see(r *Recorder, looks ...*queue.State) (ended []string) {
	for i, s := range looks {
		for _, t := range r.See(s, begun.Add(time.Duration(i)*sec)) {
			ended = append(ended, strings.Join(strings.Fields(t.Line()), " "))
		}
	}
	return ended
}

func TestRecorder(t *testing.T) {
	expired := holder(3, "c", 3*sec)
	expired.Remaining = -200 * time.Millisecond
	r := New(begun)
	got := see(r,
		&queue.State{Issued: n(2), Serving: []queue.Holder{holder(1, "a", 10*sec)}, Waiting: []queue.Waiter{waiter(2, "b", 5*sec)}},
		&queue.State{Issued: n(3), Serving: []queue.Holder{holder(2, "b", 700*time.Millisecond)}, Waiting: []queue.Waiter{waiter(3, "c", 200*time.Millisecond)}},
		&queue.State{Issued: n(4), Serving: []queue.Holder{holder(2, "b", 1700*time.Millisecond)}, Waiting: []queue.Waiter{waiter(3, "c", 1200*time.Millisecond), waiter(4, "d", 100*time.Millisecond)}},
		&queue.State{Issued: n(4), Serving: []queue.Holder{holder(3, "c", 400*time.Millisecond)}}, // d has left
		&queue.State{Issued: n(9), Serving: []queue.Holder{expired}},
		&queue.State{Issued: n(9), LastEviction: queue.Eviction{Ticket: n(3), ID: "c"}},
		&queue.State{Issued: n(10), Serving: []queue.Holder{holder(10, "e", 500*time.Millisecond)}},
	)
	want := []string{
		"0.300 s a ticket 1 waited ? held 10.3s ended",
		"2.500 s d ticket 4 waited 600ms held - left",
		"2.600 s b ticket 2 waited 5.3s held 2.3s ended",
		"4.500 s c ticket 3 waited 1.8s held 1.9s evicted: its lease was over",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if unseen, ok := r.Unseen(); !ok || unseen != 5 {
		t.Errorf("%d tickets were not seen, %v; want 5 to 9", unseen, ok)
	}
	last := r.Turns()[4]
	if last.Outcome() != "holds" || last.Granted != 5500*time.Millisecond || last.Until != 6*sec {
		t.Errorf("the last turn: %+v", last)
	}
	wantText := `# holding  . waiting  x lease over, not removed yet

a         |####                                                                                |
b         |....################################                                                |
c         |           .........................#################xxxxxxxxxx                     |
d         |                           ........                                                 |
e         |                                                                             #######|
           0 s                one column is 71 ms; turns within one share it              6.0 s
`
	if diff := cmp.Diff(wantText, r.Chart("x").Text(false)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var facts []string
	for _, f := range r.Chart("x").Facts {
		facts = append(facts, f.Name+": "+f.Value)
	}
	if diff := cmp.Diff([]string{
		"observed: 6s from 2026-03-01T12:00:00Z, by 7 looks",
		"turns: 4 seen",
		"held: 83% of the time; longest 10.3s, by a",
		"longest wait: 5.3s, by b",
		"not seen: 5 tickets, which came and went between two looks",
	}, facts); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestCrash checks that a holder that a client evicted after its lease is shown so, with the
// lease that it did not renew, though no look showed it expired; and that others are not.
func TestCrash(t *testing.T) {
	held := func(remaining time.Duration) queue.Holder {
		h := holder(1, "a", sec)
		h.TTL, h.Remaining, h.Data = 4*sec, remaining, []byte("release 7")
		return h
	}
	mark := queue.Eviction{Ticket: n(1), ID: "a", At: begun.Add(sec + 600*time.Millisecond)}
	none, other := queue.Eviction{}, queue.Eviction{Ticket: n(9), ID: "z"}
	next := []queue.Holder{holder(2, "b", 300*time.Millisecond)}
	lapsed := []timeline.Kind{timeline.Lapsing, timeline.Expired, timeline.Holding}
	holding := lapsed[2:]
	marked := queue.State{Serving: next, LastEviction: mark}
	const over, short, ms = "evicted: its lease was over", 500 * time.Millisecond, time.Millisecond
	for name, test := range map[string]struct {
		left         time.Duration  // of the lease, as the last look at the holder shows it
		before       queue.Eviction // that the looks at the holder show
		after        queue.State
		outcome, end string
		until, over  time.Duration // 0: it is not over
		kinds        []timeline.Kind
	}{
		"EvictedWithoutWaiter": {short, none, queue.State{LastEviction: mark}, "evicted", over, 1600 * ms, 1500 * ms, lapsed},
		"EvictedByNext":        {short, none, marked, "evicted", over, 1700 * ms, 1500 * ms, lapsed},
		"EvictedByOperator":    {3 * sec, none, marked, "evicted", "evicted by an operator", 1700 * ms, 0, holding},
		"Released":             {3 * sec, none, queue.State{}, "ended", "ended", 1500 * ms, 0, holding},
		"ReleasedAtOnce":       {short, none, queue.State{}, "ended", "ended", 1500 * ms, 0, holding},
		"OldMark":              {short, other, queue.State{LastEviction: other}, "ended", "ended", 1500 * ms, 0, holding},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(begun)
			for i, left := range []time.Duration{3 * sec, test.left} {
				at := begun.Add(time.Duration(i) * sec)
				r.See(&queue.State{Serving: []queue.Holder{held(left)}, LastEviction: test.before, ReadAt: at}, at)
			}
			test.after.ReadAt = begun.Add(2 * sec)
			ended := r.See(&test.after, begun.Add(2*sec))
			if len(ended) != 1 {
				t.Fatalf("%d turns have ended", len(ended))
			}
			turn := ended[0]
			if turn.Outcome() != test.outcome || turn.end() != test.end || turn.Until != test.until || turn.Expired != (test.over > 0) || turn.Over != test.over {
				t.Errorf("%s, %q: %+v", turn.Outcome(), turn.end(), turn)
			}
			var kinds []timeline.Kind
			for _, bar := range turn.bars() {
				kinds = append(kinds, bar.Kind)
				if !strings.HasSuffix(bar.Label, ": release 7") {
					t.Errorf("no data in %q", bar.Label)
				}
			}
			if diff := cmp.Diff(test.kinds, kinds); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestRecorderShared checks that the beginning of a holder does not end another one that shares the lock.
func TestRecorderShared(t *testing.T) {
	a, b := holder(1, "a", sec), holder(2, "b", 100*time.Millisecond)
	a.Shared, b.Shared = true, true
	got := see(New(begun), &queue.State{Serving: []queue.Holder{a}}, &queue.State{Serving: []queue.Holder{b}})
	if len(got) != 1 || !strings.HasPrefix(got[0], "0.500 s a ") {
		t.Errorf("%q", got)
	}
}

// TestRecorderOwners checks that names are printable, and that rows are bounded.
func TestRecorderOwners(t *testing.T) {
	r := New(begun)
	var s queue.State
	for i := range maxRows + 5 {
		s.Waiting = append(s.Waiting, waiter(uint64(i+1), strings.Repeat("\x1b", i+1), sec))
	}
	see(r, &s, &s)
	chart := r.Chart("x")
	if len(chart.Rows) != maxRows || strings.Contains(chart.Text(true), "\x1b") || chart.Facts[len(chart.Facts)-1].Value != "5 more owners" {
		t.Errorf("%d rows, facts %v", len(chart.Rows), chart.Facts)
	}
}

// TestEmptyHistory checks that a history without a look can be drawn.
func TestEmptyHistory(t *testing.T) {
	r := New(begun)
	if text := r.Chart("x").Text(true); text != "" || len(r.Report("x").Turns) != 0 {
		t.Errorf("%q", text)
	}
}

// TestUnseenOfBlock checks that a block that was seen counts with all its tickets.
func TestUnseenOfBlock(t *testing.T) {
	r := New(begun)
	block := waiter(3, "b", sec)
	block.Turns = 4 // 3 to 6
	r.See(&queue.State{Issued: n(2), Serving: []queue.Holder{holder(2, "a", sec)}}, begun)
	r.See(&queue.State{Issued: n(8), Waiting: []queue.Waiter{block}}, begun.Add(sec))
	if unseen, ok := r.Unseen(); !ok || unseen != 2 {
		t.Errorf("%d tickets were not seen, %v; want 7 and 8", unseen, ok)
	}
	if line := r.Report("q").Turns[1]; line.Ticket != "3" || line.Count != 4 {
		t.Errorf("line %+v", line)
	}
}

// TestShownData checks that a line of a turn and the picture show the holder's data, and that the legend of the picture names
// no lease that is too short to be drawn.
func TestShownData(t *testing.T) {
	h := holder(1, "a", sec)
	h.TTL, h.Remaining, h.Data = 4*sec, 590*time.Millisecond, []byte("deploy <7>\nby ada")
	r := New(begun)
	mark := queue.Eviction{Ticket: n(1), ID: "a", At: begun.Add(600 * time.Millisecond)}
	got := see(r, &queue.State{Serving: []queue.Holder{h}}, &queue.State{LastEviction: mark})
	for range 8 {
		r.See(&queue.State{LastEviction: mark}, begun.Add(20*sec))
	}
	if len(got) != 1 || !strings.HasSuffix(got[0], `evicted: its lease was over "deploy <7>\nby ada"`) {
		t.Errorf("%q", got)
	}
	var svg strings.Builder
	locktest.OK(t, r.Chart("x").SVG(&svg))
	shown := regexp.MustCompile(`<text class="note" x="8" y="77">&#34;deploy &lt;7&gt;\\nby ada&#34;<title>`)
	if !shown.MatchString(svg.String()) || strings.Contains(svg.String(), ">lease over") || strings.Contains(svg.String(), `class="expired"`) {
		t.Errorf("%s", svg.String())
	}
}

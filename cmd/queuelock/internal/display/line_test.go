package display

import (
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// TestClosedLine checks that a closed queue says when it opens, and that a turn that was released is held no longer.
func TestClosedLine(t *testing.T) {
	opens := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	shut := queue.Holder{
		Ticket: ticket.FromUint64(5), Closed: true, Since: opens.Add(-time.Hour), Age: time.Hour, Remaining: 2 * time.Minute,
		Lease: queue.Lease{NotBefore: opens},
	}
	open := shut
	open.Remaining = 0
	live := queue.Holder{Ticket: ticket.FromUint64(6), Owner: "live", Since: opens.Add(-time.Minute), Age: time.Minute, Remaining: time.Minute}
	for _, test := range []struct {
		name         string
		serving      []queue.Holder
		permits      int
		live         bool
		mode, holder string
		holders      int
		held         time.Duration // zero: null
	}{
		{"list", []queue.Holder{shut}, 0, false, "exclusive", "closed until 2026-03-01T12:00:00Z", 0, 0},
		{"live", []queue.Holder{shut}, 0, true, "lock", "opens in 2m0s", 0, 0},
		{"open", []queue.Holder{open}, 0, false, "exclusive", "-", 0, 0},
		{"open permit", []queue.Holder{open, live}, 2, false, "1 of 2", "live\t", 1, time.Minute},
		{"permit", []queue.Holder{shut, live}, 2, true, "2 of 2", "live\t", 1, time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := NewLine(&queue.State{Entity: "x", Issued: ticket.FromUint64(6), Permits: test.permits, Serving: test.serving}, nil)
			mode, holder, _, _, _ := l.Cells(test.live)
			if mode != test.mode || holder != test.holder || l.Holders != test.holders {
				t.Errorf("mode %q, holder %q, %d holders", mode, holder, l.Holders)
			}
			if held, _ := l.Times(); held != test.held || (l.HeldFor == nil) != (test.held == 0) {
				t.Errorf("held for %v, %v", held, l.HeldFor)
			}
			var out strings.Builder
			if err := Lines(&out, []Line{l}, false, false); err != nil || (l.State == Closed) != strings.Contains(out.String(), "closed until 2026-03-01T12:00:00Z ") {
				t.Errorf("%v, %s", err, out.String())
			}
		})
	}
}

// TestOpenTable checks that a queue that has opened is idle, and that the time of a holder that closes its queue is no lease.
func TestOpenTable(t *testing.T) {
	h := queue.Holder{Ticket: ticket.FromUint64(5), Closed: true, Lease: queue.Lease{TTL: 2 * time.Second, NotBefore: time.Unix(100, 0)}}
	show := func(h queue.Holder) string {
		return tableOf(t, &queue.State{Issued: h.Ticket, Serving: []queue.Holder{h}}, Options{Name: "x"})
	}
	if got, want := show(h), "x: idle; the last ticket was 5\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	h.Closed, h.Remaining = false, 8*time.Second
	if got := show(h); !strings.Contains(got, " 8s\n") || strings.Contains(got, "8s of") {
		t.Errorf("%q", got)
	}
}

// TestLoss checks that the last loss is shown, but not the mark of a holder that was resumed and has the lock.
func TestLoss(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &queue.State{Issued: ticket.FromUint64(7), ReadAt: at.Add(3 * time.Minute), LastEviction: queue.Eviction{Ticket: ticket.FromUint64(5), ID: "h5", At: at}}
	show := func() string { return tableOf(t, s, Options{Name: "x"}) }
	want := "x: idle; the last ticket was 7\nlast loss: ticket 5, 3m0s ago, at 2026-03-01T12:00:00Z: its lease was over, or it was evicted or resumed\n"
	if got := show(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if l := NewLine(s, nil).Loss; l == nil || l.Ticket != "5" || l.ID != "h5" || !l.At.Equal(at) {
		t.Errorf("%+v", l)
	}
	if l := NewReport(s).Loss; l == nil || l.Ticket != "5" {
		t.Errorf("%+v", l)
	}
	s.LastEviction.At = time.Time{}
	if got := show(); !strings.Contains(got, "ticket 5, at a time that is not known") || NewReport(s).Loss.At != nil {
		t.Errorf("%q", got)
	}
	s.Serving = []queue.Holder{{Ticket: ticket.FromUint64(5), ID: "resumed", Remaining: time.Minute}}
	if got := show(); strings.Contains(got, "last loss") || NewReport(s).Loss != nil {
		t.Errorf("%q", got)
	}
}

// TestData checks that data of several lines is quoted, and only what is no text is in base64.
func TestData(t *testing.T) {
	for data, want := range map[string]string{"release 7": "release 7", "a\nb\x1b": `"a\nb\x1b"`, "\xff\xfe": "//4= (base64)"} {
		if text, as := Data([]byte(data)); text+as != want {
			t.Errorf("%q: %q, want %q", data, text+as, want)
		}
	}
}

// TestUnits compares the estimate with what docs/costs.md has simulated.
func TestUnits(t *testing.T) {
	h := queue.Holder{Ticket: ticket.FromUint64(1), Owner: "a", Remaining: time.Minute, Lease: queue.Lease{TTL: time.Minute}}
	waiters := func(n int) (all []queue.Waiter) {
		for range n {
			all = append(all, queue.Waiter{Remaining: time.Second, Lease: queue.Lease{TTL: 15 * time.Second}})
		}
		return all
	}
	second := queue.HoldTime{Mean: time.Second}
	for name, test := range map[string]struct {
		state         queue.State
		writes, reads float64
	}{
		"Idle":                  {queue.State{}, 0, 0},
		"HeldForAnHour":         {queue.State{Serving: []queue.Holder{h}, HoldTime: second}, 130, 0},
		"NextInLine":            {queue.State{Waiting: waiters(1)}, 510, 4000},
		"TurnsOfASecondBySeven": {queue.State{Serving: []queue.Holder{h}, Waiting: waiters(7), HoldTime: second}, 4.9 * 3600, 16.8 * 3600},
	} {
		u := UnitsOf(&test.state)
		near := func(got, want float64) bool { return got >= want*0.8 && got <= want*1.25 }
		if !near(u.Writes, test.writes) || !near(u.Reads, test.reads) {
			t.Errorf("%s: %v, want about %v and %v", name, u, test.writes, test.reads)
		}
	}
	if got := (Units{17640.4, 4000}).String(); got != "about 18,000 write units and 4,000 read units an hour" {
		t.Error(got)
	}
	var out strings.Builder
	line := NewLine(&queue.State{Entity: "x", Reason: "lock", Issued: ticket.FromUint64(1), Serving: []queue.Holder{h}}, nil)
	if err := Lines(&out, []Line{line}, false, true); err != nil || !strings.Contains(out.String(), "WRITES/H  READS/H\n") || !strings.HasSuffix(out.String(), " 130       0\n") {
		t.Errorf("%v: %s", err, out.String())
	}
}

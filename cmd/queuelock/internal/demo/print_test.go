package demo

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/workload/turns"
	"github.com/queuelock/queuelock/ticket"
)

// at is an instant so many milliseconds after the beginning.
func at(ms int) turns.Instant {
	return turns.Instant(1_000_000_000).Add(time.Duration(ms) * time.Millisecond)
}

// turn is a turn that held from granted to ended.
func turn(worker int, number uint64, asked, granted, ended turns.Instant) turns.Turn {
	return turns.Turn{
		Worker: nameOf(worker), Asked: asked, Took: asked, Ticket: ticket.FromUint64(number),
		Granted: granted, From: granted, Until: ended, Ended: ended,
	}
}

// played is a small demo: worker 1 is killed in its only turn, worker 2 served after it.
func played() *Result {
	r := &Result{
		Config:  Config{Workers: 2, Rounds: 1},
		Crashes: 1,
		Began:   at(0),
		Wall:    2100 * time.Millisecond,
		Usage:   turns.Usage{Requests: 20, WriteUnits: 9, ReadUnits: 11},
		Turns:   []turns.Turn{turn(1, 1, at(0), at(1), at(101)), turn(2, 2, at(10), at(1900), at(2100))},
	}
	r.Turns[0].Ended, r.Turns[0].KilledAt, r.Turns[0].Gone = 0, at(100), at(101)
	r.Verdict = turns.Judge(r.Turns)
	return r
}

func TestPrint(t *testing.T) {
	var b strings.Builder
	locktest.OK(t, played().Chart().Print(&b, false))
	want := `
# holding  . waiting  - lease of a lost holder  X killed while holding

worker 1  |####X-----------------------------------------------------------------------        |
worker 2  |............................................................................########|
           0 s                one column is 25 ms; turns within one share it              2.1 s

grants             2: 2 workers × 1 round, in 2.1 s
overlaps           0
FIFO inversions    0
token regressions  0
crashes            1
recovery           1.80 s after the kill; the lease is 2s
per cycle          10.0 requests, 4.5 write units, 5.5 read units; 0.9 waiting on average

OK: one at a time, in order, and a dead holder did not stop the queue.
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProblems(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Result)
		want   string
	}{
		{"none", func(*Result) {}, ""},
		{"a recovery a little after the lease", func(r *Result) { r.Verdict.Recoveries[0].Took = Lease + tolerance }, ""},
		{"grants fall short", func(r *Result) { r.Verdict.Grants-- }, "1 grants instead of 2"},
		{"a grant too many", func(r *Result) { r.Verdict.Grants++ }, "3 grants instead of 2"},
		{"an overlap", func(r *Result) { r.Verdict.Overlaps++ }, "1 pairs of turns overlap"},
		{"an inversion", func(r *Result) { r.Verdict.Inversions++ }, "1 newcomers were served"},
		{"a regression", func(r *Result) { r.Verdict.Regressions++ }, "1 tickets were not greater"},
		{"an incomplete turn", func(r *Result) { r.Verdict.Unfinished++ }, "1 turns have no known end"},
		{"no kill", func(r *Result) { r.Crashes, r.Verdict.Recoveries = 0, nil }, "0 workers were killed"},
		{"a kill outside of a turn", func(r *Result) { r.Verdict.Recoveries = nil }, "0 turns ended by a kill"},
		{"no recovery", func(r *Result) { r.Verdict.Recoveries[0].Took = -1 }, "no worker was served after the kill"},
		{"a late recovery", func(r *Result) { r.Verdict.Recoveries[0].Took = Lease + tolerance + 1 }, "only 3.00 s after the kill"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := played()
			tc.change(r)
			problems := strings.Join(r.Problems(), "\n")
			if (tc.want == "") != (problems == "") || !strings.Contains(problems, tc.want) {
				t.Errorf("problems %q, want %q", problems, tc.want)
			}
			var b strings.Builder
			locktest.OK(t, r.Chart().Print(&b, true))
			if failed := strings.Contains(b.String(), "FAILED"); failed == (tc.want == "") || failed == strings.Contains(b.String(), "\nOK:") {
				t.Errorf("the summary does not tell:\n%s", b.String())
			}
		})
	}
}

// TestTimelineColumns checks that consecutive turns share no column.
func TestTimelineColumns(t *testing.T) {
	r := &Result{Config: Config{Workers: 3}}
	for i := range 30 {
		begin := at(i * 100)
		r.Turns = append(r.Turns, turn(i%3+1, uint64(i+1), begin, begin, begin.Add(100*time.Millisecond)))
	}
	const columns = 84
	text := r.Chart().Text(false)
	var rows []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "worker") {
			rows = append(rows, line[11:11+columns])
		}
	}
	if len(rows) != 3 {
		t.Fatalf("%d rows:\n%s", len(rows), text)
	}
	for c := range columns {
		holding := slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return row[c] != '#' })
		if len(holding) > 1 {
			t.Errorf("column %d is held %d times:\n%s", c, len(holding), text)
		}
	}
}

func TestOutcome(t *testing.T) {
	a := turn(3, 7, at(0), at(312), at(362))
	killed, lost := a, a
	killed.Ended, killed.KilledAt, killed.Gone = 0, at(337), at(340)
	lost.Doubted = lost.Ended
	for want, turn := range map[string]turns.Turn{
		"ticket       7  waited  312 ms  held  50 ms":                    a,
		"ticket       7  waited  312 ms  held  50 ms  its lock was lost": lost,
		"ticket       7  waited  312 ms  held  25 ms":                    killed,
	} {
		if got := outcome(turn); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestWithoutHandOver checks that a demo without a hand-over prints null.
func TestWithoutHandOver(t *testing.T) {
	r := played()
	for samples, want := range map[string]string{"none": `{"p50":null,"p99":null}`, "some": `{"p50":3,"p99":3}`} {
		r.Verdict.HandOffs = nil
		if samples == "some" {
			r.Verdict.HandOffs = []time.Duration{3 * time.Millisecond}
		}
		got, err := json.Marshal(r.Report().HandOff)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", samples, got, err, want)
		}
		var b strings.Builder
		locktest.OK(t, r.Chart().Print(&b, false))
		if told := strings.Contains(b.String(), "hand-over"); told != (samples == "some") {
			t.Errorf("%s:\n%s", samples, b.String())
		}
	}
}

package progress

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var seen = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at is the view of a waiter at that position.
func at(position int, change ...func(*View)) View {
	v := View{
		Progress: queuelock.Progress{
			Key: queuelock.Key{Entity: "x"}, Position: position, Ticket: ticket.FromUint64(9),
			Serving: &queue.Holder{Ticket: ticket.FromUint64(7), Owner: "vm:123"},
		},
		Seen: seen,
	}
	for _, c := range change {
		c(&v)
	}
	return v
}

func TestLine(t *testing.T) {
	for _, test := range []struct {
		view  View
		after time.Duration
		want  string
	}{
		{at(1), 0, `queuelock: waiting for "x" (lock): position 1, held by vm:123 (ticket 7); waited <1s`},
		{at(2, func(v *View) { v.Progress.Serving = nil }), 70 * time.Second, `queuelock: waiting for "x" (lock): position 2; waited 1m10s`},
		{at(1, func(v *View) { v.Progress.Serving.Lease = queue.Lease{FailClosed: true} }), 0, `queuelock: waiting for "x" (lock): position 1, held by vm:123 (ticket 7, without a lease); waited <1s`},
		{at(9, func(v *View) { v.Progress.Serving.Turns, v.Progress.Serving.Reached = 6, ticket.FromUint64(8) }), 0, `queuelock: waiting for "x" (lock): position 9, held by vm:123 (ticket 8 +4); waited <1s`},
		{at(1, func(v *View) { v.Progress.Serving.Owner = "two\nlines" }), 0, `queuelock: waiting for "x" (lock): position 1, held by "two\nlines" (ticket 7); waited <1s`},
		{at(3, func(v *View) {
			v.Progress.TicketsAhead, v.Progress.Waited = 2, time.Hour
			v.Progress.EstimatedWait, v.Progress.Estimated = time.Minute, true
			v.Progress.Serving.Since, v.Progress.Serving.Age = seen, 26*time.Hour
			v.Progress.Serving.Data, v.Deadline = []byte("make deploy"), seen.Add(3*time.Minute)
		}), 20 * time.Second, `queuelock: waiting for "x" (lock): position 3, 2 tickets ahead, held by vm:123 (ticket 7) for 26h0m20s: make deploy; ` +
			`waited 1h0m20s, expected in about 40s, gives up in 2m40s`},
		{at(2, func(v *View) { v.Progress.TicketsAhead, v.Progress.Serving.Data = 1, []byte("\x1b[2J") }), 0,
			`queuelock: waiting for "x" (lock): position 2, 1 ticket ahead, held by vm:123 (ticket 7): "\x1b[2J"; waited <1s`},
		{at(1, func(v *View) { v.Progress.EstimatedWait, v.Progress.Estimated = time.Second, true }), 2 * time.Second, // the guess was wrong
			`queuelock: waiting for "x" (lock): position 1, held by vm:123 (ticket 7); waited 2s, expected at any time`},
	} {
		if got := test.view.Line(seen.Add(test.after)); got != test.want {
			t.Errorf("%s\nwant %s", got, test.want)
		}
	}
}

func TestScreen(t *testing.T) {
	v := at(1, func(v *View) { v.Progress.Serving.Data = []byte("make") })
	want := "queuelock: waiting for \"x\" (lock): position 1\n  held by vm:123 (ticket 7): make\n  waited 5s"
	if got := v.Screen(seen.Add(5 * time.Second)); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	v.Progress.Serving = nil
	if got, want := v.Screen(seen), "queuelock: waiting for \"x\" (lock): position 1\n  waited <1s"; got != want {
		t.Errorf("without a holder: %q", got)
	}
}

func TestJSON(t *testing.T) {
	v := at(3, func(v *View) {
		v.Progress.TicketsAhead, v.Progress.EstimatedWait, v.Progress.Estimated, v.Progress.Key.Reason = 2, time.Minute, true, "why"
		v.Progress.Serving.Since, v.Progress.Serving.Age = seen, 90*time.Second
		v.Progress.Serving.Data, v.Deadline = []byte("make"), seen.Add(time.Hour)
		v.Progress.Serving.Lease, v.Progress.Serving.Remaining = queue.Lease{TTL: time.Minute}, 15*time.Second
	})
	want := `{"event":"waiting","time":"2026-01-02T03:04:15Z","entity":"x","reason":"why","ticket":"9","position":3,"tickets_ahead":2,` +
		`"waited_seconds":10,"expected_seconds":50,"deadline":"2026-01-02T04:04:05Z","holder":{"ticket":"7","turn":"7","follow":0,"id":"","beat":0,` +
		`"owner":"vm:123","shared":false,"group":null,"slot":null,"since":"2026-01-02T03:04:05Z","age_seconds":100,"remaining_seconds":15,"ttl_seconds":60,"delay_seconds":0,` +
		`"fail_closed":false,"expired":false,"closed":false,"not_before":null,"revoked":null,"data":"make","data_base64":"bWFrZQ==","problem":null}}`
	sameFields(t, v.JSON(seen.Add(10*time.Second)), want)
	v = at(1, func(v *View) { v.Progress.Serving.Data = []byte{0xff} })
	var got map[string]any
	locktest.OK(t, json.Unmarshal([]byte(v.JSON(seen)), &got))
	holder := got["holder"].(map[string]any)
	if got["expected_seconds"] != nil || got["deadline"] != nil || holder["age_seconds"] != nil || holder["data"] != nil || holder["data_base64"] != "/w==" {
		t.Errorf("unknown values: %v", got)
	}
	v.Progress.Estimated = true // and the wait is zero
	if text := v.JSON(seen); !strings.Contains(text, `"expected_seconds":0,`) {
		t.Errorf("a turn that may come at any time: %s", text)
	}
	v.Progress.Serving = nil
	if text := v.JSON(seen); !strings.HasSuffix(text, `"holder":null}`) {
		t.Errorf("without a holder: %s", text)
	}
}

func TestOutcome(t *testing.T) {
	sameFields(t, Outcome{Event: "acquired", Time: seen, Entities: []string{"a", "b"}, Tickets: []string{"1", "2"}, Waited: 1.5}.JSON(),
		`{"event":"acquired","time":"2026-01-02T03:04:05Z","entities":["a","b"],"tickets":["1","2"],"waited_seconds":1.5,"why":null,"superseded_by":null}`)
	sameFields(t, Outcome{Event: "not_acquired", Time: seen, Entities: []string{"a"}, Tickets: []string{}, Why: new(Superseded), By: new("7"), Message: "busy"}.JSON(),
		`{"event":"not_acquired","time":"2026-01-02T03:04:05Z","entities":["a"],"tickets":[],"waited_seconds":0,"why":"superseded","superseded_by":"7","message":"busy"}`)
}

// sameFields compares two lines of JSON, and shows the fields that differ.
func sameFields(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.Split(want, ","), strings.Split(got, ",")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestDocumentedIntervals compares what docs/cli.md says of the reports of a wait with the constants.
func TestDocumentedIntervals(t *testing.T) {
	page := strings.Join(strings.Fields(string(locktest.Must(os.ReadFile("../../../../docs/cli.md")))), " ")
	for _, text := range []string{
		fmt.Sprintf("it writes a line at each change, but at most every %v, and one each %v.", plainInterval, repeatInterval),
		fmt.Sprintf("`json` writes objects, with changes at most every %v.", jsonInterval),
	} {
		if !strings.Contains(page, text) {
			t.Errorf("docs/cli.md does not say %q", text)
		}
	}
}

package display

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// TestReport checks that the JSON of a state has stable names.
func TestReport(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 500e6, time.FixedZone("", 3600))
	state := &queue.State{
		Entity: "x", Reason: "why", Issued: ticket.Max, ReadAt: at,
		Scope: ticket.ScopeEntity, Permits: 3,
		Serving: []queue.Holder{
			{Ticket: ticket.FromUint64(5), Turns: 8, Reached: ticket.FromUint64(7), ID: "h1", Owner: "a", Since: at.Add(-1500 * time.Millisecond), Age: 1512 * time.Millisecond, Remaining: 29987 * time.Millisecond, Data: []byte("step 2\n"), Lease: queue.Lease{Beat: 3, TTL: time.Minute, Delay: 1500 * time.Millisecond}},
			{Ticket: ticket.FromUint64(8), Owner: "b", Shared: true, Data: []byte("\xff\xfe"), Lease: queue.Lease{TTL: time.Minute}},
			{Ticket: ticket.FromUint64(9), Owner: "d", Remaining: math.MaxInt64, Lease: queue.Lease{FailClosed: true}},
			{Owner: "e", Remaining: math.MaxInt64, Problem: fmt.Errorf("not an entry")},
		},
		Waiting: []queue.Waiter{
			{Position: 1, Ticket: ticket.FromUint64(9), ID: "w1", Owner: "c", Turns: 3, Shared: true, Age: time.Second, Remaining: time.Second, Lease: queue.Lease{TTL: 15 * time.Second}},
			{Position: 2, Ticket: ticket.FromUint64(10), Problem: fmt.Errorf("not a row")},
		},
		HoldTime: queue.HoldTime{Mean: 250 * time.Millisecond, Deviation: time.Millisecond},
		Result:   queue.Result{Ticket: ticket.FromUint64(6), Value: []byte("abc"), Until: at},
	}
	got := locktest.Must(json.Marshal(NewReport(state)))
	want := `{"entity":"x","reason":"why","state":"held","issued":"99999999999999999999999999999999999999"` +
		`,"scope":"entity","permits":3,"read_at":"2026-03-01T11:00:00.5Z","serving":[` +
		`{"ticket":"5","turn":"7","follow":5,"id":"h1","beat":3,"owner":"a","shared":false,"group":null,"slot":null,` +
		`"since":"2026-03-01T10:59:59Z","age_seconds":1.5,"remaining_seconds":30,"ttl_seconds":60,` +
		`"delay_seconds":1.5,"fail_closed":false,"expired":false,"closed":false,"not_before":null,"revoked":null,` +
		`"data":"step 2\n","data_base64":"c3RlcCAyCg==","problem":null},` +
		`{"ticket":"8","turn":"8","follow":0,"id":"","beat":0,"owner":"b","shared":true,"group":null,"slot":null,"since":null,` +
		`"age_seconds":null,"remaining_seconds":0,"ttl_seconds":60,"delay_seconds":0,"fail_closed":false,` +
		`"expired":true,"closed":false,"not_before":null,"revoked":null,"data":null,"data_base64":"//4=",` +
		`"problem":null},` +
		`{"ticket":"9","turn":"9","follow":0,"id":"","beat":0,"owner":"d","shared":false,"group":null,"slot":null,"since":null,` +
		`"age_seconds":null,"remaining_seconds":null,"ttl_seconds":null,"delay_seconds":null,"fail_closed":true,` +
		`"expired":false,"closed":false,"not_before":null,"revoked":null,"data":null,"data_base64":null,` +
		`"problem":null},` +
		`{"ticket":"0","turn":"0","follow":0,"id":"","beat":null,"owner":"e","shared":false,"group":null,"slot":null,` +
		`"since":null,"age_seconds":null,"remaining_seconds":null,"ttl_seconds":null,"delay_seconds":null,` +
		`"fail_closed":false,"expired":false,"closed":false,"not_before":null,"revoked":null,"data":null,` +
		`"data_base64":null,"problem":"not an entry"}]` +
		`,"waiting":[` +
		`{"position":1,"ticket":"9","turns":3,"id":"w1","beat":0,"owner":"c","shared":true,"group":null,` +
		`"superseded_by":null,"age_seconds":1,"kept_since":null,"remaining_seconds":1,"ttl_seconds":15,"expired":false,"problem":null},` +
		`{"position":2,"ticket":"10","turns":1,"id":null,"beat":null,"owner":null,"shared":null,"group":null,` +
		`"superseded_by":null,"age_seconds":null,"kept_since":null,"remaining_seconds":0,"ttl_seconds":0,"expired":true,` +
		`"problem":"not a row"}]` +
		`,"hold_time":{"mean_seconds":0.25,"deviation_seconds":0.001}` +
		`,"result":{"ticket":"6","bytes":3,"until":"2026-03-01T11:00:00.5Z","problem":null},"last_eviction":null` +
		`,"max_waiters":null,"full":false}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	empty, err := json.Marshal(NewReport(&queue.State{}))
	if err != nil || !strings.Contains(string(empty), `"serving":[],"waiting":[]`) {
		t.Errorf("no holder is not an empty list: %s, %v", empty, err)
	}
}

// TestOwner checks that an owner is printed in one line.
func TestOwner(t *testing.T) {
	for owner, want := range map[string]string{
		"vm:123":                 "vm:123",
		"é b":                    "é b",
		"two\nlines":             `"two\nlines"`,
		"\x1b[2J":                `"\x1b[2J"`,
		strings.Repeat("a", 300): strings.Repeat("a", 256),
	} {
		if got := Owner(owner); got != want {
			t.Errorf("%q is printed as %s, want %s", owner, got, want)
		}
	}
}

// TestYAML checks that YAML has the names, the order and the types of JSON.
func TestYAML(t *testing.T) {
	state := &queue.State{
		Entity: "a: b", Reason: "lock", Issued: ticket.FromUint64(7),
		Serving: []queue.Holder{{Ticket: ticket.FromUint64(7), ID: "1e3", Data: []byte("no\n\u2028<\""), Lease: queue.Lease{TTL: time.Minute}}},
	}
	var out strings.Builder
	locktest.OK(t, YAML(&out, NewReport(state)))
	for _, line := range []string{`entity: 'a: b'`, `issued: "7"`, `  - ticket: "7"`, `    id: "1e3"`, "    ttl_seconds: 60", "    shared: false", "waiting: []", "hold_time: null"} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("no line %q in\n%s", line, out.String())
		}
	}
	var back, want any
	locktest.OK(t, yaml.Unmarshal([]byte(out.String()), &back))
	text := locktest.Must(json.Marshal(NewReport(state)))
	again := locktest.Must(json.Marshal(back))
	locktest.OK(t, json.Unmarshal(text, &want))
	sorted, _ := json.Marshal(want)
	if diff := cmp.Diff(string(sorted), string(again)); diff != "" {
		t.Errorf("(-JSON +YAML)\n%s", diff)
	}
}

func TestTable(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	state := &queue.State{
		Issued: ticket.FromUint64(123456789012), ReadAt: now,
		Serving:  []queue.Holder{{Ticket: ticket.FromUint64(123456789010), ID: "h", Owner: "a", Since: now.Add(-300 * time.Millisecond), Age: 300 * time.Millisecond, Remaining: 700 * time.Millisecond, Lease: queue.Lease{Beat: 2, TTL: time.Minute}}},
		Waiting:  []queue.Waiter{{Position: 1, Ticket: ticket.FromUint64(123456789012), ID: "w", Owner: "b", Age: 2 * time.Second, Lease: queue.Lease{TTL: 15 * time.Second}}},
		HoldTime: queue.HoldTime{Mean: 20 * time.Millisecond},
	}
	for _, test := range []struct {
		name, want string
		options    Options
		shared     bool
	}{
		{"Table", `q: 1 served, 1 waiting; held for about 20ms each

        TICKET   OWNER  FOR  LEASE LEFT
served  …789010  a      <1s  <1s of 1m0s
1       …789012  b      2s   over
`, Options{Name: "q"}, false},
		{"Shared", `q: 1 served, 1 waiting; held for about 20ms each

        TICKET   OWNER  MODE       FOR  LEASE LEFT
served  …789010  a      shared     <1s  <1s of 1m0s
1       …789012  b      exclusive  2s   over
`, Options{Name: "q"}, true},
		{"Wide", `q: 1 served, 1 waiting; held for about 20ms each

        TICKET        OWNER  MODE       FOR  LEASE LEFT   BEAT  SINCE                 ID
served  123456789010  a      exclusive  <1s  <1s of 1m0s  2     2026-03-01T11:59:59Z  h
1       123456789012  b      exclusive  2s   over         0     2026-03-01T11:59:58Z  w
`, Options{Name: "q", Wide: true}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			state.Serving[0].Shared = test.shared
			if diff := cmp.Diff(test.want, tableOf(t, state, test.options)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// tableOf is what people see of a state.
func tableOf(t *testing.T, s *queue.State, options Options) string {
	t.Helper()
	var out strings.Builder
	locktest.OK(t, Table(&out, s, options))
	return out.String()
}

// TestKinds checks what the headline says of the kind of a queue that is held, and of one that is idle.
func TestKinds(t *testing.T) {
	for _, test := range []struct {
		permits    int
		scope      ticket.Scope
		held, idle string
	}{
		{0, ticket.ScopeQueue, "1 served", "idle"},
		{3, ticket.ScopeQueue, "semaphore, 1 of 3 served", "semaphore of 3, idle"},
		{0, ticket.ScopeTable, "scope table, 1 served", "scope table, idle"},
		{3, ticket.ScopeEntity, "semaphore, scope entity, 1 of 3 served", "semaphore of 3, scope entity, idle"},
	} {
		s := &queue.State{Issued: ticket.FromUint64(1), Permits: test.permits, Scope: test.scope}
		if got, want := Headline(s, ""), test.idle+"; the last ticket was 1"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		s.Serving = []queue.Holder{{Ticket: s.Issued, Remaining: time.Second}}
		if got, want := Headline(s, ""), test.held+", 0 waiting"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestResultOf(t *testing.T) {
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	r := queue.Result{Ticket: ticket.FromUint64(12), Value: make([]byte, 300), Until: now.Add(5 * time.Minute)}
	endless := r
	endless.Until = time.Time{}
	for _, test := range []struct {
		result queue.Result
		at     time.Time
		want   string
	}{
		{queue.Result{}, now, ""},
		{r, now, "result of 12, 300 bytes, until 2026-03-01T10:05:00Z"},
		{r, now.Add(5 * time.Minute), "result of 12, 300 bytes, too old since 2026-03-01T10:05:00Z"},
		{endless, now, "result of 12, 300 bytes, for callers that waited"},
		{queue.Result{Problem: fmt.Errorf("no map\x1b")}, now, `result: no map\x1b`},
	} {
		if got := ResultOf(&queue.State{Result: test.result, ReadAt: test.at}); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// TestBlocks checks what is printed of blocks: 11 to 18, of which 12 is the turn, 19 to 23, and 25 to 26.
func TestBlocks(t *testing.T) {
	n := ticket.FromUint64
	state := &queue.State{
		Issued:  n(26),
		Serving: []queue.Holder{{Ticket: n(11), Turns: 8, Reached: n(12), Owner: "a", Remaining: time.Second, Data: []byte("x"), Lease: queue.Lease{TTL: time.Minute}}},
		Waiting: []queue.Waiter{
			{Position: 1, Ticket: n(19), Turns: 5, Owner: "a", Age: time.Minute, Remaining: time.Second, Lease: queue.Lease{TTL: 15 * time.Second}},
			{Position: 6, Ticket: n(24), Owner: "b", Remaining: time.Second, Lease: queue.Lease{TTL: 15 * time.Second}},
			{Position: 7, Ticket: n(25), Turns: 2, Owner: "a", Lease: queue.Lease{TTL: 15 * time.Second}},
		},
	}
	want := `q: 1 served, 8 waiting

        TICKET  OWNER  FOR   LEASE LEFT
served  12 +6   a      ?     1s of 1m0s
1       19 +4   a      1m0s  1s of 15s
6       24      b      <1s   1s of 15s
7       25 +1   a      <1s   over

the owner of 12 also waits, with 19 and 6 more

data of 12: x
`
	if diff := cmp.Diff(want, tableOf(t, state, Options{Name: "q"})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if l := NewLine(state, nil); l.Waiting != 8 || l.ExpiredWaiting != 2 || l.Holders != 1 {
		t.Errorf("line %+v", l)
	}
}

// TestAlsoWaits checks that an owner that holds the lock and waits for it is named once.
func TestAlsoWaits(t *testing.T) {
	n := ticket.FromUint64
	state := &queue.State{
		Issued:  n(9),
		Serving: []queue.Holder{{Ticket: n(3), Owner: "a", Lease: queue.Lease{TTL: time.Minute}}, {Ticket: n(4), Owner: "b", Lease: queue.Lease{TTL: time.Minute}}, {Ticket: n(5)}},
		Waiting: []queue.Waiter{
			{Position: 1, Ticket: n(6), Owner: "c"}, {Position: 2, Ticket: n(7), Owner: "b"}, {Position: 3, Ticket: n(8), Owner: "a"}, {Position: 4, Ticket: n(9), Owner: "b"},
			{Position: 5, Ticket: n(10), Problem: errors.New("malformed")},
		},
	}
	want := "\n\nthe owner of 3 also waits, with 8\n\nthe owner of 4 also waits, with 7 and 1 more\n"
	if text := tableOf(t, state, Options{Name: "q"}); !strings.HasSuffix(text, want) {
		t.Errorf("%s\nwant the end %q", text, want)
	}
}

// TestSeconds checks that a duration has at most three decimals in JSON.
func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		5613 * time.Millisecond: "5.613", 1234567 * time.Nanosecond: "0.001", -1200 * time.Millisecond: "-1.2", 0: "0", 15 * time.Second: "15",
	} {
		if got, err := json.Marshal(Seconds(d)); err != nil || string(got) != want {
			t.Errorf("%v is %s, %v, want %s", d, got, err, want)
		}
	}
	mean := queue.HoldTime{Mean: 5613 * time.Millisecond, Deviation: 1234567 * time.Nanosecond}
	state := &queue.State{Issued: ticket.FromUint64(1), HoldTime: mean, Waiting: []queue.Waiter{{Lease: queue.Lease{TTL: 5613 * time.Millisecond}, Remaining: 5613 * time.Millisecond}}}
	report, _ := json.Marshal(NewReport(state))
	line, _ := json.Marshal(NewLine(state, nil))
	for _, text := range []string{string(report), string(line)} {
		if !strings.Contains(text, `"hold_time":{"mean_seconds":5.613,"deviation_seconds":0.001}`) {
			t.Error(text)
		}
	}
	if !strings.Contains(string(report), `"remaining_seconds":5.6,"ttl_seconds":5.613`) {
		t.Errorf("%s", report)
	}
}

// TestUnreadableOwner checks that an entry whose owner cannot be read has no blank in its place.
func TestUnreadableOwner(t *testing.T) {
	s := &queue.State{Entity: "x", Reason: "lock", Issued: ticket.FromUint64(5), Serving: []queue.Holder{{Ticket: ticket.FromUint64(5), Remaining: math.MaxInt64, Problem: errors.New("no map")}}}
	var out strings.Builder
	locktest.OK(t, Table(&out, s, Options{Name: "x"}))
	locktest.OK(t, Lines(&out, []Line{NewLine(s, nil)}, false, false))
	for _, line := range []string{"served  5       ?      ?    no map", "x       lock    exclusive  ?       ?"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q in\n%s", line, out.String())
		}
	}
}

package top

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

var (
	n   = ticket.FromUint64
	now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// held is a queue with a holder of that age, and waiters of these ages.
func held(entity string, age time.Duration, waits ...time.Duration) *queue.State {
	s := &queue.State{Entity: entity, Reason: "lock", Issued: n(12), Serving: []queue.Holder{
		{Ticket: n(12), ID: entity, Owner: "vm:1", Since: now, Age: age, Remaining: time.Minute, TTL: time.Minute},
	}}
	for i, wait := range waits {
		number := 13 + i
		s.Waiting = append(s.Waiting, queue.Waiter{Position: i + 1, Ticket: n(uint64(number)), ID: fmt.Sprint(number), Owner: fmt.Sprint("vm:", number), Age: wait, Remaining: time.Second, TTL: 15 * time.Second})
	}
	return s
}

func idle(entity string) *queue.State {
	return &queue.State{Entity: entity, Reason: "lock", Issued: n(3)}
}

func scanned(states ...*queue.State) Scanned {
	s := Scanned{At: now, Units: 20, Passed: 2 * time.Second}
	for _, state := range states {
		line := display.NewLine(state, nil)
		s.Lines = append(s.Lines, line)
		if s.Total++; line.State != display.Idle {
			s.Busy++
		}
	}
	return s
}

// play applies messages to a new model of 80 by 24, and returns the effects of the last.
func play(msgs ...any) (Model, []Effect) {
	m := Model{Table: "queuelock", Rate: 100, now: now}
	var effects []Effect
	for _, msg := range append([]any{Resized{80, 24}}, msgs...) {
		m, effects = m.Update(msg)
	}
	return m, effects
}

func screen(m Model) string {
	lines, _, _ := m.View()
	return strings.Join(lines, "\n")
}

// TestList checks the whole screen of the list.
func TestList(t *testing.T) {
	m, _ := play(
		scanned(held("deploy/prod", 2*time.Second, time.Second), held("report", 64*time.Second)),
		scanned(held("deploy/prod", 4*time.Second, 3*time.Second), held("report", 66*time.Second), idle("old")),
		scanned(held("deploy/prod", time.Second, 2*time.Second), held("report", 68*time.Second), idle("old")),
		Tick(now.Add(1500*time.Millisecond)), Key("down"))
	lines, _, selected := m.View()
	want := []string{
		`queuelock top: table "queuelock", 2 of 3 queues busy, by wait`,
		``,
		`  QUEUE           MODE    HOLDER           HELD         WAITING  LONGEST`,
		`  deploy/prod     lock    vm:1               1s =#:           1       2s -#+`,
		`> report          lock    vm:1             1m8s %%#           0        - `,
	}
	for len(want) < 23 {
		want = append(want, "")
	}
	want = append(want, `enter inspect  / filter  o order  ? help  q quit  10 of 100 RCU/s, scan 1.5s ago`)
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
		want[i] = strings.TrimRight(want[i], " ")
	}
	if diff := cmp.Diff(want, lines); diff != "" || selected != 4 {
		t.Errorf("line %d is selected (-want +got)\n%s", selected, diff)
	}
}

// TestExpiredWaiter checks that waiters whose leases are over are marked in the list, and in
// the lines without a terminal, which are printed again for such a change.
func TestExpiredWaiter(t *testing.T) {
	state := held("deploy", time.Minute, time.Second, time.Second)
	_, before := describe(scanned(state))
	state.Waiting[0].Remaining = 0
	m, _ := play(scanned(state))
	if text := screen(m); !strings.Contains(text, "      2       1s 1 over") {
		t.Errorf("%s", text)
	}
	text, essence := describe(scanned(state))
	if !strings.Contains(text, "  2 (lease of 1 over)  1s\n") || essence == before {
		t.Errorf("%s", text)
	}
}

// TestFits checks that the view fits every terminal, with any names.
func TestFits(t *testing.T) {
	var states []*queue.State
	for i := range 200 {
		s := held(fmt.Sprintf("%s\x1b[2J%d", strings.Repeat("ä", i), i), time.Hour, time.Minute)
		s.Serving[0].Owner = strings.Repeat("o", i)
		states = append(states, s)
	}
	var waits []time.Duration
	for range 100 {
		waits = append(waits, time.Hour)
	}
	for _, size := range []Resized{{80, 24}, {60, 12}, {140, 30}, {200, 60}, {40, 10}, {20, 5}, {0, 0}} {
		for name, msgs := range map[string][]any{
			"list":    {scanned(states...)},
			"end":     {scanned(states...), Key("end")},
			"inspect": {scanned(states...), Key("enter"), Inspected{Key: queuelock.Key{Entity: states[0].Entity, Reason: "lock"}, State: held("x", 0, waits...)}},
			"error":   {Scanned{Err: errors.New(strings.Repeat("e", 300))}},
		} {
			m, _ := play(append(msgs, size)...)
			width, height := size.Width, size.Height
			if width == 0 {
				width, height = 80, 24
			}
			lines, _, selected := m.View()
			if len(lines) != height || selected >= height-1 || (name == "list" || name == "end") && selected < 0 {
				t.Errorf("%s %v: %d lines, %d is selected", name, size, len(lines), selected)
			}
			for i, line := range lines {
				if utf8.RuneCountInString(line) > width || strings.ContainsAny(line, "\x1b\n") {
					t.Errorf("%s %v: line %d is %q", name, size, i, line)
				}
			}
		}
	}
}

// TestColumns checks that times are whole at 60 columns, that an owner keeps its room beside
// a lease that is over, and that data is shown where there is room.
func TestColumns(t *testing.T) {
	s := held("deploy/production", 90*time.Second, 80*time.Second)
	s.Serving[0].Owner, s.Serving[0].Data = "build-host-17", []byte("release 1.42")
	for width, parts := range map[int][]string{
		60:  {"WAITING  LONGEST", "   1m30s ", "    1m20s"},
		80:  {"WAITING  LONGEST", "build-host-17", "   1m20s"},
		140: {"DATA", "build-host-17", "release 1.42"},
	} {
		m, _ := play(Resized{width, 12}, scanned(s))
		for _, part := range parts {
			if !strings.Contains(screen(m), part) {
				t.Errorf("%d columns: no %q in\n%s", width, part, screen(m))
			}
		}
	}
	s.Serving[0].Remaining = 0
	m, _ := play(scanned(s))
	if text := screen(m); !strings.Contains(text, "build-host-17") || !strings.Contains(text, "1m30s over") {
		t.Errorf("%s", text)
	}
	m, _ = m.Update(Key("enter"))
	m, _ = m.Update(Inspected{Key: queuelock.Key{Entity: s.Entity, Reason: "lock"}, State: s})
	if text := screen(m); strings.Contains(text, "also waits") {
		t.Errorf("%s", text)
	}
	own := held("deploy", time.Second, time.Second)
	own.Waiting[0].Owner = own.Serving[0].Owner
	again, _ := m.Update(Inspected{Key: queuelock.Key{Entity: s.Entity, Reason: "lock"}, State: own})
	if text := screen(again); !strings.Contains(text, "  the owner of 12 also waits, with 13") {
		t.Errorf("%s", text)
	}
	if !strings.Contains(screen(m), "data of 12: release 1.42") {
		t.Errorf("%s", screen(m))
	}
}

// TestTones checks which queues have a colour.
func TestTones(t *testing.T) {
	dead := held("a", time.Minute, 3*time.Second)
	dead.Serving[0].Remaining = 0
	m, _ := play(scanned(dead, held("b", time.Second, 2*time.Minute), held("c", time.Second, time.Second)))
	if _, tones, _ := m.View(); !reflect.DeepEqual(tones, map[int]tone{3: long, 4: over}) {
		t.Errorf("%v in\n%s", tones, screen(m))
	}
}

// TestFilter checks that a filter hides other queues, by name, owner and data.
func TestFilter(t *testing.T) {
	b := held("b", 1)
	b.Serving[0].Owner, b.Serving[0].Data = "Ada", []byte("q 7")
	all := scanned(held("abc", 2), b)
	for text, want := range map[string][]string{"bc": {"abc"}, "ada": {"b"}, "q 7": {"b"}, "zzz": nil, "": {"abc", "b"}} {
		m, _ := play(all, Key("o"), Key("o"), Key("/"))
		for _, r := range text {
			m, _ = m.Update(Key(strings.ReplaceAll(string(r), " ", "space")))
		}
		m, _ = m.Update(Key("enter"))
		var names []string
		for _, e := range m.shown() {
			names = append(names, e.Entity)
		}
		if !reflect.DeepEqual(names, want) || m.typing {
			t.Errorf("filter %q: %v, want %v", text, names, want)
		}
		if m, _ = m.Update(Key("esc")); len(m.shown()) != 2 {
			t.Errorf("filter %q is not dropped", text)
		}
	}
	m, _ := play(all, Key("/"), Key("x"), Key("x"), Key("backspace"))
	if !strings.Contains(screen(m), "/x_") {
		t.Errorf("%s", screen(m))
	}
	if _, effects := m.Update(Key("ctrl+c")); !reflect.DeepEqual(effects, []Effect{Quit{}}) {
		t.Errorf("Ctrl-C: %v", effects)
	}
}

// TestOrder checks the orders of the list.
func TestOrder(t *testing.T) {
	m, _ := play(scanned(held("a", 1, time.Second), held("c", time.Minute), held("b", 1, time.Minute)))
	for _, want := range []string{"b a c", "c a b", "a b c", "b a c"} {
		var names []string
		for _, e := range m.shown() {
			names = append(names, e.Entity)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%v: %s, want %s", m.order, got, want)
		}
		m, _ = m.Update(Key("o"))
	}
}

// TestHelp checks that the keys are listed, and that the next key closes the list.
func TestHelp(t *testing.T) {
	m, _ := play(scanned(held("a", 1)), Key("?"))
	if text := screen(m); !strings.Contains(text, "order by wait") || !strings.Contains(text, "any key: back") {
		t.Errorf("%s", text)
	}
	if m, effects := m.Update(Key("q")); effects != nil || !strings.Contains(screen(m), "> a") {
		t.Errorf("%v\n%s", effects, screen(m))
	}
}

// TestOutage checks that the view says how old it is, when a scan fails and when none answers.
func TestOutage(t *testing.T) {
	m, _ := play(scanned(held("a", 1)))
	m.Silence = 10 * time.Second
	if m, _ = m.Update(Tick(now.Add(9 * time.Second))); strings.Contains(screen(m), "no answer") {
		t.Errorf("too early:\n%s", screen(m))
	}
	m, _ = m.Update(Tick(now.Add(13 * time.Second)))
	if text := screen(m); !strings.Contains(text, "! no answer for 13s: what is shown is 13s old") || !strings.Contains(text, "> a") {
		t.Errorf("%s", text)
	}
	failed, _ := m.Update(Scanned{Err: errors.New("no such host")})
	if text := screen(failed); !strings.Contains(text, "! outage: what is shown is 13s old: no such host") {
		t.Errorf("%s", text)
	}
	m, _ = m.Update(Progress{Units: 1})
	if strings.Contains(screen(m), "no answer") {
		t.Errorf("after a page:\n%s", screen(m))
	}
}

// TestSelection checks that the selection follows a queue whose place changes.
func TestSelection(t *testing.T) {
	m, _ := play(scanned(held("a", 1, 3*time.Second), held("b", 1, 2*time.Second), idle("c")), Key("down"))
	if m.selected.Entity != "b" {
		t.Fatalf("%v is selected", m.selected)
	}
	m, _ = m.Update(scanned(held("a", 1), held("b", 1, 4*time.Second), idle("c")))
	if list := m.shown(); len(list) != 2 || list[0].Entity != "b" || m.cursor(list) != 0 {
		t.Errorf("%d queues, the cursor is at %d", len(list), m.cursor(list))
	}
	m, _ = m.Update(Key("a"))
	m, _ = m.Update(Key("end"))
	if m.selected.Entity != "c" || len(m.shown()) != 3 {
		t.Errorf("%v of %d is selected", m.selected, len(m.shown()))
	}
	for _, key := range []string{"up", "k", "pgup", "home", "g", "down", "j", "pgdown", "space", "G"} {
		if m, _ = m.Update(Key(key)); m.cursor(m.shown()) >= 3 {
			t.Errorf("after %s the cursor is at %d", key, m.cursor(m.shown()))
		}
	}
	if empty, effects := play(scanned(), Key("enter")); effects != nil || empty.inspecting {
		t.Error("an empty list can be inspected")
	}
}

// TestInspect checks that a queue is looked at again and again, one look at a time, and
// that waiters are shown to move up.
func TestInspect(t *testing.T) {
	key := queuelock.Key{Entity: "a", Reason: "lock"}
	look := []Effect{Inspect{key}}
	m, effects := play(scanned(held("a", 1, 2)), Key("enter"))
	if !reflect.DeepEqual(effects, look) {
		t.Fatalf("effects %v", effects)
	}
	if _, effects = m.Update(Tick(now)); effects != nil {
		t.Errorf("a second look at a time: %v", effects)
	}
	m, _ = m.Update(Inspected{Key: key, State: held("a", 0, time.Second, time.Second, time.Second)})
	m, effects = m.Update(Tick(now))
	if !reflect.DeepEqual(effects, look) {
		t.Fatalf("effects %v", effects)
	}
	next := held("a", time.Second, 2*time.Second, 2*time.Second, 2*time.Second)
	next.Serving[0].Ticket, next.Waiting = n(13), next.Waiting[1:]
	next.Waiting[0].Position, next.Waiting[1].Position = 1, 2
	m, _ = m.Update(Inspected{Key: key, State: next})
	text := screen(m)
	for _, part := range []string{`"a" (lock): 1 served, 2 waiting`, "> served  13 ", "  1 ^1    14 ", "  2 ^1    15 ", "esc back"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	m, _ = m.Update(Inspected{Key: queuelock.Key{Entity: "other"}, State: idle("other")})
	if strings.Contains(screen(m), "0 served") {
		t.Error("a late look at another queue is shown")
	}
	m, _ = m.Update(Inspected{Key: key, Err: errors.New("no answer")})
	if !strings.Contains(screen(m), "! no answer") {
		t.Errorf("no error in\n%s", screen(m))
	}
	if m, _ = m.Update(Key("esc")); !strings.Contains(screen(m), "queuelock top") {
		t.Errorf("the list is not back:\n%s", screen(m))
	}
}

// TestEvict checks that an eviction is asked about, for the holder that was shown.
func TestEvict(t *testing.T) {
	key := queuelock.Key{Entity: "a", Reason: "lock"}
	shown := held("a", time.Second)
	m, effects := play(scanned(shown), Key("e"))
	if !reflect.DeepEqual(effects, []Effect{Inspect{key}}) {
		t.Fatalf("the holder is not looked at first: %v", effects)
	}
	if m, effects = m.Update(Inspected{Key: key, State: shown}); effects != nil || !strings.Contains(screen(m), "evict ticket 12? It may run") {
		t.Fatalf("effects %v\n%s", effects, screen(m))
	}
	for _, no := range []string{"n", "enter", "esc", "q", "e"} {
		if refused, effects := m.Update(Key(no)); effects != nil || !strings.Contains(screen(refused), "nothing was evicted") {
			t.Errorf("after %s: %v\n%s", no, effects, screen(refused))
		}
	}
	m, effects = m.Update(Key("y"))
	if !reflect.DeepEqual(effects, []Effect{Evict{Key: key, Holder: shown.Serving[0]}}) {
		t.Fatalf("effects %v", effects)
	}
	done, effects := m.Update(Evicted{Holder: shown.Serving[0]})
	if !reflect.DeepEqual(effects, []Effect{Inspect{key}}) || !strings.Contains(screen(done), "ticket 12 is evicted") {
		t.Errorf("effects %v\n%s", effects, screen(done))
	}
	failed, _ := m.Update(Evicted{Holder: shown.Serving[0], Err: errors.New("it has renewed its lease")})
	if !strings.Contains(screen(failed), "it has renewed its lease") {
		t.Errorf("%s", screen(failed))
	}
	m, _ = play(scanned(shown), Key("enter"), Inspected{Key: key, State: shown}, Key("E"))
	if !strings.Contains(screen(m), "evict the holder of the moment") {
		t.Errorf("%s", screen(m))
	}
	if _, effects = m.Update(Key("y")); !reflect.DeepEqual(effects, []Effect{Evict{Key: key, Holder: shown.Serving[0], Present: true}}) {
		t.Errorf("effects %v", effects)
	}
	m, _ = play(scanned(idle("a")), Key("a"), Key("e"), Inspected{Key: key, State: idle("a")})
	if !strings.Contains(screen(m), "there is no holder to evict") {
		t.Errorf("%s", screen(m))
	}
	fails := held("a", time.Second)
	fails.Serving[0].FailClosed = true
	fails.Serving = append(fails.Serving, held("b", 0).Serving...)
	m, _ = play(scanned(fails), Key("enter"), Inspected{Key: key, State: fails}, Key("e"))
	if !strings.Contains(screen(m), "It has no lease: its process must have ended") {
		t.Errorf("%s", screen(m))
	}
	_, effects = play(scanned(fails), Key("enter"), Inspected{Key: key, State: fails}, Key("down"), Key("e"), Key("y"))
	if !reflect.DeepEqual(effects, []Effect{Evict{Key: key, Holder: fails.Serving[1]}}) {
		t.Errorf("effects %v, want the second holder", effects)
	}
}

// TestQuit checks the keys that end the program.
func TestQuit(t *testing.T) {
	for _, msgs := range [][]any{{Key("q")}, {Key("ctrl+c")}, {scanned(held("a", 1)), Key("enter"), Key("q")}} {
		if _, effects := play(msgs...); !reflect.DeepEqual(effects, []Effect{Quit{}}) {
			t.Errorf("%v: %v", msgs, effects)
		}
	}
}

// TestLines checks that changes are printed once, and that the rate is shared.
func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		scans := 0
		var out strings.Builder
		err := Lines(ctx, &out, Config{Rate: 100, Interval: 2 * time.Second, Source: Source{
			Describe: func(err error) string { return "described " + err.Error() },
			Scan: func(_ context.Context, rate float64, onPage func(float64)) iter.Seq2[*queue.State, error] {
				return func(yield func(*queue.State, error) bool) {
					if rate != 90 {
						t.Errorf("rate %v", rate)
					}
					onPage(20)
					switch scans++; scans {
					case 1, 2:
						yield(idle("a"), nil)
					case 3, 4:
						yield(held("a", 1), nil)
					case 5, 6:
						yield(nil, errors.New("no answer"))
					case 7:
						yield(held("a", 1), nil)
					default:
						cancel()
					}
				}
			},
		}})
		want := `2000-01-01T00:00:00Z 0 of 1 queues busy, 10 RCU/s
2000-01-01T00:00:04Z 1 of 1 queues busy, 10 RCU/s
ENTITY  REASON  MODE       HOLDER  HELD FOR  WAITING  LONGEST WAIT
a       lock    exclusive  vm:1    <1s       0        -
2000-01-01T00:00:08Z described no answer
2000-01-01T00:00:12Z 1 of 1 queues busy, 10 RCU/s
ENTITY  REASON  MODE       HOLDER  HELD FOR  WAITING  LONGEST WAIT
a       lock    exclusive  vm:1    <1s       0        -
`
		if diff := cmp.Diff(want, out.String()); err != nil || diff != "" {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	})
}

// TestRate checks that scans of a small table keep to the rate, whatever the interval.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		used := 0.0
		err := Lines(ctx, new(strings.Builder), Config{Rate: 10, Interval: 100 * time.Millisecond, Source: Source{
			Scan: func(_ context.Context, _ float64, onPage func(float64)) iter.Seq2[*queue.State, error] {
				used += 4
				onPage(4)
				return func(func(*queue.State, error) bool) {}
			},
		}})
		if err != nil || used < 800 || used > 910 {
			t.Errorf("%v units in 100 s, want 9 a second; %v", used, err)
		}
	})
}

package top

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
)

// TestList checks the whole screen of the list.
func TestList(t *testing.T) {
	m, _ := play(
		scanned(held("deploy/prod", 2*time.Second, time.Second), held("report", 64*time.Second)),
		scanned(held("deploy/prod", 4*time.Second, 3*time.Second), held("report", 66*time.Second), idle("old")),
		scanned(held("deploy/prod", time.Second, 2*time.Second), held("report", 68*time.Second), idle("old")),
		Tick(now.Add(1500*time.Millisecond)), press("down"))
	lines := strings.Split(screen(m), "\n")
	want := []string{
		`queuelock top: table "queuelock", 2 of 3 queues busy, by wait`,
		``,
		`  QUEUE       MODE    HOLDER    HELD         WAITING  LONGEST`,
		`  deploy/prod lock    vm:1        1s =#:           1       2s -#+`,
		`> report      lock    vm:1      1m8s %%#           0        - `,
	}
	for len(want) < 23 {
		want = append(want, "")
	}
	want = append(want, `enter inspect  / filter  o order  ? help  q quit  10 of 100 RCU/s, scan 1.5s ago`)
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
		want[i] = strings.TrimRight(want[i], " ")
	}
	if diff := cmp.Diff(want, lines); diff != "" || selected(m) != 4 {
		t.Errorf("line %d is selected (-want +got)\n%s", selected(m), diff)
	}
}

// TestExpiredWaiter checks that waiters whose leases are over are marked in the list, and in
// the lines without a terminal, which are printed again for such a change.
func TestExpiredWaiter(t *testing.T) {
	state := held("deploy", time.Minute, time.Second, time.Second)
	_, before := describe(scanned(state))
	state.Waiting[0].Remaining = 0
	m, _ := play(scanned(state))
	shows(t, m, "      2       1s 1 over")
	text, essence := describe(scanned(state))
	if !strings.Contains(text, "  2 (lease of 1 over)  1s\n") || essence == before {
		t.Errorf("%s", text)
	}
}

// TestFits checks that the view fits every terminal, with any names.
func TestFits(t *testing.T) {
	var states []*queue.State
	for i := range 200 {
		s := held(fmt.Sprintf("%s\x1b[2J%d", strings.Repeat([]string{"本", "ä"}[i/2%2], i), i), time.Hour, time.Minute)
		s.Serving[0].Owner = strings.Repeat([]string{"o", "日"}[i%2], i)
		states = append(states, s)
	}
	var waits []time.Duration
	for range 100 {
		waits = append(waits, time.Hour)
	}
	for _, size := range [][2]int{{80, 24}, {60, 12}, {140, 30}, {200, 60}, {40, 10}, {20, 5}, {0, 0}} {
		for name, msgs := range map[string][]tea.Msg{
			"list":    {scanned(states...)},
			"end":     {scanned(states...), press("end")},
			"inspect": {scanned(states...), press("enter"), Inspected{Key: queuelock.Key{Entity: states[0].Entity, Reason: "lock"}, State: held("x", 0, waits...)}},
			"error":   {Scanned{Err: errors.New(strings.Repeat("e", 300))}},
		} {
			m, _ := play(append(msgs, tea.WindowSizeMsg{Width: size[0], Height: size[1]})...)
			width, height := size[0], size[1]
			if width == 0 {
				width, height = 80, 24
			}
			lines := strings.Split(screen(m), "\n")
			if len(lines) != height || selected(m) >= height-1 || (name == "list" || name == "end") && selected(m) < 0 {
				t.Errorf("%s %v: %d lines, %d is selected", name, size, len(lines), selected(m))
			}
			for i, line := range lines {
				if ansi.StringWidth(line) > width || strings.ContainsAny(line, "\x1b\n") {
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
		m, _ := play(tea.WindowSizeMsg{Width: width, Height: 12}, scanned(s))
		shows(t, m, parts...)
	}
	s.Serving[0].Remaining = 0
	m, _ := play(scanned(s))
	shows(t, m, "build-host-17", "1m30s over")
	m, _ = update(m, press("enter"))
	m, _ = update(m, Inspected{Key: queuelock.Key{Entity: s.Entity, Reason: "lock"}, State: s})
	hides(t, m, "also waits")
	own := held("deploy", time.Second, time.Second)
	own.Waiting[0].Owner = own.Serving[0].Owner
	again, _ := update(m, Inspected{Key: queuelock.Key{Entity: s.Entity, Reason: "lock"}, State: own})
	shows(t, again, "  the owner of 12 also waits, with 13")
	shows(t, m, "data of 12: release 1.42")
}

// TestNarrow checks that a narrow screen keeps the names and gives up other columns, and that a list that does not fit says so.
func TestNarrow(t *testing.T) {
	long := held("service-42/prod", 2*time.Minute, 80*time.Second)
	long.Serving[0].Remaining = 0
	states := []*queue.State{long}
	for i := range 15 {
		states = append(states, held(fmt.Sprintf("service-%02d/prod", i), time.Minute, time.Second))
	}
	m, _ := play(tea.WindowSizeMsg{Width: 40, Height: 10}, scanned(states...))
	shows(t, m, "> service-42/prod vm:1 over    1m20s", "\n  service-03/prod ", "\n  … 11 more\n")
	hides(t, m, "MODE", "HELD", "WAITING", "…p")
	m, _ = update(m, press("end"))
	hides(t, m, "more")
	shows(t, m, "\n> service-14/prod ")
}

func TestTones(t *testing.T) {
	dead := held("a", time.Minute, 3*time.Second)
	dead.Serving[0].Remaining = 0
	m, _ := play(scanned(dead, held("b", time.Second, 2*time.Minute), held("c", time.Second, time.Second)))
	var tones []tone
	for _, l := range m.lines() {
		tones = append(tones, l.tone)
	}
	if want := append([]tone{calm, calm, calm, long, over}, make([]tone, 19)...); !slices.Equal(tones, want) {
		t.Errorf("%v in\n%s", tones, screen(m))
	}
}

// selected returns the index of the line that is selected; -1: none is.
func selected(m Model) int {
	return slices.IndexFunc(m.lines(), func(l line) bool { return l.selected })
}

// TestOutage checks that the view says how old it is, when a scan fails and when none answers.
func TestOutage(t *testing.T) {
	m, _ := play(scanned(held("a", 1)))
	m, _ = update(m, Tick(now.Add(9*time.Second)))
	hides(t, m, "no answer")
	m, _ = update(m, Tick(now.Add(13*time.Second)))
	shows(t, m, "! no answer for 13s: what is shown is 13s old", "> a")
	failed, _ := update(m, Scanned{Err: errors.New("no such host")})
	shows(t, failed, "! outage: what is shown is 13s old: no such host")
	m, _ = update(m, Progress{Units: 1})
	hides(t, m, "no answer")
}

// TestDocumentedBound compares the longest list in docs/observe.md with the constant.
func TestDocumentedBound(t *testing.T) {
	page := string(locktest.Must(os.ReadFile("../../../../docs/observe.md")))
	if text := fmt.Sprintf("The list has at most %d queues.", maxQueues); !strings.Contains(page, text) {
		t.Errorf("docs/observe.md does not say %q", text)
	}
}

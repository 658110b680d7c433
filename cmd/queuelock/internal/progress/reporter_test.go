package progress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/screen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// written is output that a test reads while it grows.
type written struct {
	mu  sync.Mutex
	out bytes.Buffer // guarded by mu
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.String()
}

// positions are those of the reports so far.
func (w *written) positions() string {
	var all []string
	for line := range strings.Lines(w.String()) {
		_, position, _ := strings.Cut(strings.ReplaceAll(line, `":`, " "), "position ")
		all = append(all, position[:1])
	}
	return strings.Join(all, " ")
}

// TestReporter checks when a report is written: at the start, at a change but not soon after the last, and each minute.
func TestReporter(t *testing.T) {
	type news struct {
		at       time.Duration // from the start
		position int           // reported; zero: none
		said     string        // all positions that were written by then
	}
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		style Style
		limit time.Duration
		then  []news
	}{
		"NoNews":           {Plain, 0, []news{{time.Hour, 0, ""}}},
		"Start":            {Plain, 0, []news{{0, 1, ""}, {ms, 0, "1"}, {59 * time.Second, 0, "1"}}},
		"LateStart":        {Plain, 0, []news{{5 * time.Second, 1, ""}, {5001 * ms, 0, "1"}}},
		"EachMinute":       {Plain, 0, []news{{0, 1, ""}, {60001 * ms, 0, "1 1"}, {180001 * ms, 0, "1 1 1 1"}}},
		"SamePosition":     {Plain, 0, []news{{0, 1, ""}, {3 * time.Second, 1, "1"}, {59 * time.Second, 1, "1"}, {61 * time.Second, 0, "1 1"}}},
		"ChangeNotAtOnce":  {Plain, 0, []news{{0, 4, ""}, {3 * time.Second, 3, "4"}, {4 * time.Second, 2, "4"}, {9999 * ms, 0, "4"}, {10001 * ms, 0, "4 2"}}},
		"ChangeMuchLater":  {Plain, 0, []news{{0, 4, ""}, {30 * time.Second, 3, "4"}, {30001 * ms, 0, "4 3"}}},
		"ThereAndBack":     {Plain, 0, []news{{0, 2, ""}, {3 * time.Second, 1, "2"}, {4 * time.Second, 2, "2"}, {59 * time.Second, 0, "2"}}},
		"DeadlineHasGone":  {Plain, 3 * time.Second, []news{{0, 2, ""}, {time.Second, 0, "2"}, {time.Minute, 1, "2"}, {time.Hour, 0, "2"}}},
		"ObjectsMoreOften": {JSON, 0, []news{{0, 4, ""}, {ms, 3, "4"}, {999 * ms, 0, "4"}, {1001 * ms, 0, "4 3"}, {61002 * ms, 0, "4 3 3"}}},
		"None":             {None, 0, []news{{0, 4, ""}, {time.Hour, 0, ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out written
				begun := time.Now()
				cfg := Config{Out: &out, Style: test.style}
				if test.limit > 0 {
					cfg.Deadline = begun.Add(test.limit)
				}
				r := Start(t.Context(), cfg)
				for _, n := range test.then {
					time.Sleep(n.at - time.Since(begun))
					synctest.Wait()
					if got := out.positions(); got != n.said {
						t.Errorf("after %v: %q, want %q", n.at, got, n.said)
					}
					if n.position > 0 {
						r.Report(at(n.position).Progress)
					}
				}
				before := out.positions()
				r.End()
				r.Report(at(9).Progress) // as one may that is on its way
				time.Sleep(time.Hour)
				if got := out.positions(); got != before {
					t.Errorf("after its end: %q, before: %q", got, before)
				}
			})
		})
	}
}

// TestRedraw checks that a screen is redrawn in place, and erased at the end.
func TestRedraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out written
		var visible atomic.Bool
		visible.Store(true)
		r := Start(t.Context(), Config{
			Style: Screen, Visible: visible.Load, Screen: &screen.Screen{Out: &out, Size: func() (int, int, error) { return 80, 24, nil }},
		})
		before := 0
		step := func(d time.Duration, want string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			all := out.String()
			if got := all[before:]; got != want {
				t.Errorf("%q\nwant %q", got, want)
			}
			before = len(all)
		}
		lines := func(position, waited int) string {
			span := fmt.Sprintf("%ds", waited)
			if waited == 0 {
				span = "<1s"
			}
			return fmt.Sprintf("queuelock: waiting for \"x\" (lock): position %d\n  held by vm:123 (ticket 7)\n  waited %s\n", position, span)
		}
		r.Report(at(2).Progress)
		step(time.Millisecond, lines(2, 0))
		step(time.Second, "\r\x1b[3A\x1b[J"+lines(2, 1))
		r.Report(at(1).Progress) // not sooner than a tenth of a second after the last
		step(50*time.Millisecond, "")
		step(50*time.Millisecond, "\r\x1b[3A\x1b[J"+lines(1, 0))
		visible.Store(false) // in the background: the shell's lines are not erased
		step(time.Second, "")
		visible.Store(true)
		step(time.Second, lines(1, 2))
		r.End()
		step(0, "\r\x1b[3A\x1b[J")
	})
}

// clogged is output that takes nothing until it is closed.
type clogged chan struct{}

func (c clogged) Write([]byte) (int, error) {
	<-c
	return 0, errors.New("closed")
}

// TestUnreadReports checks that reports that are not read block no waiter.
func TestUnreadReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := make(clogged)
		r := Start(context.Background(), Config{Out: out, Style: Plain})
		begun := time.Now()
		for range 10 {
			r.Report(at(1).Progress)
			time.Sleep(time.Second)
		}
		if took := time.Since(begun); took != 10*time.Second {
			t.Errorf("the reports took %v more", took-10*time.Second)
		}
		begun = time.Now()
		r.End()
		if took := time.Since(begun); took > endGrace {
			t.Errorf("the end took %v", took)
		}
		close(out)
	})
}

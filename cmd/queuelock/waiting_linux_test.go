package main

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestProgressScreen checks that the wait is redrawn in place on a terminal, and erased
// before the command runs.
func TestProgressScreen(t *testing.T) {
	t.Parallel()
	e := newServer(t)
	lock := e.occupied(t, "x")
	e.env = append(e.env, "TERM=xterm")
	master, slave := pty(t)
	cmd := e.program(t, "run", "x", "-w", "1000", "--", "echo", "it runs")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	locktest.OK(t, cmd.Start())
	timer := time.AfterFunc(testLimit, func() { _ = cmd.Process.Kill(); master.Close() })
	defer timer.Stop()
	first := expect(t, master, "gives up in ")
	for _, part := range []string{`queuelock: waiting for "x" (lock): position 1`, "\n  held by other owner (ticket 1) for ", "\n  waited "} {
		if !strings.Contains(first, part) {
			t.Errorf("the screen %q lacks %q", first, part)
		}
	}
	if second := expect(t, master, "gives up in "); !strings.Contains(second, "\r\x1b[3A\x1b[J") || !regexp.MustCompile(`\n  waited <?\d+s, `).MatchString(second) {
		t.Errorf("it is not redrawn in place: %q", second)
	}
	locktest.OK(t, lock.Release(t.Context()))
	if last := expect(t, master, "it runs"); !strings.HasSuffix(last, "\r\x1b[3A\x1b[Jit runs") {
		t.Errorf("it is not erased: %q", last)
	}
	if code := codeAfter(t, cmd); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestProgressInBackground checks that a job in the background writes lines, and does not
// draw over what its user types.
func TestProgressInBackground(t *testing.T) {
	t.Parallel()
	e := newServer(t)
	lock := e.occupied(t, "x")
	cmd, master := e.atTerminal(t, `set -m; "$Q" run x -- true & wait; echo end`)
	expect(t, master, "position 1, held by other owner")
	locktest.OK(t, lock.Release(t.Context()))
	if rest := expect(t, master, "end"); strings.Contains(rest, "\x1b") {
		t.Errorf("it draws: %q", rest)
	}
	if code := codeAfter(t, cmd); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

//go:build unix

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestUserSignals checks that signals of the user reach the command, and end nothing.
func TestUserSignals(t *testing.T) {
	newEngine(t)
	script := `trap "echo usr1" USR1; trap "(sleep 0.1; echo left) & exit 7" USR2; echo ready; while :; do sleep 0.01; done`
	b := running(t, script)
	locktest.OK(t, syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	b.expect(t, "usr1")
	locktest.OK(t, syscall.Kill(os.Getpid(), syscall.SIGUSR2))
	b.expect(t, "left") // which a signal that asks for an end would have ended
	b.wait(t).ends(t, 7)
}

// TestSignalWhileWaiting checks that a signal while waiting leaves the queue.
func TestSignalWhileWaiting(t *testing.T) {
	e := newEngine(t)
	queued := e.puts()
	e.occupied(t, "x")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			for len(queued) > 0 {
				<-queued // a row that was put once more: this process must not be signalled before run listens
			}
			b := start(t, t.Context(), "run", "x", "--wait", "forever", "--", "echo", "ran")
			<-queued
			locktest.OK(t, syscall.Kill(os.Getpid(), sig))
			b.wait(t).ends(t, 128+int(sig), "left the queue")
			e.mustHave(t, "x", 1, 0)
		})
	}
}

// TestGroupMayCleanUp checks that the processes that the command has started may clean up too.
func TestGroupMayCleanUp(t *testing.T) {
	e := newEngine(t)
	// The shell dies of SIGTERM at once; what it has started takes a moment.
	b := start(t, t.Context(), "run", "x", "--kill-after", testLimit.String(), "--", "sh", "-c",
		`(trap "sleep 0.03; echo tidied; exit" TERM; echo ready; while :; do sleep 0.01; done) & wait`)
	b.expect(t, "ready\n")
	locktest.OK(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	if rest, err := io.ReadAll(b.out); err != nil || string(rest) != "tidied\n" {
		t.Errorf("it wrote %q, %v, want that it tidied up", rest, err)
	}
	b.wait(t).ends(t, 143)
	e.mustBeIdle(t, "x")
}

// TestForwardedTermination checks that SIGKILL follows a SIGTERM to run if --kill-after is given, and only then.
func TestForwardedTermination(t *testing.T) {
	e := newEngine(t)
	script := `trap 'echo asked' TERM; echo ready; until [ -e "$0" ]; do sleep 0.01; done; exit 3`
	for name, test := range map[string]struct {
		flags []string
		code  int
	}{
		"KillsCommandIfGiven": {[]string{"--kill-after", "50ms"}, 137},
		"WaitsByDefault":      {nil, 3},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "go on")
			b := start(t, t.Context(), append(append([]string{"run", "x"}, test.flags...), "--", "sh", "-c", script, path)...)
			b.expect(t, "ready")
			locktest.OK(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
			b.expect(t, "asked")
			if test.flags == nil {
				locktest.OK(t, os.WriteFile(path, nil, 0o600))
			}
			o := b.wait(t)
			if killed := strings.Contains(o.stderr, "SIGKILL was sent"); o.code != test.code || killed != (test.code == 137) {
				t.Errorf("%+v, want the exit code %d", o, test.code)
			}
			e.mustBeIdle(t, "x")
		})
	}
}

// TestSignalBeforeFirstAnswer checks that a signal before the first answer leaves no queue.
func TestSignalBeforeFirstAnswer(t *testing.T) {
	e := newEngine(t)
	close(e.stuck)
	b := start(t, t.Context(), "run", "x", "--", "echo", "ran")
	<-e.asked
	locktest.OK(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	if o := b.wait(t); o.code != 143 || strings.Contains(o.stderr, "queue of") || strings.Count(o.stderr, "\n") != 1 {
		t.Errorf("exit code %d, stderr %q", o.code, o.stderr)
	}
}

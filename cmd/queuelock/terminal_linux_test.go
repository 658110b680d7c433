package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// Tests of job control, at a pseudo-terminal.

// noTerminal ends a test that needs one: as left out on a developer's machine,
// as failed where everything must have run.
func noTerminal(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("no terminals here: %v", err)
	}
	t.Skipf("no terminals here: %v", err)
}

// terminal starts a program as the session of a new terminal of 80 by 24, and returns its other side.
func terminal(t *testing.T, cmd *exec.Cmd) *os.File {
	t.Helper()
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		noTerminal(t, err)
	}
	limit := time.AfterFunc(testLimit, func() { _ = cmd.Process.Kill(); master.Close() })
	t.Cleanup(func() {
		limit.Stop()
		master.Close() // it hangs up, which ends what is left
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return master
}

// atTerminal runs a script of sh, in which $Q is the program, at a terminal.
func (e *engine) atTerminal(t *testing.T, script string) (*exec.Cmd, *os.File) {
	t.Helper()
	cmd := e.program(t)
	cmd.Env = append(cmd.Env, "Q="+cmd.Path, "LESS=", "TERM=vt100")
	cmd.Path, cmd.Args = "/bin/bash", []string{"bash", "--norc", "-c", script}
	return cmd, terminal(t, cmd)
}

// TestTerminal checks that a command can use the terminal, also if it does not begin with it, and that the shell has it afterwards.
func TestTerminal(t *testing.T) {
	e := inParallel(t)
	file := filepath.Join(t.TempDir(), "file")
	locktest.OK(t, os.WriteFile(file, []byte("first\nsecond\n"), 0o600))
	e.env = append(e.env, "F="+file)
	const (
		then     = `; read -r line; echo "shell got $line"`
		password = `stty -echo < /dev/tty; echo prompt > /dev/tty; read -r word < /dev/tty; stty echo < /dev/tty; echo "got $word"`
	)
	for name, test := range map[string]struct {
		script string
		steps  []string // texts that are expected and typed, in turn
		lines  int      // of queuelock
	}{
		"TwiceInARow": {`"$Q" run x -- sh -c 'read -r line; echo "got $line"'` + then, []string{"", "one\ntwo\n", "got one", "", "shell got two"}, 0},
		"ReadsInPipeline": {`set -m; "$Q" run x -- cat | cat` + then,
			[]string{"", "line\n\x04", "line\r\nline\r\n", "again\n", "shell got again"}, 0},
		"Pager": {`set -m; cat "$F" | "$Q" run x -- less -X` + then, []string{"(END)", "q", "", "again\n", "shell got again"}, 0},
		"Password": {`set -m; "$Q" run x -- sh -c '` + password + `' > "$F"; cat "$F"` + then,
			[]string{"prompt", "secret\n", "got secret", "again\n", "shell got again"}, 0},
		"StoppedInBackground": {`set -m; "$Q" run x -- sh -c 'read -r line; echo "got $line"' & read -r line; fg; echo "code $?"`,
			[]string{"Bring queuelock to the foreground", "on\n", "run x --", "word\n", "got word", "", "code 0"}, 1}, // fg prints the job
		"StoppedWithTerminal": {`set -m; "$Q" run x -- sh -c 'echo ready; kill -STOP $$; echo not reached'; echo "code $?"`,
			[]string{"the command is stopped by SIGSTOP and keeps the lock", "\x1a\x03", "code 130"}, 1}, // Ctrl-Z, which is ignored, and Ctrl-C
		"InterruptReachesCommand": {`set -m; "$Q" run x -- sh -c 'trap "exit 5" INT; echo ready; while :; do sleep 0.05; done'; echo "code $?"`,
			[]string{"ready", "\x1a\x03", "code 5"}, 0},
		"EchoesAfterKill": {`set -m; "$Q" run x -- sh -c 'stty -echo; echo ready; kill -KILL $$'; stty -a; echo "code $?"`, []string{"code 0"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("less"); err != nil && name == "Pager" {
				noTerminal(t, err)
			}
			cmd, master := e.atTerminal(t, test.script)
			var shown string
			for i, text := range test.steps {
				if i%2 == 1 {
					locktest.Must(io.WriteString(master, text))
				} else if text != "" {
					shown += expect(t, master, text)
				}
			}
			if strings.Count(shown, "queuelock:") != test.lines || strings.Contains(shown, "-echo ") {
				t.Errorf("terminal %q; want that it echoes, and %d lines of queuelock", shown, test.lines)
			}
			exits(t, cmd, 0)
			e.mustBeIdle(t, "x")
		})
	}
}

// TestProgressScreen checks that the wait is redrawn in place on a terminal, and erased
// before the command runs.
func TestProgressScreen(t *testing.T) {
	e := inParallel(t)
	lock := e.occupied(t, "x")
	e.env = append(e.env, "TERM=xterm")
	cmd := e.program(t, "run", "x", "-w", "1000", "--", "echo", "it runs")
	master := terminal(t, cmd)
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
	exits(t, cmd, 0)
}

// TestProgressInBackground checks that a job in the background writes lines, and does not
// draw over what its user types.
func TestProgressInBackground(t *testing.T) {
	e := inParallel(t)
	lock := e.occupied(t, "x")
	cmd, master := e.atTerminal(t, `set -m; "$Q" run x -- true & wait; echo end`)
	expect(t, master, "position 1, held by other owner")
	locktest.OK(t, lock.Release(t.Context()))
	if rest := expect(t, master, "end"); strings.Contains(rest, "\x1b") {
		t.Errorf("it draws: %q", rest)
	}
	exits(t, cmd, 0)
}

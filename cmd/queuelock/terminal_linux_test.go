package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	creack "github.com/creack/pty"

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

// pty opens a new terminal.
func pty(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, slave, err := creack.Open()
	if err != nil {
		noTerminal(t, err)
	}
	t.Cleanup(func() {
		master.Close() // it hangs up, which ends what is left
		slave.Close()
	})
	return master, slave
}

// atTerminal runs a script of sh, in which $Q is the program, as the session of a new
// terminal, and returns its other side.
func (e *engine) atTerminal(t *testing.T, script string) (*exec.Cmd, *os.File) {
	t.Helper()
	cmd := e.program(t)
	cmd.Env = append(cmd.Env, "Q="+cmd.Path, "LESS=", "TERM=vt100")
	cmd.Path, cmd.Args = "/bin/bash", []string{"bash", "--norc", "-c", script}
	master, slave := pty(t)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	locktest.OK(t, cmd.Start())
	locktest.OK(t, slave.Close())
	limit := time.AfterFunc(testLimit, func() { master.Close() })
	t.Cleanup(func() {
		limit.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, master
}

// typed is typed at a terminal.
func typed(t *testing.T, master *os.File, text string) {
	t.Helper()
	locktest.Must(io.WriteString(master, text))
}

// TestTerminalWhenNeeded checks that a command that does not begin with the terminal gets
// it when it needs it, and that the shell has it afterwards.
func TestTerminalWhenNeeded(t *testing.T) {
	t.Parallel()
	e := newServer(t)
	file := filepath.Join(t.TempDir(), "file")
	locktest.OK(t, os.WriteFile(file, []byte("first\nsecond\n"), 0o600))
	e.env = append(e.env, "F="+file)
	password := `stty -echo < /dev/tty; echo prompt > /dev/tty; read -r word < /dev/tty; stty echo < /dev/tty; echo "got $word"`
	for name, c := range map[string]struct{ script, expect, typed, after string }{
		"reads in a pipeline": {`"$Q" run x -- cat | cat`, "", "line\n\x04", "line\r\nline\r\n"},
		"pager":               {`cat "$F" | "$Q" run x -- less -X`, "(END)", "q", ""},
		"password":            {`"$Q" run x -- sh -c '` + password + `' > "$F"; cat "$F"`, "prompt", "secret\n", "got secret"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("less"); err != nil && name == "pager" {
				noTerminal(t, err)
			}
			cmd, master := e.atTerminal(t, `set -m; `+c.script+`; read -r line; echo "shell got $line"`)
			if c.expect != "" {
				expect(t, master, c.expect)
			}
			typed(t, master, c.typed)
			if c.after != "" {
				expect(t, master, c.after)
			}
			typed(t, master, "again\n")
			if text := expect(t, master, "shell got again"); strings.Contains(text, "queuelock:") {
				t.Errorf("terminal %q", text)
			}
			if code := codeAfter(t, cmd); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// TestStoppedInBackground checks that run says that its command is stopped because run is
// in the background, and that the command continues in the foreground.
func TestStoppedInBackground(t *testing.T) {
	t.Parallel()
	e := newServer(t)
	cmd, master := e.atTerminal(t, `set -m; "$Q" run x -- sh -c 'read -r line; echo "got $line"' & read -r line; fg; echo "code $?"`)
	text := expect(t, master, "Bring queuelock to the foreground")
	if strings.Count(text, "queuelock:") != 1 {
		t.Errorf("terminal %q; want one line", text)
	}
	typed(t, master, "on\n")
	expect(t, master, "run x --") // fg prints the job
	typed(t, master, "word\n")
	expect(t, master, "got word")
	expect(t, master, "code 0")
	if code := codeAfter(t, cmd); code != 0 {
		t.Errorf("exit code %d", code)
	}
	e.mustBeIdle(t, "x")
}

// TestStoppedAtTerminal checks that a command that was stopped while it has the terminal
// can be ended by Ctrl-C.
func TestStoppedAtTerminal(t *testing.T) {
	t.Parallel()
	e := newServer(t)
	cmd, master := e.atTerminal(t, `set -m; "$Q" run x -- sh -c 'echo ready; kill -STOP $$; echo not reached'; echo "code $?"`)
	expect(t, master, "the command is stopped by SIGSTOP and keeps the lock")
	typed(t, master, "\x1a\x03") // Ctrl-Z, which is ignored, and Ctrl-C
	expect(t, master, "code 130")
	if code := codeAfter(t, cmd); code != 0 {
		t.Errorf("exit code %d", code)
	}
	e.mustBeIdle(t, "x")
}

// TestEchoAfterKill checks that the terminal echoes again after a command was killed that
// had switched that off.
func TestEchoAfterKill(t *testing.T) {
	t.Parallel()
	e := newServer(t)
	cmd, master := e.atTerminal(t, `set -m; "$Q" run x -- sh -c 'stty -echo; echo ready; kill -KILL $$'; stty -a; echo "code $?"`)
	if text := expect(t, master, "code 0"); strings.Contains(text, "-echo ") {
		t.Errorf("terminal %q; want that it echoes", text)
	}
	if code := codeAfter(t, cmd); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestTerminal checks that the command can use the terminal.
func TestTerminal(t *testing.T) {
	t.Parallel()
	e := newServer(t)
	// Twice in a row, by a shell that stays: the terminal must come back.
	cmd, master := e.atTerminal(t, `"$Q" run x -- sh -c 'read -r line; echo "got $line"' && read -r line && echo "shell got $line"`)
	typed(t, master, "one\ntwo\n")
	expect(t, master, "got one")
	expect(t, master, "shell got two")
	if code := codeAfter(t, cmd); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestInterruptAtTerminal checks that Ctrl-C reaches the command at a terminal.
func TestInterruptAtTerminal(t *testing.T) {
	t.Parallel()
	e := newServer(t)
	master, slave := pty(t)
	cmd := e.program(t, "run", "x", "--", "sh", "-c", `trap "exit 5" INT; echo ready; while :; do sleep 0.05; done`)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	locktest.OK(t, cmd.Start())
	timer := time.AfterFunc(testLimit, func() { _ = cmd.Process.Kill(); master.Close() })
	defer timer.Stop()
	expect(t, master, "ready")
	if _, err := io.WriteString(master, "\x1a\x03"); err != nil { // Ctrl-Z, which is ignored, and Ctrl-C
		t.Fatal(err)
	}
	if code := codeAfter(t, cmd); code != 5 {
		t.Errorf("exit code %d, want the command's own 5", code)
	}
	e.mustBeIdle(t, "x")
}

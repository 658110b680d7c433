package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
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

// TestProgressScreen checks that the wait is redrawn in place on a terminal, and erased before the command runs.
func TestProgressScreen(t *testing.T) {
	e := inParallel(t)
	lock := e.occupied(t, "x")
	e.env = append(e.env, "TERM=xterm")
	cmd := e.program(t, "run", "x", "-w", "1000", "--", "echo", "it runs")
	master := terminal(t, cmd)
	first := expect(t, master, "gives up in ")
	contains(t, first, `queuelock: waiting for "x" (lock): position 1`,
		"\n  held by other owner (ticket 1) for ", "\n  waited ")
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

// terminalScreen is what a terminal of 80 by 24 shows.
type terminalScreen struct {
	mu       sync.Mutex
	emulator *vt.Emulator // guarded by mu
}

func (s *terminalScreen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.emulator.Write(p)
}

func (s *terminalScreen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.emulator.String() + "\n"
}

// screenOf starts the program on a terminal of 80 by 24. It returns what that shows, a
// function that waits until it shows a text, and one that types.
func screenOf(t *testing.T, cmd *exec.Cmd) (shown *terminalScreen, expect, write func(string)) {
	t.Helper()
	shown = &terminalScreen{emulator: vt.NewEmulator(80, 24)}
	go func() { _, _ = io.Copy(io.Discard, shown.emulator) }()               // its answers to questions
	t.Cleanup(func() { _ = shown.emulator.InputPipe().(io.Closer).Close() }) // Close would race with a Read
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	master := terminal(t, cmd)
	changes, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		chunk := make([]byte, 4096)
		for {
			n, err := master.Read(chunk)
			_, _ = shown.Write(chunk[:n])
			select {
			case changes <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	expect = func(text string) {
		t.Helper()
		limit := time.After(testLimit)
		for !strings.Contains(shown.String(), text) {
			select {
			case <-changes:
			case <-ended:
				if !strings.Contains(shown.String(), text) {
					t.Fatalf("the program has ended: want %q in\n%s", text, shown)
				}
			case <-limit:
				t.Fatalf("want %q in\n%s", text, shown)
			}
		}
	}
	write = func(keys string) {
		t.Helper()
		locktest.Must(master.Write([]byte(keys)))
	}
	return shown, expect, write
}

// TestTopTerminal checks that top on a terminal shows the queues, inspects one, evicts its
// holder after a question, and quits by a key and by a signal.
func TestTopTerminal(t *testing.T) {
	e := inParallel(t)
	lock := e.occupied(t, "deploy/prod")
	cmd := e.program(t, "top", "--interval", "200ms", "--max-rcu", "0")
	_, expect, write := screenOf(t, cmd)
	expect("1 of 1 queues busy")
	write("\r")
	expect("LEASE LEFT")
	write("e")
	expect("evict ticket 1?")
	write("n")
	expect("nothing was evicted")
	write("e")
	expect("evict ticket 1?")
	write("y")
	expect("ticket 1 is evicted")
	locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
	e.mustBeIdle(t, "deploy/prod")
	write("q")
	exits(t, cmd, 0)

	cmd = e.program(t, "top")
	_, expect, _ = screenOf(t, cmd)
	expect("0 of 1 queues busy")
	locktest.OK(t, cmd.Process.Signal(os.Interrupt))
	exits(t, cmd, 0)
}

// TestStatusTerminal checks that status --watch redraws in place on a terminal.
func TestStatusTerminal(t *testing.T) {
	e := inParallel(t)
	cmd := e.program(t, "status", "x", "--watch", "--interval", "100ms", "--exit-code")
	_, expect, write := screenOf(t, cmd)
	expect("Ctrl-C ends")
	expect("no such queue")
	lock := e.occupied(t, "x")
	expect("1 served")
	locktest.OK(t, lock.Release(t.Context()))
	expect("idle; the last ticket was 1")
	write("\x03")
	exits(t, cmd, exitIdle)
}

// TestTopEvictsPresent checks that E evicts the holder of the moment, although turns are so short
// that each is over before the request comes, and the queue is idle between two of them.
func TestTopEvictsPresent(t *testing.T) {
	e := inParallel(t)
	c, key := e.client(t), queuelock.Key{Entity: "x"}
	lock := e.occupied(t, key.Entity)
	acquire := func() {
		var err error
		if lock, err = c.Acquire(context.Background(), key, waitpolicy.NoWait, queuelock.WithTTL(time.Hour)); err != nil {
			t.Error(err)
		}
	}
	release := func() {
		locktest.Check(t, lock.Release(context.Background()))
	}
	locktest.Must(c.Viewer().Inspect(t.Context(), key)) // see occupied
	cmd := e.program(t, "top", "--interval", "1m", "--max-rcu", "0")
	_, expect, write := screenOf(t, cmd)
	expect("1 of 1 queues busy")
	write("\r")
	expect("LEASE LEFT")
	write("E")
	expect("evict the holder of the moment, ")
	release()
	acquire()
	last := make(chan *queuelock.Lock, 1)
	looks := 0
	e.onApplied(func(operation string) { // after a look of the eviction, and before top has its answer
		if operation != "GetItem" || looks == 5 {
			return
		}
		if looks++; looks != 4 {
			release()
		}
		if looks != 3 {
			acquire()
		}
		if looks == 5 {
			last <- lock
		}
	})
	write("y")
	expect("ticket 6 is evicted")
	if evicted := <-last; evicted.Ticket() != ticket.FromUint64(6) || !errors.Is(evicted.Release(t.Context()), queuelock.ErrLost) {
		t.Errorf("%v was not evicted", evicted)
	}
	write("q")
	exits(t, cmd, 0)
}

// TestTopQuitsWithoutAnswer checks that the keys of top work while DynamoDB does not answer.
func TestTopQuitsWithoutAnswer(t *testing.T) {
	e := inParallel(t)
	close(e.stuck)
	cmd := e.program(t, "top")
	_, expect, write := screenOf(t, cmd)
	expect(`queuelock top: table "queuelock"`)
	<-e.asked
	begun := time.Now()
	write("?")
	expect("any key: back")
	write(" q")
	exits(t, cmd, 0)
	if took := time.Since(begun); took > statusLimit/2 {
		t.Errorf("it took %v to leave", took)
	}
}

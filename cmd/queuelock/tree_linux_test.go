package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/process"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Tests of what becomes of processes that a command has started.

// offspring is a script that starts processes in and out of its group, which ignore
// SIGTERM. Each keeps its output open.
const offspring = `(trap "" TERM; sleep 1000 & setsid sh -c 'sleep 1000 & sleep 1000' & setsid sleep 1000 &); echo ready; `

// offspringOf runs a command under the lock of x, after offspring, by the program as a process group of its own. The
// output of all of them, but not of the program, is returned: it ends when they have ended.
func (e *engine) offspringOf(t *testing.T, command string, flags ...string) (cmd *exec.Cmd, out *os.File) {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "pipe")
	locktest.OK(t, syscall.Mkfifo(pipe, 0o600))
	args := append([]string{"run", "x"}, flags...)
	cmd = e.program(t, append(args, "--", "sh", "-c", `exec >"$PIPE"; `+offspring+command)...)
	cmd.Env = append(cmd.Env, "PIPE="+pipe)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	note(t, cmd)
	locktest.OK(t, cmd.Start())
	limit := time.AfterFunc(testLimit, func() { // else a program that fails would never open it
		if write, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			write.Close()
		}
	})
	defer limit.Stop()
	out = locktest.Must(os.Open(pipe))
	t.Cleanup(func() { out.Close() })
	locktest.OK(t, out.SetReadDeadline(time.Now().Add(testLimit)))
	expect(t, out, "ready\n")
	return cmd, out
}

// note keeps what a program will write to standard error.
func note(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	file := locktest.Must(os.Create(filepath.Join(t.TempDir(), "stderr")))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("stderr %q", said(t, cmd))
		}
		file.Close()
	})
	cmd.Stderr = file
}

// said is what a program wrote to standard error, see note.
func said(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	text := locktest.Must(os.ReadFile(cmd.Stderr.(*os.File).Name()))
	return string(text)
}

// mustSay waits until a program has written the text to standard error.
func mustSay(t *testing.T, cmd *exec.Cmd, text string) {
	t.Helper()
	until(t, text, func() bool { return strings.Contains(said(t, cmd), text) })
}

// supervisorOf is the process id of the only child of a process.
func supervisorOf(t *testing.T, parent int) int {
	t.Helper()
	text, err := exec.Command("ps", "-o", "pid=", "--ppid", strconv.Itoa(parent)).Output()
	pid, notNumber := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || notNumber != nil {
		t.Fatalf("children of %d: %q, %v", parent, text, err)
	}
	return pid
}

// TestKilledRun checks that nothing that the command has started outlives run, or its
// supervisor, when one of them is killed or the latter is stopped.
func TestKilledRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kill func(t *testing.T, run int)
		code int // of run; -1 if it is killed
		says string
	}{
		"run is killed":         {func(_ *testing.T, run int) { _ = syscall.Kill(run, syscall.SIGKILL) }, -1, "run was killed"},
		"run's group is killed": {func(_ *testing.T, run int) { _ = syscall.Kill(-run, syscall.SIGKILL) }, -1, "run was killed"},
		"supervisor is killed": {func(t *testing.T, run int) {
			_ = syscall.Kill(supervisorOf(t, run), syscall.SIGKILL)
		}, 137, ""},
		"supervisor is stopped": {func(t *testing.T, run int) {
			_ = syscall.Kill(supervisorOf(t, run), syscall.SIGSTOP)
			_ = syscall.Kill(run, syscall.SIGTERM)
		}, 143, "SIGKILL was sent"},
	} {
		t.Run(name, func(t *testing.T) {
			e := inParallel(t)
			cmd, out := e.offspringOf(t, "exec sleep 1000", "--kill-after", "300ms")
			c.kill(t, cmd.Process.Pid)
			mustEnd(t, out)
			if code := codeAfter(t, cmd); code != c.code || !strings.Contains(said(t, cmd), c.says) {
				t.Errorf("exit code %d, stderr %q; want %d, %q", code, said(t, cmd), c.code, c.says)
			}
			if c.code > exitSignal {
				e.mustBeIdle(t, "x")
			}
		})
	}
}

// TestRunIsStopped checks that the supervisor of a stopped run ends the command before
// another client may hold the lock.
func TestRunIsStopped(t *testing.T) {
	e := inParallel(t)
	cmd, out := e.offspringOf(t, "exec sleep 1000", "--ttl", "4s")
	locktest.OK(t, cmd.Process.Signal(syscall.SIGSTOP))
	ended := make(chan time.Time, 1)
	go func() { _, _ = io.ReadAll(out); ended <- time.Now() }()
	lock := locktest.Must(e.client(t).Acquire(t.Context(), queuelock.Key{Entity: "x"}, waitpolicy.Forever))
	acquired := time.Now()
	// The supervisor kills it 60 ms before, and a busy machine schedules it, and this test, later:
	// by less than an eighth of the lease.
	const late = 500 * time.Millisecond
	if end := <-ended; end.After(acquired.Add(late)) {
		t.Errorf("the command ended %v after another client had the lock", end.Sub(acquired))
	}
	locktest.Check(t, lock.Release(t.Context()))
	locktest.OK(t, cmd.Process.Signal(syscall.SIGCONT))
	if code := codeAfter(t, cmd); code != exitLost || !strings.Contains(said(t, cmd), "run is stopped") {
		t.Errorf("exit code %d, stderr %q; want %d", code, said(t, cmd), exitLost)
	}
}

// TestWaitsForChildren checks that run holds the lock until all that the command has started has ended, and says so.
func TestWaitsForChildren(t *testing.T) {
	e := inParallel(t)
	cmd, out := e.offspringOf(t, "exit 3", "--kill-after", "100ms")
	mustSay(t, cmd, "the command has ended; waiting for sleep (")
	e.mustHave(t, "x", 1, 0)
	locktest.OK(t, cmd.Process.Signal(syscall.SIGINT))
	mustEnd(t, out)
	exits(t, cmd, 3)
	e.mustBeIdle(t, "x")
}

// TestNoWaitChildren checks that with --no-wait-children the lock ends with the command.
func TestNoWaitChildren(t *testing.T) {
	e := inParallel(t)
	cmd := e.program(t, "run", "x", "-o", "--", "sh", "-c", "sleep 1000 >&- 2>&- & echo $!; setsid sleep 1000 >&- 2>&- & echo $!")
	out := locktest.Must(cmd.Output())
	e.mustBeIdle(t, "x")
	for _, line := range strings.Fields(string(out)) {
		pid := locktest.Must(strconv.Atoi(line))
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Errorf("what the command has left is gone: %v", err)
		}
	}
}

// TestStoppedCommand checks that signals reach a command that is stopped, and that run says that it is.
func TestStoppedCommand(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			e := inParallel(t)
			cmd, out := e.offspringOf(t, "kill -STOP $$; echo not reached", "--kill-after", "100ms")
			mustSay(t, cmd, "the command is stopped by SIGSTOP and keeps the lock")
			locktest.OK(t, cmd.Process.Signal(sig))
			mustEnd(t, out)
			exits(t, cmd, 128+int(sig))
			e.mustBeIdle(t, "x")
		})
	}
}

// TestExtraFiles checks that the command inherits the files of run's caller, such as those
// of make's job server, and none of run's.
func TestExtraFiles(t *testing.T) {
	e := inParallel(t)
	cmd := e.program(t, "run", "x", "--", "sh", "-c", `cat <&3; for f in /proc/$$/fd/*; do readlink $f; done; true`)
	read, write := pipe(t)
	locktest.Must(io.WriteString(write, "token\n"))
	write.Close()
	cmd.ExtraFiles = []*os.File{read}
	out, err := cmd.Output()
	read.Close()
	if err != nil || !strings.HasPrefix(string(out), "token\n") || strings.Contains(string(out), "socket:") {
		t.Errorf("output %q, %v", out, err)
	}
}

// TestLossKillsGroup checks that a loss kills the process group, which is asked to end first.
func TestLossKillsGroup(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ script, rest, says string }{
		"stubborn":    {stubborn, "", "SIGKILL was sent"},
		"left behind": {`(trap "" TERM; echo ready; while :; do sleep 0.05; done) & wait`, "", "SIGKILL was sent"},
		"well-bred":   {`trap "echo bye; exit 9" TERM; echo ready; sleep 1000 & wait`, "bye\n", "lock lost"},
	} {
		t.Run(name, func(t *testing.T) {
			e := inParallel(t)
			// The lease leaves a command 600 ms after SIGTERM, also on a busy machine.
			cmd := e.program(t, "run", "x", "--ttl", "8s", "--", "sh", "-c", test.script)
			note(t, cmd)
			out := launch(t, cmd)
			expect(t, out, "ready\n")
			e.evict(t, "x")
			code, stderr := codeAfter(t, cmd), said(t, cmd)
			if code != exitLost || strings.Count(stderr, "lock lost") != 1 || !strings.Contains(stderr, test.says) {
				t.Errorf("exit code %d, stderr %q; want %d, one line on the loss, and %q", code, stderr, exitLost, test.says)
			}
			rest, err := io.ReadAll(out)
			stalled := strings.Contains(stderr, "run is stopped") // the machine did not let it go on in time
			if err != nil || string(rest) != test.rest && !stalled {
				t.Errorf("a process still runs, or was not asked to end first: %q, %v", rest, err)
			}
		})
	}
}

// TestReportedLoss checks that run says that renewals fail, why the command is ended, and that it was killed.
func TestReportedLoss(t *testing.T) {
	e := inParallel(t)
	// The supervisor kills the command, and says so, if run is 100 ms late.
	cmd, out := e.offspringOf(t, `trap "" TERM; while :; do sleep 0.05; done`, "--ttl", "10s")
	close(e.stuck)
	mustEnd(t, out)
	exits(t, cmd, exitLost)
	lines := strings.Split(strings.TrimSpace(said(t, cmd)), "\n")
	for _, want := range []string{
		`^queuelock: renewals have failed for \d+(\.\d)?m?s; the lock expires in \d+(\.\d)?m?s$`,
		`^queuelock: lock lost: "x" \(lock\): \w+; SIGTERM was sent to the command, SIGKILL follows in 750ms$`,
		// One of the two, whichever is scheduled first.
		`^queuelock: (SIGKILL was sent to the command: it has not ended in time|run is stopped, and its lease ends: SIGKILL was sent to the command)$`,
	} {
		if n := slices.IndexFunc(lines, regexp.MustCompile(want).MatchString); n < 0 {
			t.Errorf("stderr %q lacks, in this order, %s", lines, want)
		} else {
			lines = lines[n+1:]
		}
	}
}

// TestBlockedErrorOutput checks that a standard error that is not read delays nothing.
func TestBlockedErrorOutput(t *testing.T) {
	e := inParallel(t)
	read, write := pipe(t)
	defer read.Close()
	_ = write.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := write.Write(make([]byte, 1<<20)); err == nil {
		t.Fatalf("a pipe takes %d bytes", n)
	}
	cmd := e.program(t, "run", "x", "--ttl", "1s", "--", "sh", "-c", `trap "" TERM; echo ready; while :; do sleep 0.05; done`)
	cmd.Stderr = write
	out := launch(t, cmd)
	write.Close()
	expect(t, out, "ready")
	e.evict(t, "x")
	mustEnd(t, out)
	exits(t, cmd, exitLost)
}

// TestCommandGetsBytes checks that arguments and variables may have any bytes, and that a variable is set once.
func TestCommandGetsBytes(t *testing.T) {
	e := inParallel(t)
	cmd := e.program(t, "run", "x", "--data", "", "--", "sh", "-c", `printf %s "$1"; env | grep -c ^QUEUELOCK_REASON=; printenv QUEUELOCK_REASON ODD`, "sh", "a\xffb ")
	cmd.Env = append(cmd.Env, "QUEUELOCK_REASON=outer", "ODD=\xfe")
	out, err := cmd.Output()
	if want := "a\xffb 1\nlock\n\xfe\n"; err != nil || string(out) != want {
		t.Errorf("output %q, %v; want %q", out, err, want)
	}
}

// TestRenewalReports checks when failing renewals are reported, and that they work again.
func TestRenewalReports(t *testing.T) {
	var out strings.Builder
	f := &runFlags{}
	f.ttl = time.Minute
	h := &holding{flags: f, lines: process.NewLines(&out)}
	for _, left := range []time.Duration{57, 40, 28, 25, 24, 20, 13, 12, 11, 6, 5, 58, 57, 24} {
		h.report(left * time.Second)
	}
	h.lines.Close()
	want := "renewals have failed for 3.9s; the lock expires in 24s\n" +
		"renewals have failed for 17s; the lock expires in 11s\n" +
		"renewals have failed for 23s; the lock expires in 5s\n" +
		"the lock was renewed, and expires in 58s\n" +
		"renewals have failed for 3.9s; the lock expires in 24s\n"
	if got := strings.ReplaceAll(out.String(), "queuelock: ", ""); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

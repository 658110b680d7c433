//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/keeper"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/workload/crew"
)

// locked acquires the lock of x, and returns the handle. The keeper is killed at the end
// of the test, if it is still there.
func (e *engine) locked(t *testing.T, flags ...string) string {
	t.Helper()
	e.keepers(t)
	o := e.execute(t, append([]string{"lock", "x"}, flags...)...)
	if o.code != 0 || o.stderr != "" {
		t.Fatalf("lock: %+v", o)
	}
	if serving := e.state(t, "x").Serving; len(serving) == 1 {
		pid := pidOf(t, serving[0].Owner)
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	}
	return strings.TrimSuffix(o.stdout, "\n")
}

func pidOf(t *testing.T, owner string) int {
	t.Helper()
	return locktest.Must(strconv.Atoi(owner[strings.LastIndex(owner, ":")+1:]))
}

func (e *engine) idle(t *testing.T) func() bool {
	return func() bool { s := e.state(t, "x"); return len(s.Serving)+len(s.Waiting) == 0 }
}

func TestLockAndUnlock(t *testing.T) {
	e := inParallel(t)
	handle := e.locked(t)
	if holder := e.state(t, "x").Serving[0]; string(holder.Data) != "queuelock lock x" {
		t.Errorf("the data is %q", holder.Data)
	}
	for _, args := range [][]string{{"lock", "x", "-n"}, {"run", "x", "-n", "--", "true"}} {
		e.execute(t, args...).matches(t, exitNotAcquired, "", "lock not acquired")
	}
	e.execute(t, "lock", "x", "-n", "-q", "-E", "9").matches(t, 9, "", "")
	e.execute(t, "unlock", handle).matches(t, 0, "", "")
	e.mustBeIdle(t, "x")
	for _, wrong := range []string{handle, handle + "x", "nonsense", "/etc/passwd"} {
		e.execute(t, "unlock", wrong).ends(t, exitFailed, "no lock has this handle")
	}
	if left, err := os.ReadDir(filepath.Dir(handle)); err != nil || len(left) > 0 {
		t.Errorf("%v is left in the directory, %v", left, err)
	}
}

func TestKeeperKilled(t *testing.T) {
	e := inParallel(t)
	handle := e.locked(t, "--ttl", "1s")
	locktest.OK(t, syscall.Kill(pidOf(t, e.state(t, "x").Serving[0].Owner), syscall.SIGKILL))
	e.execute(t, "run", "x", "-w", "20", "-q", "--", "echo", "ran").prints(t, 0, "ran\n")
	e.execute(t, "unlock", handle).ends(t, exitLost, "keeper was killed")
	e.execute(t, "unlock", handle).ends(t, exitFailed)
}

// TestUnlockWithoutTable checks that a failed release is one line.
func TestUnlockWithoutTable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ flag, says string }{
		"Lease":      {"--ttl=1m", `there is no table "queuelock" any more`},
		"FailClosed": {"--fail-closed", "may still be held, without a lease: see 'queuelock status'"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newServer(t)
			handle := e.locked(t, test.flag)
			locktest.Must(e.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("queuelock")}))
			mustBeShort(t, e.execute(t, "unlock", handle), exitUnavailable, test.says)
		})
	}
}

// TestCheck checks that a script can ask whether its lock is held, which is for longer than its lease.
func TestCheck(t *testing.T) {
	e := inParallel(t)
	handle := e.locked(t, "--ttl", "2s")
	until(t, "two heartbeats", func() bool { now := e.state(t, "x").Serving; return len(now) == 1 && now[0].Beat >= 2 })
	e.execute(t, "check", handle).matches(t, 0, "", "")
	e.evict(t, "x")
	until(t, "the loss is reported", func() bool { return e.execute(t, "check", handle).code != 0 })
	mustBeShort(t, e.execute(t, "check", handle), exitLost, "the lock was lost: ")
	mustBeShort(t, e.execute(t, "unlock", handle), exitLost, `queuelock: the lock was lost: "x" (lock): `)
	mustBeShort(t, e.execute(t, "check", handle), exitFailed, "no lock has this handle")
	e.execute(t, "unlock", handle).ends(t, exitFailed)

	t.Run("Paused", func(t *testing.T) {
		handle := e.locked(t)
		pid := pidOf(t, e.state(t, "x").Serving[0].Owner)
		locktest.OK(t, syscall.Kill(pid, syscall.SIGSTOP))
		until(t, "the keeper is stopped", func() bool { return crew.StandsStill(pid) })
		mustBeShort(t, e.execute(t, "check", handle), exitFailed, "the keeper has not answered for 5s")
	})
}

// TestPausedKeeper checks that unlock reports a loss that the keeper does not know yet.
func TestPausedKeeper(t *testing.T) {
	e := inParallel(t)
	handle := e.locked(t, "--ttl", "1s")
	pid := pidOf(t, e.state(t, "x").Serving[0].Owner)
	locktest.OK(t, syscall.Kill(pid, syscall.SIGSTOP))
	until(t, "the keeper is stopped", func() bool { return crew.StandsStill(pid) }) // else it may make the socket again
	if err := os.Remove(handle); err != nil {                                       // as a cleaner of temporary files does
		t.Fatal(err)
	}
	early := make(chan outcome, 1)
	go func() { early <- e.execute(t, "unlock", handle) }()
	e.execute(t, "run", "x", "-w", "20", "-q", "--", "echo", "ran").ends(t, 0)
	(<-early).ends(t, exitUnavailable, fmt.Sprintf("'kill -CONT %d'", pid))
	cmd := e.program(t, "unlock", handle)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	locktest.OK(t, cmd.Start())
	locktest.OK(t, syscall.Kill(pid, syscall.SIGCONT))
	if code := codeAfter(t, cmd); code != exitLost || !strings.Contains(stderr.String(), "the lock was lost") {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}

// TestKeeperLimits checks what ends a keeper whose script does not unlock.
func TestKeeperLimits(t *testing.T) {
	t.Parallel()
	parent := exec.Command("sleep", "1000")
	locktest.OK(t, parent.Start())
	for name, test := range map[string]struct {
		flags string
		end   func(keeper int) error
		says  string
	}{
		"MaxHold": {"--max-hold=200ms", func(int) error { return nil }, "--max-hold 200ms is over"},
		"Parent": {fmt.Sprint("--parent-pid=", parent.Process.Pid), func(int) error {
			_ = parent.Process.Kill()
			_ = parent.Wait()
			return nil
		}, "of --parent-pid has ended"},
		"Signal": {"--ttl=1m", func(keeper int) error { return syscall.Kill(keeper, syscall.SIGTERM) }, "received the signal"},
	} {
		t.Run(name, func(t *testing.T) {
			e := inParallel(t)
			handle := e.locked(t, test.flags)
			if serving := e.state(t, "x").Serving; len(serving) > 0 {
				locktest.OK(t, test.end(pidOf(t, serving[0].Owner)))
			}
			until(t, "the release", e.idle(t))
			e.execute(t, "unlock", handle).ends(t, exitLost, test.says)
		})
	}
}

// TestOnLost checks that the process of --parent-pid receives a signal when the lock has ended before unlock, and only then.
func TestOnLost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		flags []string
		end   func(t *testing.T, e *engine, handle string)
		want  string
	}{
		"SignalsLoss":    {[]string{"--ttl", "2s"}, func(t *testing.T, e *engine, _ string) { e.evict(t, "x") }, "signalled\n"},
		"SignalsMaxHold": {[]string{"--max-hold", "100ms"}, func(t *testing.T, e *engine, _ string) {}, "signalled\n"},
		"IsSilentAfterUnlock": {nil, func(t *testing.T, e *engine, handle string) {
			pid := pidOf(t, e.state(t, "x").Serving[0].Owner)
			e.execute(t, "unlock", handle).ends(t, 0)
			until(t, "the keeper's end", func() bool { return !keeper.Running(pid) })
		}, "ended\n"},
	} {
		t.Run(name, func(t *testing.T) {
			e := inParallel(t)
			script := exec.Command("sh", "-c", `trap "echo signalled; exit" USR1; trap "echo ended; exit" TERM; echo ready; while :; do sleep 0.01; done`)
			out := launch(t, script)
			defer func() { _ = script.Process.Kill(); _ = script.Wait() }()
			expect(t, out, "ready\n")
			handle := e.locked(t, append(test.flags, "--parent-pid", fmt.Sprint(script.Process.Pid), "--on-lost", "usr1")...)
			if test.end(t, e, handle); test.want == "ended\n" {
				locktest.OK(t, script.Process.Signal(syscall.SIGTERM))
			}
			if got := string(locktest.Must(io.ReadAll(out))); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestLockInterrupted checks that the queue is left when a waiting lock command ends, in whatever way.
func TestLockInterrupted(t *testing.T) {
	t.Parallel()
	for sig, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGKILL: -1} {
		t.Run(sig.String(), func(t *testing.T) {
			e := inParallel(t)
			e.keepers(t)
			cmd, _ := e.waiting(t, "lock", "x")
			locktest.OK(t, cmd.Process.Signal(sig))
			exits(t, cmd, code)
			until(t, "no waiter", func() bool { return len(e.state(t, "x").Waiting) == 0 })
		})
	}
}

// TestParentOfWaiter checks that the queue is left when the process of --parent-pid ends.
func TestParentOfWaiter(t *testing.T) {
	e := inParallel(t)
	e.keepers(t)
	parent := exec.Command("sleep", "1000")
	locktest.OK(t, parent.Start())
	cmd, read := e.waiting(t, "lock", "x", "--parent-pid", fmt.Sprint(parent.Process.Pid))
	locktest.OK(t, parent.Process.Kill())
	_ = parent.Wait()
	exits(t, cmd, 128+int(syscall.SIGTERM))
	e.mustHave(t, "x", 1, 0)
	expect(t, read, fmt.Sprintf("queuelock: process %d of --parent-pid has ended: left the queue of \"x\" (lock)\n", parent.Process.Pid))
}

// TestLockEnvironment checks the variables that the next steps of a CI job get.
func TestLockEnvironment(t *testing.T) {
	e := inParallel(t)
	lines := e.locked(t, "--env", "--reason", "lock")
	contains(t, lines+"\n", "QUEUELOCK_ENTITY=x\n", "QUEUELOCK_REASON=lock\n", "QUEUELOCK_TICKET=1",
		"QUEUELOCK_TABLE=queuelock\n")
	for setting := range strings.Lines(lines) {
		name, value, _ := strings.Cut(strings.TrimSpace(setting), "=")
		e.env = append(e.env, name+"="+value)
	}
	e.execute(t, "run", "x", "--", "true").ends(t, exitNested)
	e.execute(t, "unlock").ends(t, 0)
	e.execute(t, "run", "x", "--", "true").ends(t, 0)
	e.mustBeIdle(t, "x")
}

// TestLockExport checks that a shell takes the variables as they are.
func TestLockExport(t *testing.T) {
	e := inParallel(t)
	e.keepers(t)
	const entity = "a b; echo 'no' $(echo no)"
	cmd := e.program(t, "lock", entity, "--export")
	lines := locktest.Must(cmd.Output())
	out := locktest.Must(exec.Command("/bin/sh", "-c", `eval "$1"; printf '%s\n%s\n%s\n' "$QUEUELOCK_ENTITY" "$QUEUELOCK_HELD" "$QUEUELOCK_HANDLE"`, "sh", string(lines)).Output())
	got := strings.Split(string(out), "\n")
	if len(got) != 4 || got[0] != entity || !json.Valid([]byte(got[1])) {
		t.Fatalf("%q", got)
	}
	e.env = append(e.env, "QUEUELOCK_HELD="+strings.ReplaceAll(got[1], `"`, "")) // as a shell spoils it
	e.execute(t, "run", entity, "-n", "--", "true").ends(t, exitUsage, "QUEUELOCK_HELD cannot be read")
	e.execute(t, "unlock", got[2]).ends(t, 0)
}

// TestKeeperDescriptors checks that a keeper has none of its caller's descriptors, which may be locked, or be the end of a
// pipe.
func TestKeeperDescriptors(t *testing.T) {
	e := inParallel(t)
	e.keepers(t)
	read, write := pipe(t)
	cmd := e.program(t, "lock", "x")
	for range 300 { // 3 to 302
		cmd.ExtraFiles = append(cmd.ExtraFiles, write)
	}
	handle := strings.TrimSpace(string(locktest.Must(cmd.Output())))
	locktest.OK(t, write.Close())
	if rest, err := io.ReadAll(read); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v; want the end of the pipe while the lock is held", rest, err)
	}
	e.execute(t, "unlock", handle).ends(t, 0)
}

// TestKeeperDirectory checks that keepers use no directory that others may enter.
func TestKeeperDirectory(t *testing.T) {
	e := inParallel(t)
	dir := filepath.Join(e.keepers(t), fmt.Sprintf("queuelock-%d", os.Getuid()))
	locktest.OK(t, os.Mkdir(dir, 0o700))
	locktest.OK(t, os.Chmod(dir, 0o750))
	e.execute(t, "lock", "x").ends(t, exitFailed, "not a directory of yours alone")
	e.mustBeIdle(t, "x")
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/once"
)

// counting is a script that counts its runs in a file, and prints its number. ran checks how often it has run.
func counting(t *testing.T, then string) (script string, ran func(times int)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "runs")
	script = fmt.Sprintf(`echo >>%[1]s; printf 'run %%d\n' $(wc -l <%[1]s); %[2]s`, file, then)
	return script, func(times int) {
		t.Helper()
		if n := strings.Count(string(locktest.Must(os.ReadFile(file))), "\n"); n != times {
			t.Errorf("%d runs, want %d", n, times)
		}
	}
}

func TestOnce(t *testing.T) {
	e := newEngine(t)
	t.Run("OthersPrintTheOutput", func(t *testing.T) {
		script, ran := counting(t, "")
		for range 2 {
			invoke(t, "run", "kept", "--once", "10m", "-c", script).prints(t, 0, "run 1\n")
		}
		ran(1)
		e.mustBeIdle(t, "kept")
		invoke(t, "status", "kept").shows(t, 0, "result of 1, 6 bytes, until ")
	})
	t.Run("TheyWaitForIt", func(t *testing.T) {
		script, ran := counting(t, "sleep 0.5")
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { invoke(t, "run", "waits", "--once", "10m", "-q", "-c", script).prints(t, 0, "run 1\n") })
		}
		all.Wait()
		ran(1)
	})
	t.Run("AFailureIsNotKept", func(t *testing.T) {
		script, ran := counting(t, "exit 3")
		for i := range 2 {
			invoke(t, "run", "fails", "--once", "10m", "-c", script).matches(t, 3, fmt.Sprintf("^run %d\n$", i+1), "")
		}
		ran(2)
		e.mustBeIdle(t, "fails")
	})
	t.Run("TooMuchIsAnError", func(t *testing.T) {
		o := invoke(t, "run", "large", "--once", "10m", "-c", fmt.Sprintf("head -c %d /dev/zero", once.MaxSize+1))
		o.ends(t, exitFailed, "the output has 4097 bytes, at most 4096 are kept", "print a pointer to it")
		whole := strings.Repeat("x", once.MaxSize)
		invoke(t, "run", "large", "--once", "10m", "--", "printf", whole).prints(t, 0, whole)
	})
	t.Run("TheWaitIsLimited", func(t *testing.T) {
		held := e.occupied(t, "busy")
		o := invoke(t, "run", "busy", "--once", "10m", "-w", "0.2", "-E", "9", "--", "echo", "never")
		o.ends(t, 9, "lock not acquired after", "is held by")
		locktest.Release(t, held)
	})
}

// TestOnceKilled kills the first of several processes with SIGKILL as it computes. The leases of the others end later.
func TestOnceKilled(t *testing.T) {
	e := newEngine(t)
	dir := t.TempDir()
	running, runs := filepath.Join(dir, "running"), filepath.Join(dir, "runs")
	// It counts each run that begins while another one is under way. The supervisor ends the script of a process that is killed.
	script := fmt.Sprintf(`echo $QUEUELOCK_TICKET >>%[2]s
mkdir %[1]s 2>/dev/null || [ "$(wc -l <%[2]s)" = 2 ] || echo overlap >>%[2]s
[ "$QUEUELOCK_TICKET" != 1 ] || sleep 100
rmdir %[1]s; echo "of $QUEUELOCK_TICKET"`, running, runs)
	command := func() *exec.Cmd {
		return e.program(t, "run", "x", "--once", "10m", "--ttl", "5s", "-q", "-c", script)
	}
	first := command()
	launch(t, first)
	until(t, "the first runs", func() bool { _, err := os.Stat(runs); return err == nil })
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			out, err := command().Output()
			if err != nil || string(out) != "of 2\n" {
				t.Errorf("%q, %v", out, err)
			}
		})
	}
	until(t, "the others wait", func() bool { return len(e.state(t, "x").Waiting) == 4 })
	locktest.OK(t, first.Process.Kill())
	_ = first.Wait() // killed
	begun := time.Now()
	all.Wait()
	t.Logf("after %v", time.Since(begun))
	if text := string(locktest.Must(os.ReadFile(runs))); text != "1\n2\n" {
		t.Errorf("the tickets that ran: %q", text)
	}
}

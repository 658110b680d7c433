package main

import (
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// waiter starts a run of "true" that waits for x, and returns when it has a place in the queue.
func (e *engine) waiter(t *testing.T, queued <-chan struct{}, stderr *os.File, flags ...string) *exec.Cmd {
	t.Helper()
	cmd := e.program(t, append(append([]string{"run", "x", "--wait", "forever"}, flags...), "--", "true")...)
	cmd.Stderr = stderr
	locktest.OK(t, cmd.Start())
	stderr.Close()
	select {
	case <-queued:
	case <-time.After(testLimit):
		t.Fatal("it has not queued")
	}
	return cmd
}

// waiting starts a program that waits for x, which another client holds, and returns its standard error.
func (e *engine) waiting(t *testing.T, args ...string) (*exec.Cmd, *os.File) {
	t.Helper()
	e.occupied(t, "x")
	read, write := pipe(t)
	cmd := e.program(t, args...)
	cmd.Stderr = write
	locktest.OK(t, cmd.Start())
	write.Close()
	expect(t, read, "waiting for \"x\" (lock): position 1")
	return cmd, read
}

// pipe is an output of a program that can be read while it runs.
func pipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close() })
	locktest.OK(t, read.SetReadDeadline(time.Now().Add(testLimit)))
	return read, write
}

// TestRunReportsWait checks the line of the last of two waiters, behind one whose standard error is closed.
func TestRunReportsWait(t *testing.T) {
	e := inParallel(t)
	queued := e.puts()
	lock := e.occupied(t, "x")
	brokenRead, brokenWrite := pipe(t)
	brokenRead.Close()
	broken := e.waiter(t, queued, brokenWrite)
	read, write := pipe(t)
	last := e.waiter(t, queued, write)

	// A busy machine takes more than a second to start them.
	line := regexp.MustCompile(`^queuelock: waiting for "x" \(lock\): position 2, 1 ticket ahead, ` +
		`held by other owner \(ticket 1\) for (<1s|\d+s); waited (<1s|\d+s)\n$`)
	if got := expect(t, read, "\n"); !line.MatchString(got) {
		t.Errorf("it says %q, want %s", got, line)
	}
	locktest.OK(t, lock.Release(t.Context()))
	exits(t, broken, 0)
	exits(t, last, 0)
	rest := string(locktest.Must(io.ReadAll(read)))
	for later := range strings.Lines(rest) { // a change, at the earliest after ten seconds
		if !strings.HasPrefix(later, `queuelock: waiting for "x"`) {
			t.Errorf("a second line: %q", later)
		}
	}
	e.mustBeIdle(t, "x")
}

func TestProgressJSON(t *testing.T) {
	e := newEngine(t)
	lock := e.occupied(t, "x")
	read, write := pipe(t)
	done := make(chan int, 1)
	go func() {
		done <- run(t.Context(), []string{"run", "x", "--progress=json", "-w", "100", "--", "true"}, strings.NewReader(""), io.Discard, write)
		write.Close()
	}()
	next := func(line string) {
		t.Helper()
		if got := expect(t, read, "\n"); !regexp.MustCompile(line).MatchString(got) {
			t.Errorf("%s; want %s", got, line)
		}
	}
	next(`^{"event":"waiting",.*"position":1,.*"deadline":"2.*"holder":{.*"owner":"other owner"`)
	locktest.OK(t, lock.Release(t.Context()))
	next(`^{"event":"acquired",.*"entities":\["x"\],"tickets":\["2"\]`)
	if code := <-done; code != 0 {
		t.Errorf("exit code %d", code)
	}
	e.occupied(t, "x")
	o := invoke(t, "run", "x", "--progress=json", "-n", "--", "true")
	o.matches(t, exitNotAcquired, "", `^{"event":"not_acquired",`)
}

// clogged is output that takes nothing until it is closed.
type clogged chan struct{}

func (c clogged) Write(p []byte) (int, error) {
	<-c
	return len(p), nil
}

// TestUnreadReport checks that the command runs although what --progress=json reports is not read.
func TestUnreadReport(t *testing.T) {
	newEngine(t)
	out := make(clogged)
	defer close(out)
	read, write := pipe(t)
	done := make(chan int, 1)
	go func() {
		done <- run(t.Context(), []string{"run", "x", "--progress=json", "--", "echo", "it runs"}, strings.NewReader(""), write, out)
	}()
	expect(t, read, "it runs")
	if code := <-done; code != 0 {
		t.Errorf("exit code %d", code)
	}
	write.Close()
}

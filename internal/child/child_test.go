package child

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// limit ends a test that waits for what does not happen.
const limit = 30 * time.Second

// script starts a shell script whose output can be read, and ends when all processes
// that have it are gone.
func script(t *testing.T, text string) (*Child, *os.File) {
	t.Helper()
	out, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	if err := out.SetReadDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", text)
	cmd.Stdout = write
	c, err := Start(cmd)
	if err := errors.Join(err, write.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Signal(syscall.SIGKILL)
		<-c.Exited()
	})
	return c, out
}

// TestExitCode checks that the exit code is the one that a shell would give.
func TestExitCode(t *testing.T) {
	for text, want := range map[string]int{"true": 0, "exit 42": 42, "kill -TERM $$": 143, "kill -KILL $$": 137} {
		c, _ := script(t, text)
		if got := c.Code(); got != want || c.Killed() != (want == 137) {
			t.Errorf("%q: code %d, killed %v; want %d (%v)", text, got, c.Killed(), want, c.State())
		}
	}
}

func TestSignalReachesTheGroup(t *testing.T) {
	c, out := script(t, `trap "echo parent; wait; exit 3" TERM
(trap "echo child; exit" TERM; echo ready; while :; do sleep 0.01; done) &
wait`)
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := c.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if text := string(rest); err != nil || text != "parent\nchild\n" && text != "child\nparent\n" {
		t.Errorf("output %q, %v; want both to tell", text, err)
	}
	if code := c.Code(); code != 3 {
		t.Errorf("code %d, want 3", code)
	}
}

func TestGroupOutlivesLeader(t *testing.T) {
	c, out := script(t, `sleep 1000 & echo ready`)
	<-c.Exited()
	if c.Gone() {
		t.Error("no process is left, want one")
	}
	if err := c.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if text, err := io.ReadAll(out); err != nil || string(text) != "ready\n" {
		t.Errorf("output %q, %v", text, err)
	}
}

func TestSignalAfterEnd(t *testing.T) {
	c, _ := script(t, "true")
	<-c.Exited()
	if err := c.Signal(syscall.SIGTERM); err != nil || !c.Gone() {
		t.Errorf("signal: %v; gone: %v", err, c.Gone())
	}
}

func TestStartFails(t *testing.T) {
	if c, err := Start(exec.Command("/no/such/file")); c != nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, %v", c, err)
	}
}

// TestChildOutlivesThreads checks that a child outlives the threads that existed when it
// started, although the kernel ties it to the thread that started it.
func TestChildOutlivesThreads(t *testing.T) {
	for range 20 {
		var c *Child
		var out *os.File
		started := make(chan struct{})
		go func() {
			defer close(started)
			c, out = script(t, "echo ready; while :; do sleep 1; done")
		}()
		<-started
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		var threads sync.WaitGroup
		for range 50 {
			threads.Go(runtime.LockOSThread) // a goroutine that ends locked takes its thread with it
		}
		threads.Wait()
		if err := c.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := c.Code(); code != 143 {
			t.Fatalf("code %d, want 143", code)
		}
	}
}

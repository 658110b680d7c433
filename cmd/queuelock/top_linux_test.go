package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

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
	if err := lock.Release(t.Context()); !errors.Is(err, queuelock.ErrLost) {
		t.Errorf("the lock was not evicted: %v", err)
	}
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

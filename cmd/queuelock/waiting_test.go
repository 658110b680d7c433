package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// at is the news of a waiter at that position.
func at(position int) queuelock.Progress {
	return queuelock.Progress{
		Key: queuelock.Key{Entity: "x"}, Position: position,
		Serving: &queue.Holder{Ticket: ticket.FromUint64(7), Owner: "vm:123"},
	}
}

// TestProgressLine checks that the progress line shows the position of a waiter.
func TestProgressLine(t *testing.T) {
	nobody, standing, foreign := at(2), at(1), at(1)
	nobody.Serving = nil
	standing.Serving.FailClosed = true
	foreign.Serving.Owner = "two\nlines"
	for want, p := range map[string]queuelock.Progress{
		`queuelock: waiting for "x" (lock): position 1, serving vm:123 (ticket 7)`:                  at(1),
		`queuelock: waiting for "x" (lock): position 2`:                                             nobody,
		`queuelock: waiting for "x" (lock): position 1, serving vm:123 (ticket 7, without a lease)`: standing,
		`queuelock: waiting for "x" (lock): position 1, serving "two\nlines" (ticket 7)`:            foreign,
	} {
		if got := waitingLine(p); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// written is output that a test reads while it grows.
type written struct {
	mu  sync.Mutex
	out bytes.Buffer // guarded by mu
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

// positions are those of the lines so far.
func (w *written) positions() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for line := range strings.Lines(w.out.String()) {
		_, position, _ := strings.Cut(line, "position ")
		all = append(all, position[:1])
	}
	return strings.Join(all, " ")
}

// TestBulletin checks that a bulletin prints nothing at first, and seldom afterwards.
func TestBulletin(t *testing.T) {
	type news struct {
		at       time.Duration // from the start
		position int           // reported; zero: none
		said     string        // all positions that were said by then
	}
	for name, test := range map[string]struct {
		limit time.Duration
		then  []news
	}{
		"nothing to say":           {0, []news{{time.Hour, 0, ""}}},
		"a short wait":             {0, []news{{0, 1, ""}, {1999 * time.Millisecond, 0, ""}}},
		"a long one, once":         {0, []news{{0, 1, ""}, {2001 * time.Millisecond, 0, "1"}, {time.Hour, 0, "1"}}},
		"the latest":               {0, []news{{0, 3, ""}, {time.Second, 2, ""}, {2001 * time.Millisecond, 0, "2"}}},
		"late news, at once":       {0, []news{{5 * time.Second, 1, ""}, {5001 * time.Millisecond, 0, "1"}}},
		"the same position":        {0, []news{{0, 1, ""}, {3 * time.Second, 1, "1"}, {time.Hour, 1, "1"}, {2 * time.Hour, 0, "1"}}},
		"another one, not at once": {0, []news{{0, 4, ""}, {3 * time.Second, 3, "4"}, {4 * time.Second, 2, "4"}, {11999 * time.Millisecond, 0, "4"}, {12001 * time.Millisecond, 0, "4 2"}}},
		"another one, much later":  {0, []news{{0, 4, ""}, {time.Minute, 3, "4"}, {60001 * time.Millisecond, 0, "4 3"}}},
		"there and back":           {0, []news{{0, 2, ""}, {3 * time.Second, 1, "2"}, {4 * time.Second, 2, "2"}, {time.Minute, 0, "2"}}},
		"no wait":                  {time.Nanosecond, []news{{0, 1, ""}, {time.Minute, 0, ""}}},
		"the wait is over":         {3 * time.Second, []news{{0, 2, ""}, {2500 * time.Millisecond, 0, "2"}, {time.Minute, 1, "2"}, {time.Hour, 0, "2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out written
				b := newBulletin(t.Context(), &out, test.limit, test.limit > 0)
				begun := time.Now()
				for _, n := range test.then {
					time.Sleep(n.at - time.Since(begun))
					synctest.Wait()
					if got := out.positions(); got != n.said {
						t.Errorf("after %v: said %q, want %q", n.at, got, n.said)
					}
					if n.position > 0 {
						b.tell(at(n.position))
					}
				}
				before := out.positions()
				b.end()
				b.tell(at(9)) // as one may that is on its way
				time.Sleep(time.Hour)
				if got := out.positions(); got != before {
					t.Errorf("after its end: %q, before: %q", got, before)
				}
			})
		})
	}
}

// clogged is output that takes nothing until it is closed.
type clogged chan struct{}

func (c clogged) Write([]byte) (int, error) {
	<-c
	return 0, errors.New("closed")
}

// TestUnreadBulletin checks that a bulletin that is not read blocks no waiter.
func TestUnreadBulletin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := make(clogged)
		b := newBulletin(t.Context(), out, 0, false)
		begun := time.Now()
		for range 10 {
			b.tell(at(1))
			time.Sleep(time.Second)
		}
		if took := time.Since(begun); took != 10*time.Second {
			t.Errorf("telling took %v more", took-10*time.Second)
		}
		begun = time.Now()
		b.end()
		if took := time.Since(begun); took > lineGrace {
			t.Errorf("the end took %v", took)
		}
		close(out)
	})
}

// waiter starts a run of "true" that waits for x, and returns when it has a
// place in the queue.
func (e *engine) waiter(t *testing.T, queued <-chan struct{}, stderr *os.File, flags ...string) func() int {
	t.Helper()
	cmd := program(t, append(append([]string{"run", "x", "--wait", "forever"}, flags...), "--", "true")...)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stderr.Close()
	select {
	case <-queued:
	case <-time.After(testLimit):
		t.Fatal("it has not queued")
	}
	return func() int { return codeAfter(t, cmd) }
}

// errorPipe is a standard error that can be read while a program runs.
func errorPipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close() })
	if err := read.SetReadDeadline(time.Now().Add(testLimit)); err != nil {
		t.Fatal(err)
	}
	return read, write
}

// TestRunReportsWait has three waiters. When the last speaks, the silence of those that
// came before it is over as well.
func TestRunReportsWait(t *testing.T) {
	e := newEngine(t)
	queued := e.puts()
	lock := e.occupied(t, "x")
	quietRead, quietWrite := errorPipe(t)
	quiet := e.waiter(t, queued, quietWrite, "--quiet")
	brokenRead, brokenWrite := errorPipe(t)
	brokenRead.Close()
	broken := e.waiter(t, queued, brokenWrite)
	read, write := errorPipe(t)
	last := e.waiter(t, queued, write)

	line := "queuelock: waiting for \"x\" (lock): position 3, serving other owner (ticket 1)\n"
	if got := expect(t, read, "\n"); got != line {
		t.Errorf("it says %q, want %q", got, line)
	}
	if err := lock.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]int{"quiet": quiet(), "without a reader": broken(), "last": last()} {
		if code != 0 {
			t.Errorf("%s: exit code %d", name, code)
		}
	}
	if rest, err := io.ReadAll(quietRead); err != nil || len(rest) > 0 {
		t.Errorf("with --quiet: %q, %v", rest, err)
	}
	if rest, err := io.ReadAll(read); err != nil || len(rest) > 0 {
		t.Errorf("a second line: %q, %v", rest, err)
	}
	e.mustBeIdle(t, "x")
}

// TestSignalAfterLine checks that a signal after the line leaves the queue.
func TestSignalAfterLine(t *testing.T) {
	e := newEngine(t)
	e.occupied(t, "x")
	read, write := errorPipe(t)
	cmd := program(t, "run", "x", "--wait", "forever", "--", "echo", "ran")
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	expect(t, read, "position 1, serving other owner (ticket 1)\n")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := codeAfter(t, cmd); code != 143 || stdout.Len() > 0 {
		t.Errorf("exit code %d, stdout %q", code, stdout.String())
	}
	if rest, err := io.ReadAll(read); err != nil || !strings.Contains(string(rest), "left the queue") || strings.Count(string(rest), "\n") != 1 {
		t.Errorf("then %q, %v", rest, err)
	}
	if s := e.state(t, "x"); len(s.Waiting) != 0 {
		t.Errorf("%d wait", len(s.Waiting))
	}
}

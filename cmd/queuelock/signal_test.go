package main

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSignals checks that signals reach the command.
func TestSignals(t *testing.T) {
	e := newEngine(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			script := `trap "exit 7" INT TERM HUP; echo ready; while :; do sleep 0.01; done`
			b := start(t, t.Context(), "run", "x", "--", "sh", "-c", script)
			b.expect(t, "ready")
			if err := syscall.Kill(os.Getpid(), sig); err != nil {
				t.Fatal(err)
			}
			if o := b.wait(t); o.code != 7 || strings.Contains(o.stderr, "queuelock:") {
				t.Errorf("exit code %d, stderr %q; want the command's own 7", o.code, o.stderr)
			}
			e.mustBeIdle(t, "x")
		})
	}
	t.Run("those of the user, which end nothing", func(t *testing.T) {
		script := `trap "echo usr1" USR1; trap "echo usr2; exit 7" USR2; echo ready; while :; do sleep 0.01; done`
		b := start(t, t.Context(), "run", "x", "--", "sh", "-c", script)
		b.expect(t, "ready")
		if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		b.expect(t, "usr1")
		if err := syscall.Kill(os.Getpid(), syscall.SIGUSR2); err != nil {
			t.Fatal(err)
		}
		if o := b.wait(t); o.code != 7 {
			t.Errorf("%+v", o)
		}
	})
	t.Run("and what it has started", func(t *testing.T) {
		b := start(t, t.Context(), "run", "x", "--", "sh", "-c", `sleep 1000 & echo ready; wait`)
		b.expect(t, "ready")
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if o := b.wait(t); o.code != 143 {
			t.Errorf("exit code %d, want 143", o.code)
		}
		b.mustEnd(t)
	})
}

// TestSignalWhileWaiting checks that a signal while waiting leaves the queue.
func TestSignalWhileWaiting(t *testing.T) {
	e := newEngine(t)
	queued := e.puts()
	e.occupied(t, "x")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			for len(queued) > 0 {
				<-queued // a row that was put once more: this process must not be signalled before run listens
			}
			b := start(t, t.Context(), "run", "x", "--wait", "forever", "--", "echo", "ran")
			<-queued
			if err := syscall.Kill(os.Getpid(), sig); err != nil {
				t.Fatal(err)
			}
			o := b.wait(t)
			if want := 128 + int(sig); o.code != want {
				t.Errorf("exit code %d, want %d", o.code, want)
			}
			if !strings.Contains(o.stderr, "left the queue") {
				t.Errorf("stderr %q", o.stderr)
			}
			if s := e.state(t, "x"); len(s.Waiting) != 0 || len(s.Serving) != 1 {
				t.Errorf("%d served, %d waiting; want the holder alone", len(s.Serving), len(s.Waiting))
			}
		})
	}
}

// stubborn is a command that ignores SIGTERM, with a child that does so too.
const stubborn = `trap "" TERM; (while :; do sleep 0.05; done) & echo ready; while :; do sleep 0.05; done`

// TestLossKillsGroup checks that a loss kills the process group.
func TestLossKillsGroup(t *testing.T) {
	// Which cause is found first is a race between the heartbeats and the lease.
	for what, lose := range map[string]func(*testing.T, *engine){
		"taken away": func(t *testing.T, e *engine) { e.evict(t, "x") },
		"no answer":  func(_ *testing.T, e *engine) { close(e.stuck) },
	} {
		t.Run(what, func(t *testing.T) {
			for name, script := range map[string]string{
				"stubborn":    stubborn,
				"well-bred":   `trap "exit 9" TERM; echo ready; while :; do sleep 0.01; done`,
				"left behind": `(trap "" TERM; echo ready; while :; do sleep 0.05; done) & wait`,
			} {
				t.Run(name, func(t *testing.T) {
					e := newEngine(t)
					ttl := "1s"
					if name == "well-bred" {
						ttl = "10s" // which leaves it 750 ms, also on a busy machine
					}
					b := start(t, t.Context(), "run", "x", "--ttl", ttl, "--", "sh", "-c", script)
					b.expect(t, "ready")
					begun := time.Now()
					lose(t, e)
					o := b.wait(t)
					if o.code != exitLost || !strings.Contains(o.stderr, "lock lost") {
						t.Errorf("exit code %d, stderr %q; want %d", o.code, o.stderr, exitLost)
					}
					if strings.Count(o.stderr, "lock lost") != 1 {
						t.Errorf("stderr does not name the loss once: %q", o.stderr)
					}
					stalled := strings.Contains(o.stderr, "run is stopped") // the machine did not let it go on in time
					if killed := strings.Contains(o.stderr, "SIGKILL was sent"); killed != (name != "well-bred") && !stalled {
						t.Errorf("stderr reports a SIGKILL: %v: %q", killed, o.stderr)
					}
					b.mustEnd(t)
					t.Logf("the program ended %v after the loss began", time.Since(begun).Round(time.Millisecond))
				})
			}
		})
	}
}

// TestGroupMayCleanUp checks that the processes that the command has started may clean up
// too.
func TestGroupMayCleanUp(t *testing.T) {
	e := newEngine(t)
	// The shell dies of SIGTERM at once; what it has started takes a moment.
	b := start(t, t.Context(), "run", "x", "--kill-after", testLimit.String(), "--", "sh", "-c",
		`(trap "sleep 0.03; echo tidied; exit" TERM; echo ready; while :; do sleep 0.01; done) & wait`)
	b.expect(t, "ready\n")
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(b.out); err != nil || string(rest) != "tidied\n" {
		t.Errorf("it wrote %q, %v, want that it tidied up", rest, err)
	}
	if o := b.wait(t); o.code != 143 {
		t.Errorf("exit code %d, want 143 (stderr %q)", o.code, o.stderr)
	}
	e.mustBeIdle(t, "x")
}

// TestGraceBeforeLease checks that the grace period ends before the lease.
func TestGraceBeforeLease(t *testing.T) {
	for _, ttl := range []time.Duration{time.Second, 10 * time.Second, time.Minute, time.Hour} {
		margin := min(ttl/10, 2*time.Second)
		if g := grace(ttl); g <= 0 || g >= margin {
			t.Errorf("ttl %v: the grace is %v, want something within the margin %v", ttl, g, margin)
		}
	}
}

// TestSignalBeforeFirstAnswer checks that a signal before the first answer leaves no
// queue.
func TestSignalBeforeFirstAnswer(t *testing.T) {
	e := newEngine(t)
	close(e.stuck)
	b := start(t, t.Context(), "run", "x", "--", "echo", "ran")
	<-e.asked
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if o := b.wait(t); o.code != 143 || strings.Contains(o.stderr, "queue of") || strings.Count(o.stderr, "\n") != 1 {
		t.Errorf("exit code %d, stderr %q", o.code, o.stderr)
	}
}

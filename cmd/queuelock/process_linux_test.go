package main

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// TestParentDies checks that the command dies with its parent.
func TestParentDies(t *testing.T) {
	newEngine(t)
	cmd := program(t, "run", "x", "--", "sh", "-c", "echo ready; exec sleep 1000")
	out := launch(t, cmd)
	expect(t, out, "ready")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if rest, err := io.ReadAll(out); err != nil {
		t.Errorf("the command lives on: %v (rest of the output: %q)", err, rest)
	}
}

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
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		noTerminal(t, err)
	}
	t.Cleanup(func() { master.Close() })
	conn, err := master.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var number, unlock int32
	err = conn.Control(func(fd uintptr) {
		for request, argument := range map[uintptr]*int32{syscall.TIOCGPTN: &number, syscall.TIOCSPTLCK: &unlock} {
			if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(argument))); errno != 0 {
				t.Errorf("ioctl %#x: %v", request, errno)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		noTerminal(t, err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// TestTerminal checks that the command can use the terminal.
func TestTerminal(t *testing.T) {
	newEngine(t)
	master, slave := pty(t)
	// Twice in a row, by a shell that stays: the terminal must come back.
	cmd := program(t)
	script := `"$0" run x -- sh -c 'read -r line; echo "got $line"' && read -r line && echo "shell got $line"`
	cmd.Args = []string{"sh", "-c", script, cmd.Path}
	cmd.Path = "/bin/sh"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(testLimit, func() { _ = cmd.Process.Kill(); master.Close() })
	defer timer.Stop()
	if _, err := io.WriteString(master, "one\ntwo\n"); err != nil {
		t.Fatal(err)
	}
	expect(t, master, "got one")
	expect(t, master, "shell got two")
	if code := codeAfter(t, cmd); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestInterruptAtTerminal checks that Ctrl-C reaches the command at a terminal.
func TestInterruptAtTerminal(t *testing.T) {
	e := newEngine(t)
	master, slave := pty(t)
	cmd := program(t, "run", "x", "--", "sh", "-c", `trap "exit 5" INT; echo ready; while :; do sleep 0.05; done`)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
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

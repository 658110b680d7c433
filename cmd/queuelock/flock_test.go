package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// habit is a use of locks, as flock and queuelock do it. FILE and
// ENTITY are free, and BUSY and SHARED are held. Code is that of both, unless they differ.
type habit struct {
	name          string
	flock, ours   string
	code, another int // another: of queuelock, if it is not zero
	out           string
}

var habits = []habit{
	{"run a command under a lock", "flock FILE echo hi", "queuelock run ENTITY -- echo hi", 0, 0, "hi\n"},
	{"run a shell text", `flock FILE -c 'echo $((1 + 1))'`, `queuelock run ENTITY -c 'echo $((1 + 1))'`, 0, 0, "2\n"},
	{"wait for at most 5 s", "flock -w 0.1 BUSY echo ran", "queuelock run BUSY -w 0.1 -- echo ran", 1, 75, ""},
	{"wait for at most 5 s", "flock -w 5 FILE echo ran", "queuelock run ENTITY -w 5s -- echo ran", 0, 0, "ran\n"},
	{"do not wait", "flock -n BUSY echo ran", "queuelock run BUSY -n -- echo ran", 1, 75, ""},
	{"do not wait", "flock -w 0 BUSY echo ran", "queuelock run BUSY -w 0 -- echo ran", 1, 75, ""},
	{"exit code of a busy lock", "flock -n BUSY true", "queuelock run BUSY -n -- true", 1, 75, ""},
	{"exit code of a busy lock", "flock -n -E 9 BUSY true", "queuelock run BUSY -n -E 9 -- true", 9, 0, ""},
	{"exit code of a busy lock", "flock -nE 0 BUSY echo ran", "queuelock run BUSY -nE 0 -- echo ran", 0, 0, ""},
	{"exit code of the command", "flock FILE sh -c 'exit 5'", "queuelock run ENTITY -- sh -c 'exit 5'", 5, 0, ""},
	{"exit code after signal n", "flock FILE sh -c 'kill -TERM $$'", "queuelock run ENTITY -- sh -c 'kill -TERM $$'", 143, 0, ""},
	{"exit code if the command is not found", "flock FILE no-such-command", "queuelock run ENTITY -- no-such-command", 69, 127, ""},
	{"exit code if it cannot be executed", "flock FILE /", "queuelock run ENTITY -- /", 69, 126, ""},
	{"exit code of wrong usage", "flock -w soon FILE true", "queuelock run ENTITY -w soon -- true", 64, 0, ""},
	{"exit code of wrong usage", "flock -E 256 FILE true", "queuelock run ENTITY -E 256 -- true", 64, 0, ""},
	{"share the lock", "flock -s -n SHARED echo both", "queuelock run SHARED -s -n -- echo both", 0, 0, "both\n"},
	{"share the lock", "flock -n SHARED echo both", "queuelock run SHARED -n -- echo both", 1, 75, ""},
	{"pass standard input", "echo in | flock FILE cat", "echo in | queuelock run ENTITY -- cat", 0, 0, "in\n"},
	{"lock for several commands",
		"exec 9>FILE; flock 9; flock -n FILE true || echo busy; flock -u 9; flock -n FILE echo free",
		`h=$(queuelock lock ENTITY) || exit; queuelock run ENTITY -n -- true || echo busy; queuelock unlock "$h"; queuelock run ENTITY -n -- echo free`,
		0, 0, "busy\nfree\n"},
	{"take the same lock inside", "flock FILE flock -w 0.1 FILE echo ran", "queuelock run ENTITY -- queuelock run ENTITY -- echo ran", 1, 78, ""},
}

// TestHabits runs flock beside run: scripts for the one work with the other, but for some exit codes.
func TestHabits(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("flock"); err != nil {
		if runtime.GOOS == "linux" {
			t.Fatal("flock is missing: install util-linux")
		}
		t.Skip("flock is missing: it is a command of Linux")
	}
	e := newServer(t)
	e.keepers(t)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	self := locktest.Must(os.Executable())
	locktest.OK(t, os.WriteFile(file("queuelock"), fmt.Appendf(nil, "#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asProgram, self), 0o755))
	e.env = append(os.Environ(), append(e.env, "PATH="+dir+":"+os.Getenv("PATH"))...)
	occupy(t, e.env, "flock", file("BUSY"), "-c", "echo ready; read -r line")
	occupy(t, e.env, "flock", "-s", file("SHARED"), "-c", "echo ready; read -r line")
	occupy(t, e.env, file("queuelock"), "run", "SHARED", "-s", "-c", "echo ready; read -r line")
	e.occupied(t, "BUSY")

	files := strings.NewReplacer("FILE", file("FILE"), "BUSY", file("BUSY"), "SHARED", file("SHARED"))
	for _, h := range habits {
		want := h.another
		if want == 0 {
			want = h.code
		}
		for command, code := range map[string]int{files.Replace(h.flock): h.code, h.ours: want} {
			shell := exec.CommandContext(t.Context(), "/bin/sh", "-c", command)
			shell.Env = e.env
			out, err := shell.Output()
			if _, exited := err.(*exec.ExitError); err != nil && !exited {
				t.Fatal(err)
			}
			if got := shell.ProcessState.ExitCode(); got != code || string(out) != h.out {
				t.Errorf("%s: %s: exit code %d, output %q; want %d, %q", h.name, command, got, out, code, h.out)
			}
		}
	}
}

// occupy runs a command that holds a lock until the end of the test.
func occupy(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = env
	stdin := locktest.Must(cmd.StdinPipe())
	out := launch(t, cmd)
	expect(t, out, "ready\n")
	t.Cleanup(func() {
		_, _ = io.WriteString(stdin, "end\n")
		_ = cmd.Wait()
	})
}

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// localAt starts local with a file, and returns its process and what it has printed. The settings that it prints are set.
func localAt(t *testing.T, file string, more ...string) (cmd *exec.Cmd, said string) {
	t.Helper()
	cmd = program(t, append([]string{"local", "--port", "0", "--file", file}, more...)...)
	said = expect(t, launch(t, cmd), "AWS_SECRET_ACCESS_KEY=local\n")
	_, line, _ := strings.Cut(said, "\nexport ")
	for _, setting := range strings.Fields(line) {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
	return cmd, said
}

// TestLocalKilled checks that the tickets go on where they were after a kill and after an orderly end.
func TestLocalKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "locks.db")
	for n, test := range []struct {
		end  syscall.Signal
		more []string
	}{{syscall.SIGKILL, nil}, {syscall.SIGTERM, nil}, {syscall.SIGKILL, []string{"--no-sync"}}, {syscall.SIGINT, []string{"--no-sync"}}} {
		cmd, said := localAt(t, file, test.more...)
		for _, part := range []string{"keeps its tables in " + file + " ", "for this host alone, and no cluster"} {
			if !strings.Contains(said, part) {
				t.Errorf("it said %q, without %q", said, part)
			}
		}
		invoke(t, "run", "x", "--", "sh", "-c", "echo $QUEUELOCK_TICKET").prints(t, 0, string(rune('1'+n))+"\n")
		locktest.OK(t, cmd.Process.Signal(test.end))
		if code := codeAfter(t, cmd); test.end != syscall.SIGKILL && code != 0 {
			t.Errorf("after %v: exit code %d", test.end, code)
		}
	}
}

// TestLocalFileRefused checks that a file that is in use or of another program is named in one line, and left as it is.
func TestLocalFileRefused(t *testing.T) {
	dir := t.TempDir()
	used, notes := filepath.Join(dir, "used.db"), filepath.Join(dir, "notes.txt")
	user, _ := localAt(t, used)
	defer func() {
		locktest.OK(t, user.Process.Signal(syscall.SIGTERM))
		codeAfter(t, user)
	}()
	text := []byte("some notes\n")
	locktest.OK(t, os.WriteFile(notes, text, 0o600))
	for path, want := range map[string]string{
		used:                             " is in use by another process\n",
		notes:                            " is damaged, or no file of ",
		dir:                              " is a folder: the name of a file is needed\n",
		filepath.Join(dir, "no", "file"): " cannot be created: its folder is needed first\n",
	} {
		o := invoke(t, "local", "--port", "0", "--file", path)
		if o.code != exitUnavailable || o.stdout != "" || !strings.HasPrefix(o.stderr, "queuelock: "+path+want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", path, o.code, o.stdout, o.stderr)
		}
	}
	if left := locktest.Must(os.ReadFile(notes)); !bytes.Equal(left, text) {
		t.Errorf("the notes are %q", left)
	}
}

// TestLocalUsage checks which flags of the file are refused.
func TestLocalUsage(t *testing.T) {
	for _, args := range [][]string{{"--no-sync"}, {"--file", ""}} {
		if o := invoke(t, append([]string{"local"}, args...)...); o.code != exitUsage || !strings.Contains(o.stderr, "--file") {
			t.Errorf("%v: exit code %d, stderr %q", args, o.code, o.stderr)
		}
	}
}

package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestDescendants checks that processes below this one are found, whatever their names are.
func TestDescendants(t *testing.T) {
	sleep := locktest.Must(exec.LookPath("sleep"))
	program := locktest.Must(os.ReadFile(sleep))
	odd := filepath.Join(t.TempDir(), "a) R 1 (b")
	locktest.OK(t, os.WriteFile(odd, program, 0o700))
	cmd := exec.Command(odd, "1000")
	locktest.OK(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	found := descendants(os.Getpid())
	i := slices.IndexFunc(found, func(m member) bool { return m.pid == cmd.Process.Pid })
	if i < 0 {
		t.Fatalf("process %d is not among %+v", cmd.Process.Pid, found)
	}
	m := found[i]
	if m.name != "a) R 1 (b" || m.parent != os.Getpid() || m.zombie || m.group == 0 {
		t.Errorf("%+v", m)
	}
	if found := descendants(cmd.Process.Pid); len(found) > 0 {
		t.Errorf("below a process without children: %+v", found)
	}
}

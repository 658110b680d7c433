package engines

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestParentDies starts this binary again, which launches a child. It kills the binary
// and looks for the child.
func TestParentDies(t *testing.T) {
	const role = "QUEUELOCK_ENGINES_TEST_ROLE"
	if os.Getenv(role) == "parent" {
		p, err := launch(exec.Command("sleep", "60"))
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString(strconv.Itoa(p.Pid()) + "\n")
		time.Sleep(60 * time.Second) // until it is killed
		p.stop()
		return
	}

	parent := exec.Command(os.Args[0], "-test.run=^TestParentDies$")
	parent.Env = append(os.Environ(), role+"=parent")
	parent.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, readErr := bufio.NewReader(stdout).ReadString('\n')
	_ = parent.Process.Kill()
	_ = parent.Wait()
	if readErr != nil {
		t.Fatal(readErr)
	}
	child, err := strconv.Atoi(line[:len(line)-1])
	if err != nil {
		t.Fatal(err)
	}
	// The kernel's kill and the reaping by the process that adopts the orphan take a moment, and neither can be waited for.
	for deadline := time.Now().Add(10 * time.Second); !gone(child); {
		if time.Now().After(deadline) {
			_ = syscall.Kill(child, syscall.SIGKILL)
			t.Fatalf("process %d outlived its parent", child)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// gone reports whether a process has ended, also when its parent has not collected it yet.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	for i, b := range stat {
		if b == ')' && i+2 < len(stat) {
			return stat[i+2] == 'Z'
		}
	}
	return false
}

// Package child starts processes that end with their parent where the system can do that. On Linux the kernel
// kills a child when its parent dies, even by SIGKILL. It does not kill the processes that
// the child has started. On Windows a job object ends them all. On other systems a child
// outlives a parent that was killed.
//
// A child leads a process group of its own. A signal reaches the processes that it has
// started as well, and a Ctrl-C at the terminal reaches it only through its parent.
package child

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Child is a process that was started with Start.
type Child struct {
	cmd    *exec.Cmd
	group  group
	exited chan struct{}
}

// Start starts the command as the leader of a new process group. On failure nothing runs.
func Start(cmd *exec.Cmd) (*Child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	c := &Child{cmd: cmd, exited: make(chan struct{})}
	c.group.prepare(cmd.SysProcAttr)
	started := make(chan error)
	go func() {
		// The kernel kills the child when the thread that started it ends, and Go may end
		// threads at any time. So the goroutine keeps its thread until the child is gone.
		// https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html
		runtime.LockOSThread()
		err := cmd.Start()
		if err == nil {
			err = c.group.started(cmd.Process)
			if err != nil {
				_ = cmd.Process.Kill() // it has not begun
				_ = cmd.Wait()
			}
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // ProcessState has the result
		}
		close(c.exited)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// Pid returns the id of the process and of its group.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Exited is closed when the child is gone.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Signal sends a signal to the whole group. A group that is gone is no error. On Windows
// SIGKILL ends the group, and any other signal is a Ctrl-Break.
func (c *Child) Signal(sig syscall.Signal) error { return c.group.signal(c.Pid(), sig) }

// Gone reports whether no process of the group is left. Call it after Exited.
func (c *Child) Gone() bool { return c.group.gone(c.Pid()) }

// Code waits until the child is gone, and returns its exit code as a shell does: the
// child's own, or 128 and the number of the signal that ended it.
func (c *Child) Code() int {
	<-c.exited
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() { // never on Windows
		return 128 + int(status.Signal())
	}
	return c.cmd.ProcessState.ExitCode()
}

// Killed waits until the child is gone, and reports whether SIGKILL ended it.
func (c *Child) Killed() bool { return c.Code() == 128+int(syscall.SIGKILL) }

// State waits until the child is gone, and returns how it ended.
func (c *Child) State() *os.ProcessState {
	<-c.exited
	return c.cmd.ProcessState
}

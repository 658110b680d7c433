// Package child starts processes that do not outlive what started them. It is
// part of the product, because "queuelock run" starts its command with it; the
// test apparatus starts its workers and engines with it as well.
//
// A child leads a process group of its own, so that a signal reaches what it
// has started as well, and a Ctrl-C at the terminal reaches it only by way of
// its parent. On Linux the kernel kills it when the parent dies, even by
// SIGKILL. That holds for the child alone: what it has started itself lives on
// then.
//
// It promises that Exited is closed once the child is gone and was waited for,
// and that its state can then be read. It does not promise that the group is
// empty then.
package child

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Child is a process that was started.
type Child struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // of Wait; read after exited
}

// Start starts the command as the leader of a new process group. On failure
// nothing runs. It starts one goroutine, which ends with the child.
//
// The kernel's promise to kill a child with its parent is tied to the *thread*
// that started it, and Go ends threads as it likes. So a goroutine of its own
// keeps that thread until the child is gone.
// https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html
func Start(cmd *exec.Cmd) (*Child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	dieWithParent(cmd.SysProcAttr)
	c := &Child{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
		}
		close(c.exited)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// StartPiped is Start with pipes to the command's standard input and from its
// standard output, which the caller closes. On failure nothing is left open.
func StartPiped(cmd *exec.Cmd) (c *Child, stdin, stdout *os.File, err error) {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, errors.Join(err, inRead.Close(), inWrite.Close())
	}
	cmd.Stdin, cmd.Stdout = inRead, outWrite
	c, err = Start(cmd)
	err = errors.Join(err, inRead.Close(), outWrite.Close()) // the child has its own
	if c == nil {
		return nil, nil, nil, errors.Join(err, inWrite.Close(), outRead.Close())
	}
	return c, inWrite, outRead, err
}

// Pid is the child's process id, and its group's.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Exited is closed when the child is gone.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Signal sends a signal to the whole group. A group that is gone is no error.
func (c *Child) Signal(sig syscall.Signal) error {
	err := syscall.Kill(-c.Pid(), sig)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// Gone reports whether nobody of the group is left. It is for after Exited: a
// group's number stays taken while it has a member.
func (c *Child) Gone() bool { return errors.Is(syscall.Kill(-c.Pid(), 0), syscall.ESRCH) }

// Code is the exit code in the way a shell has it: the child's own, or 128 and
// the number of the signal that ended it. It waits until the child is gone.
func (c *Child) Code() int {
	<-c.exited
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return c.cmd.ProcessState.ExitCode()
}

// Killed reports whether the child died of SIGKILL. It waits until the child
// is gone.
func (c *Child) Killed() bool { return c.Code() == 128+int(syscall.SIGKILL) }

// State is how the child ended, for people. It waits until the child is gone.
func (c *Child) State() *os.ProcessState {
	<-c.exited
	return c.cmd.ProcessState
}

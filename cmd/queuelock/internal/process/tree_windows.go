package process

import (
	"os/exec"
	"syscall"
	"time"

	"github.com/queuelock/queuelock/internal/child"
)

// poll is how often a job object is looked at for remaining processes.
const poll = 50 * time.Millisecond

// Limits is for help texts: what is not done here.
const Limits = "On Windows SIGTERM is Ctrl-Break, and a suspended queuelock does not end COMMAND."

// Tree is a command that was started, with all that it has started.
type Tree struct {
	child  *child.Child
	leave  bool
	events chan Event
	done   chan struct{}
}

// Start starts the command in a job object. On failure nothing runs.
func Start(c Command) (*Tree, error) {
	cmd := exec.Command(c.Path)
	cmd.Args, cmd.Env = c.Args, c.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.WaitDelay = pipeGrace
	started, err := child.Start(cmd)
	if err != nil {
		return nil, err
	}
	t := &Tree{child: started, leave: c.Leave, events: make(chan Event, 1), done: make(chan struct{})}
	go t.wait()
	return t, nil
}

func (t *Tree) wait() {
	defer close(t.done)
	<-t.child.Exited()
	t.events <- Event{Kind: Ended}
	if t.leave {
		_ = t.child.Leave()
		return
	}
	for !t.child.Gone() {
		time.Sleep(poll)
	}
}

// Pid is the process id of the command.
func (t *Tree) Pid() int { return t.child.Pid() }

// Events reports the end of the command.
func (t *Tree) Events() <-chan Event { return t.events }

// Done is closed when nothing of the tree is left.
func (t *Tree) Done() <-chan struct{} { return t.done }

// Code is the exit code of the command. Call it after Ended or Done.
func (t *Tree) Code() int { return t.child.Code() }

// Expired is always false: there is no supervisor.
func (t *Tree) Expired() bool { return false }

// Wake does nothing: there is no supervisor.
func (t *Tree) Wake() {}

// WantsTerminal is false: no process is stopped.
func WantsTerminal(syscall.Signal) bool { return false }

// SignalName is a signal as kill(1) names it.
func SignalName(sig syscall.Signal) string {
	return map[syscall.Signal]string{
		syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGTERM: "SIGTERM",
	}[sig]
}

// Until does nothing: a process that is suspended cannot end the others.
func (t *Tree) Until(time.Duration) {}

// Signal sends Ctrl-Break to the command's group.
func (t *Tree) Signal(sig syscall.Signal) { _ = t.child.Signal(sig) }

// Continue does nothing: there are no stopped processes.
func (t *Tree) Continue() {}

// Terminate sends Ctrl-Break to the command's group.
func (t *Tree) Terminate(spareGroup bool) {
	if !spareGroup {
		_ = t.child.Signal(syscall.SIGTERM)
	}
}

// Kill ends all processes of the job object.
func (t *Tree) Kill() { _ = t.child.Signal(syscall.SIGKILL) }

// Left is empty: a job object does not name its processes.
func (t *Tree) Left() []string { return nil }

// Supervise is not used on Windows.
func Supervise(string) int { return 1 }

// Terminal stands for the console, which all of its processes may read.
type Terminal struct{}

// OpenTerminal does nothing.
func OpenTerminal() *Terminal { return &Terminal{} }

// Interactive is false: a console needs no lending.
func (*Terminal) Interactive(_, _ any) bool { return false }

// Started does nothing.
func (*Terminal) Started() {}

// Lend fails.
func (*Terminal) Lend(int) bool { return false }

// TakeBack does nothing.
func (*Terminal) TakeBack() {}

// Restore does nothing.
func (*Terminal) Restore() {}

// Close does nothing.
func (*Terminal) Close() {}

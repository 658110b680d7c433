// Package process runs a command with everything that it starts, and ends all of it.
//
// # Promises
//
// A Tree has ended only when the command and every process that it has started have, the
// orphans among them included. Kill ends all of them.
//
// On Unix a supervisor is between this process and the command: the same program, started
// again, in a process group of its own. So neither process can be killed unnoticed.
//
//	this process ── supervisor ── command ── processes that it has started
//
//	ends or crashes          noticed by                           and then
//	this process             supervisor: their socket closes      SIGTERM, later SIGKILL, to all
//	this process is stopped  supervisor: Until passes             SIGKILL to all
//	the supervisor           this process: it is the parent       SIGKILL to all
//	the supervisor stopped   this process: each Until             SIGCONT to it
//
// On Linux both are subreapers: an orphan's parent becomes the supervisor, or this process
// if the supervisor is gone. So processes that have left the group, for example by
// setsid(1), are seen too. On other Unix systems the process group is all that is seen.
// On Windows there is no supervisor: a job object has all processes.
//
// # What cannot be caught
//
// Both processes killed or stopped at once; processes that another one starts for the
// command, such as by systemd-run, docker, at or ssh; a process of another user, which no
// signal from here may end.
package process

import (
	"io"
	"syscall"
	"time"
)

// Name is the argument by which the program is started again as a supervisor.
const Name = "supervise"

// Command is what Start starts.
type Command struct {
	Path   string // of the file, as exec.LookPath returns it
	Args   []string
	Env    []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Leave lets processes that the command has left running live on: the tree has ended
	// with the command.
	Leave bool
	// Grace is the time from SIGTERM to SIGKILL if this process is gone.
	Grace time.Duration
	// Until is the first of Tree.Until; zero means that there is no end.
	Until time.Duration
	// Foreground starts the command with the terminal of this process, which is its
	// standard input.
	Foreground bool
}

// Kind is what has become of a command.
type Kind int

// The kinds of events.
const (
	Stopped Kind = iota + 1
	Continued
	Ended
)

// Event is a change of a command's state.
type Event struct {
	Kind   Kind
	Signal syscall.Signal // that stopped it
}

// pipeGrace is for how long output is still copied once the tree has ended, where it is
// no file: what the command left running may hold the pipe open.
const pipeGrace = time.Second

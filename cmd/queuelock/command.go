package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock/internal/child"
)

const (
	// pipeGrace is for how long output is still copied once the command has
	// ended, where it is no file: what it left running may hold the pipe open.
	pipeGrace = time.Second

	// groupPoll is how often a group that was asked to end is checked for remaining
	// processes. No event reports that a group is empty.
	groupPoll = 10 * time.Millisecond
)

// grace is how long a command has from SIGTERM to SIGKILL when its lock was lost. The
// library reports a loss a margin before the lease ends: a tenth of it, at most 2 s.
// Three quarters of that are for the command to clean up. The last quarter is for the
// kernel to kill it, and for this process to be late. After an eviction another client
// may hold the lock at once. The command has the same time then, because a clean end is
// worth more than half a second of overlap that fencing must cover anyhow.
func grace(ttl time.Duration) time.Duration { return min(ttl/10, 2*time.Second) * 3 / 4 }

// hold runs the command while the lock is held, and returns its exit code.
func (f *runFlags) hold(cmd *cobra.Command, lock *turn, owner string, signals <-chan os.Signal) (int, error) {
	command := exec.Command(f.path, f.command[1:]...)
	command.Args[0] = f.command[0]
	command.Stdin, command.Stdout, command.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	command.WaitDelay = pipeGrace
	command.Env = f.environment(lock, owner)
	terminal := foreground(command)
	defer terminal.restore()
	started, err := child.Start(command)
	switch {
	case errors.Is(err, fs.ErrNotExist): // such as the interpreter of a script
		return 0, &exitError{exitNotFound, err}
	case err != nil:
		return 0, notRunnable(err)
	}
	for {
		select {
		case sig := <-signals:
			_ = started.Signal(sig.(syscall.Signal)) // it may have ended just now
		case <-lock.Done():
			end(started, grace(f.ttl))
			return started.Code(), nil
		case <-cmd.Context().Done():
			end(started, grace(f.ttl))
			return started.Code(), nil
		case <-started.Exited():
			return started.Code(), nil
		}
	}
}

// end brings a command and its group to their end: SIGTERM, and after the
// grace SIGKILL, to what is left of the group. It waits for the command.
func end(c *child.Child, grace time.Duration) {
	over := time.NewTimer(grace)
	defer over.Stop()
	_ = c.Signal(syscall.SIGTERM)
	_ = c.Signal(syscall.SIGCONT) // one that was stopped cannot end
	defer func() {
		_ = c.Signal(syscall.SIGKILL)
		<-c.Exited()
	}()
	select {
	case <-c.Exited():
	case <-over.C:
		return
	}
	look := time.NewTicker(groupPoll)
	defer look.Stop()
	for !c.Gone() {
		select {
		case <-look.C:
		case <-over.C:
			return
		}
	}
}

//go:build !windows

package main

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// detach lets a process outlive this one and its terminal, and report to the file. The
// file is not its standard error: that would stay open as long as the process, and keep
// callers waiting that read to its end.
func detach(process *exec.Cmd, reports *os.File) {
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	process.ExtraFiles = []*os.File{reports}
	keepDescriptors()
}

// keepDescriptors lets no process that is started from now on inherit a descriptor of the caller: a keeper would hold the flock of a
// script, or a pipe that another process reads to its end. It is done before the start, as the runtime of the new
// process has descriptors of its own by the time at which it could close any.
func keepDescriptors() {
	const (
		first = 3   // those before it are replaced
		usual = 256 // where no directory lists them
	)
	for fd := first; fd < usual; fd++ {
		syscall.CloseOnExec(fd)
	}
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			if fd, err := strconv.Atoi(entry.Name()); err == nil && fd >= first {
				syscall.CloseOnExec(fd)
			}
		}
	}
}

// keeperReports is the file of detach, in the process.
func keeperReports() *os.File { return os.NewFile(3, "standard error of queuelock lock") }

// inForeground reports whether this process may draw on a terminal: a shell's job in the
// background would write over what its user types. On a terminal that does not control
// this process there are no jobs.
func inForeground(file *os.File) bool {
	group, err := unix.IoctlGetInt(int(file.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// userSignals have the meaning that the command gives them.
var userSignals = []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2}

// errLocked is the error of lockFile for a file that another process has locked.
const errLocked = unix.EWOULDBLOCK

// lockFile locks a file for this process alone. The end of the process unlocks it.
func lockFile(file *os.File) error {
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

func shell(text string) []string { return []string{"/bin/sh", "-c", text} }

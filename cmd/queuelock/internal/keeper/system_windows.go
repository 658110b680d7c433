package keeper

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// user is part of the name of the user's directory. Windows gives each user a directory
// for temporary files.
func user() string { return "keepers" }

// private reports whether the directory is the user's alone: on Windows that above it is.
func private(fs.FileInfo) bool { return true }

// refused reports whether there is no process at a socket.
func refused(err error) bool {
	const connectionRefused = syscall.Errno(10061) // WSAECONNREFUSED
	return errors.Is(err, connectionRefused)
}

// watch calls ended when a process has ended.
func watch(ctx context.Context, process *os.Process, ended func()) {
	_, _ = process.Wait() // as the keeper ends with it, no other end is needed
	if ctx.Err() == nil {
		ended()
	}
}

// Running reports whether there is a process of that id.
func Running(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = process.Release()
	return true
}
